// Arithmetic of jinja_operators.h: Python's numbers on 64-bit integers and doubles, + and * of text
// and lists.
#include <cmath>
#include <limits>

#include "base/error.h"
#include "jinja/format.h"
#include "jinja/operators.h"
#include "jinja/repr.h"

namespace qualia::jinja {

namespace {

std::string_view name_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return "+";
    case BinaryOp::subtract:
      return "-";
    case BinaryOp::multiply:
      return "*";
    case BinaryOp::divide:
      return "/";
    case BinaryOp::floor_divide:
      return "//";
    case BinaryOp::modulo:
      return "%";
    case BinaryOp::power:
      return "**";
  }
  return "";
}

tl::unexpected<Error> overflow(BinaryOp op) {
  return invalid_argument("the result of '{}' does not fit 64 bits", name_of(op));
}

tl::unexpected<Error> unsupported_operands(BinaryOp op, const Value& a, const Value& b) {
  if (a.is(Kind::undefined)) return tl::unexpected(undefined_error(a));
  if (b.is(Kind::undefined)) return tl::unexpected(undefined_error(b));
  return invalid_argument("'{}' is not defined for '{}' and '{}'", name_of(op), type_name(a),
                          type_name(b));
}

// Rounds to minus infinity. REQUIRES: b != 0, not (minimum / -1).
int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

double floor_remainder(double a, double b) {
  const double remainder = std::fmod(a, b);
  return (remainder != 0 && (remainder < 0) != (b < 0)) ? remainder + b : remainder;
}

Result<Value> integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return invalid_argument("0 has no negative power");
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  int64_t factor = base;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, factor, &result)) {
      return overflow(BinaryOp::power);
    }
    if (exponent > 1 && __builtin_mul_overflow(factor, factor, &factor)) {
      return overflow(BinaryOp::power);
    }
  }
  return Value(result);
}

Result<Value> integer_arithmetic(BinaryOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  const bool divides =
      op == BinaryOp::divide || op == BinaryOp::floor_divide || op == BinaryOp::modulo;
  if (divides && b == 0) return invalid_argument("division by zero");
  const bool quotient_overflows = a == std::numeric_limits<int64_t>::min() && b == -1;
  switch (op) {
    case BinaryOp::add:
      if (__builtin_add_overflow(a, b, &result)) return overflow(op);
      return Value(result);
    case BinaryOp::subtract:
      if (__builtin_sub_overflow(a, b, &result)) return overflow(op);
      return Value(result);
    case BinaryOp::multiply:
      if (__builtin_mul_overflow(a, b, &result)) return overflow(op);
      return Value(result);
    case BinaryOp::divide:
      return Value(static_cast<double>(a) / static_cast<double>(b));
    case BinaryOp::floor_divide:
      if (quotient_overflows) return overflow(op);
      return Value(floor_quotient(a, b));
    case BinaryOp::modulo:
      if (quotient_overflows) return Value(int64_t{0});
      return Value(a - floor_quotient(a, b) * b);
    case BinaryOp::power:
      return integer_power(a, b);
  }
  return overflow(op);
}

Result<Value> real_arithmetic(BinaryOp op, double a, double b) {
  const bool divides =
      op == BinaryOp::divide || op == BinaryOp::floor_divide || op == BinaryOp::modulo;
  if (divides && b == 0) return invalid_argument("division by zero");
  switch (op) {
    case BinaryOp::add:
      return Value(a + b);
    case BinaryOp::subtract:
      return Value(a - b);
    case BinaryOp::multiply:
      return Value(a * b);
    case BinaryOp::divide:
      return Value(a / b);
    case BinaryOp::floor_divide:
      return Value(std::floor(a / b));
    case BinaryOp::modulo:
      return Value(floor_remainder(a, b));
    case BinaryOp::power:
      return Value(std::pow(a, b));
  }
  return overflow(op);
}

// |safe text escapes what is added to it, also where nothing else is escaped.
TextPtr added_text(Budget& budget, const TextPtr& a, const TextPtr& b) {
  TextBuilder builder(budget);
  const bool markup = a->markup || b->markup;
  for (const TextPtr& part : {a, b}) {
    builder.append(markup && !part->markup ? *escaped(budget, *part) : *part);
  }
  const TextPtr sum = builder.finish();
  return markup ? marked_safe(budget, sum) : sum;
}

Value added_sequences(Budget& budget, const Sequence& a, const Sequence& b) {
  std::vector<Value> items;
  budget.spend(a.items.size() + b.items.size());
  items.reserve(a.items.size() + b.items.size());
  items.insert(items.end(), a.items.begin(), a.items.end());
  items.insert(items.end(), b.items.begin(), b.items.end());
  return make_sequence(budget, a.flavour, std::move(items));
}

Value repeated(Budget& budget, const Value& value, int64_t count) {
  const size_t times = count > 0 ? static_cast<size_t>(count) : 0;
  if (value.is(Kind::text)) {
    TextBuilder builder(budget);
    const Text& text = *value.text();
    if (text.trust() == Trust::trusted) {
      builder.append_repeated(text.bytes, times);
    } else {
      for (size_t i = 0; i < times && budget.spend(1); ++i) builder.append(text);
    }
    return builder.finish();
  }
  std::vector<Value> items;
  const auto& source = value.sequence().items;
  for (size_t i = 0; i < times && !source.empty(); ++i) {
    if (!budget.spend(source.size()) || items.size() > kLiveBytesMax / sizeof(Value)) break;
    items.insert(items.end(), source.begin(), source.end());
  }
  return make_sequence(budget, value.sequence().flavour, std::move(items));
}

bool is_list_or_tuple(const Value& value) {
  return value.is(Kind::sequence) && value.sequence().flavour <= Flavour::tuple;
}

bool is_repeatable(const Value& value) { return value.is(Kind::text) || is_list_or_tuple(value); }

}  // namespace

Result<Value> arithmetic(Budget& budget, BinaryOp op, const Value& a, const Value& b) {
  if (op == BinaryOp::modulo && a.is(Kind::text)) return percent_format(budget, a.text(), b);
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) {
      return integer_arithmetic(op, a.as_integer(), b.as_integer());
    }
    return real_arithmetic(op, a.as_real(), b.as_real());
  }
  if (op == BinaryOp::add) {
    if (a.is(Kind::text) && b.is(Kind::text)) return added_text(budget, a.text(), b.text());
    if (is_list_or_tuple(a) && is_list_or_tuple(b) && type_name(a) == type_name(b)) {
      return added_sequences(budget, a.sequence(), b.sequence());
    }
  }
  if (op == BinaryOp::multiply) {
    if (is_repeatable(a) && b.is_integral()) return repeated(budget, a, b.as_integer());
    if (a.is_integral() && is_repeatable(b)) return repeated(budget, b, a.as_integer());
  }
  return unsupported_operands(op, a, b);
}

Result<Value> negated(const Value& value) {
  if (value.is(Kind::real)) return Value(-value.as_real());
  if (value.is_integral()) return integer_arithmetic(BinaryOp::subtract, 0, value.as_integer());
  if (value.is(Kind::undefined)) return tl::unexpected(undefined_error(value));
  return invalid_argument("'-' is not defined for '{}'", type_name(value));
}

Result<Value> unchanged_number(const Value& value) {
  if (value.is(Kind::real)) return value;
  if (value.is_integral()) return Value(value.as_integer());
  if (value.is(Kind::undefined)) return tl::unexpected(undefined_error(value));
  return invalid_argument("'+' is not defined for '{}'", type_name(value));
}

}  // namespace qualia::jinja
