// The tests behind `is`.
#include "base/error.h"
#include "jinja/builtins.h"
#include "jinja/operators.h"
#include "jinja/repr.h"

namespace qualia::jinja {

namespace {

using Names = std::string_view;

template <bool (*holds)(const Value&)>
Result<Value> simple(Runtime&, const Value& self, const Arguments&) {
  return Value(holds(self));
}

bool is_defined(const Value& value) { return !value.is(Kind::undefined); }
bool is_undefined(const Value& value) { return value.is(Kind::undefined); }
bool is_none(const Value& value) { return value.is(Kind::none); }
bool is_boolean(const Value& value) { return value.is(Kind::boolean); }
bool is_true(const Value& value) { return is_boolean(value) && value.as_boolean(); }
bool is_false(const Value& value) { return is_boolean(value) && !value.as_boolean(); }
bool is_integer(const Value& value) { return value.is(Kind::integer); }
bool is_float(const Value& value) { return value.is(Kind::real); }
bool is_number(const Value& value) { return value.is_number(); }
bool is_string(const Value& value) { return value.is(Kind::text); }
bool is_mapping(const Value& value) { return value.is(Kind::dict); }
bool is_escaped(const Value& value) { return value.is(Kind::text) && value.text()->markup; }
// An undefined value counts as callable, although calling it fails.
bool is_callable(const Value& value) {
  return value.is(Kind::callable) || value.is(Kind::loop) || value.is(Kind::undefined);
}
bool is_iterable(const Value& value) {
  return value.is(Kind::undefined) || value.is(Kind::text) || value.is(Kind::sequence) ||
         value.is(Kind::dict);
}
// Has a length and subscripts.
bool is_sequence(const Value& value) {
  if (value.is(Kind::sequence)) return value.sequence().flavour <= Flavour::range;
  return value.is(Kind::undefined) || value.is(Kind::text) || value.is(Kind::dict);
}

Result<int64_t> remainder_of(Runtime& runtime, const Value& self, const Value& divisor) {
  QUALIA_ASSIGN(const Value remainder, arithmetic(runtime.budget, BinaryOp::modulo, self, divisor));
  if (!remainder.is_number()) return invalid_argument("'{}' is no number", type_name(self));
  return int64_t{remainder.as_real() == 0 ? 0 : (remainder.as_real() == 1 ? 1 : 2)};
}

Result<Value> is_odd(Runtime& runtime, const Value& self, const Arguments&) {
  QUALIA_ASSIGN(const int64_t remainder, remainder_of(runtime, self, Value(int64_t{2})));
  return Value(remainder == 1);
}

Result<Value> is_even(Runtime& runtime, const Value& self, const Arguments&) {
  QUALIA_ASSIGN(const int64_t remainder, remainder_of(runtime, self, Value(int64_t{2})));
  return Value(remainder == 0);
}

Result<Value> is_divisible(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"num"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("divisibleby", kParameters, 1, arguments));
  QUALIA_ASSIGN(const int64_t remainder, remainder_of(runtime, self, *bound.get(0)));
  return Value(remainder == 0);
}

template <CompareOp op>
Result<Value> compares(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"other"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("comparison", kParameters, 1, arguments));
  QUALIA_ASSIGN(const bool result, compare(runtime.budget, op, self, *bound.get(0)));
  return Value(result);
}

Result<Value> is_same(Runtime&, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"other"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("sameas", kParameters, 1, arguments));
  return Value(self.same_object(*bound.get(0)));
}

template <const NamedBuiltin* (*find)(std::string_view)>
Result<Value> names_builtin(Runtime&, const Value& self, const Arguments&) {
  return Value(self.is(Kind::text) && find(self.bytes()) != nullptr);
}

// A case test of the text that the value prints as.
Result<Value> has_case(Runtime& runtime, const Value& self, std::string_view method) {
  const Value text = to_text(runtime.budget, self);
  return find_method(text, method)->call(runtime, text, {});
}
Result<Value> is_lower_case(Runtime& runtime, const Value& self, const Arguments&) {
  return has_case(runtime, self, "islower");
}
Result<Value> is_upper_case(Runtime& runtime, const Value& self, const Arguments&) {
  return has_case(runtime, self, "isupper");
}

constexpr NamedBuiltin kTests[] = {
    {"defined", simple<is_defined>},
    {"undefined", simple<is_undefined>},
    {"none", simple<is_none>},
    {"boolean", simple<is_boolean>},
    {"true", simple<is_true>},
    {"false", simple<is_false>},
    {"integer", simple<is_integer>},
    {"float", simple<is_float>},
    {"number", simple<is_number>},
    {"string", simple<is_string>},
    {"mapping", simple<is_mapping>},
    {"iterable", simple<is_iterable>},
    {"sequence", simple<is_sequence>},
    {"callable", simple<is_callable>},
    {"escaped", simple<is_escaped>},
    {"odd", is_odd},
    {"even", is_even},
    {"divisibleby", is_divisible},
    {"lower", is_lower_case},
    {"upper", is_upper_case},
    {"sameas", is_same},
    {"filter", names_builtin<find_filter>},
    {"test", names_builtin<find_test>},
    {"in", compares<CompareOp::in>},
    {"equalto", compares<CompareOp::equal>},
    {"eq", compares<CompareOp::equal>},
    {"==", compares<CompareOp::equal>},
    {"ne", compares<CompareOp::not_equal>},
    {"!=", compares<CompareOp::not_equal>},
    {"lt", compares<CompareOp::less>},
    {"lessthan", compares<CompareOp::less>},
    {"<", compares<CompareOp::less>},
    {"le", compares<CompareOp::less_equal>},
    {"<=", compares<CompareOp::less_equal>},
    {"gt", compares<CompareOp::greater>},
    {"greaterthan", compares<CompareOp::greater>},
    {">", compares<CompareOp::greater>},
    {"ge", compares<CompareOp::greater_equal>},
    {">=", compares<CompareOp::greater_equal>},
};

}  // namespace

std::span<const NamedBuiltin> tests() { return kTests; }

}  // namespace qualia::jinja
