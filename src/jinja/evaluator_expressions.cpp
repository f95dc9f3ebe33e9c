// Expressions of the evaluator.
#include <algorithm>

#include "jinja/builtins.h"
#include "jinja/evaluator.h"
#include "jinja/operators.h"
#include "jinja/repr.h"

namespace qualia::jinja {

namespace {

// Recursion is bounded by kValueDepthMax, and time by the budget.
bool is_hashable(Budget& budget, const Value& value) {
  if (value.is(Kind::dict)) return false;
  if (!value.is(Kind::sequence)) return true;
  if (value.sequence().flavour != Flavour::tuple) return value.sequence().flavour != Flavour::list;
  const auto& items = value.sequence().items;
  return budget.spend(items.size()) &&
         std::all_of(items.begin(), items.end(),
                     [&budget](const Value& item) { return is_hashable(budget, item); });
}

}  // namespace

Evaluator::Evaluated Evaluator::evaluate(ExprId id) {
  const Expr& node = expr(id);
  line_ = node.line;
  if (node.kind == ExprKind::constant) return node.constant;
  ++depth_;
  QUALIA_TRY(check_limits());
  Evaluated value = evaluate_kind(node);
  --depth_;
  return value;
}

Evaluator::Evaluated Evaluator::evaluate_kind(const Expr& node) {
  switch (node.kind) {
    case ExprKind::constant:
      return node.constant;
    case ExprKind::name:
      return evaluate_name(node);
    case ExprKind::list:
    case ExprKind::tuple:
      return evaluate_sequence(node);
    case ExprKind::dict:
      return evaluate_dict(node);
    case ExprKind::logical_not:
    case ExprKind::negate:
    case ExprKind::plus:
      return evaluate_unary(node);
    case ExprKind::arithmetic:
      return evaluate_arithmetic(node);
    case ExprKind::concatenate:
      return evaluate_concatenation(node);
    case ExprKind::logical_and:
    case ExprKind::logical_or:
      return evaluate_logical(node);
    case ExprKind::compare:
      return evaluate_comparison(node);
    case ExprKind::conditional:
      return evaluate_conditional(node);
    case ExprKind::attribute:
      return evaluate_attribute(node);
    case ExprKind::item:
      return evaluate_item(node);
    case ExprKind::slice:
      return evaluate_slice(node);
    case ExprKind::call:
      return evaluate_call(node, nullptr);
    case ExprKind::filter:
      return evaluate_filter(node);
    case ExprKind::test:
      return evaluate_test(node);
  }
  return Value();
}

Evaluator::Evaluated Evaluator::evaluate_name(const Expr& node) {
  if (const Value* value = scope_->find(node.name)) {
    if (!value->is(Kind::undefined) || value->undefined().sentence) return *value;
  }
  return undefined_value(fmt::format("'{}' is undefined", name_of(node.name)));
}

Result<std::vector<Value>> Evaluator::evaluate_all(std::span<const ExprId> ids) {
  std::vector<Value> values;
  values.reserve(ids.size());
  for (const ExprId id : ids) {
    QUALIA_ASSIGN(Value value, evaluate(id));
    values.push_back(std::move(value));
  }
  return values;
}

Evaluator::Evaluated Evaluator::evaluate_sequence(const Expr& node) {
  QUALIA_ASSIGN(std::vector<Value> items, evaluate_all(node.operands));
  const Flavour flavour = node.kind == ExprKind::list ? Flavour::list : Flavour::tuple;
  return make_sequence(budget_, flavour, std::move(items));
}

Evaluator::Evaluated Evaluator::evaluate_dict(const Expr& node) {
  std::vector<Dict::Entry> entries;
  for (size_t i = 0; i < node.operands.size(); i += 2) {
    QUALIA_ASSIGN(Value key, evaluate(node.operands[i]));
    QUALIA_ASSIGN(Value value, evaluate(node.operands[i + 1]));
    if (!is_hashable(budget_, key)) return invalid_argument("'{}' can't be a key", type_name(key));
    entries.emplace_back(std::move(key), std::move(value));
  }
  return make_dict(budget_, std::move(entries));
}

Evaluator::Evaluated Evaluator::evaluate_arithmetic(const Expr& node) {
  QUALIA_ASSIGN(Value value, evaluate(node.operands.front()));
  for (size_t i = 1; i < node.operands.size(); ++i) {
    QUALIA_ASSIGN(const Value operand, evaluate(node.operands[i]));
    QUALIA_TRY(check_limits());
    QUALIA_ASSIGN(value, arithmetic(budget_, node.operators[i - 1], value, operand));
  }
  return value;
}

Evaluator::Evaluated Evaluator::evaluate_concatenation(const Expr& node) {
  TextBuilder builder(budget_);
  for (const ExprId id : node.operands) {
    QUALIA_ASSIGN(const Value value, evaluate(id));
    append_text(builder, budget_, value);
  }
  return Value(builder.finish());
}

Evaluator::Evaluated Evaluator::evaluate_logical(const Expr& node) {
  const bool stops_at = node.kind == ExprKind::logical_or;
  Value value;
  for (const ExprId id : node.operands) {
    QUALIA_ASSIGN(value, evaluate(id));
    if (truth(value) == stops_at) break;
  }
  return value;
}

Evaluator::Evaluated Evaluator::evaluate_comparison(const Expr& node) {
  QUALIA_ASSIGN(Value left, evaluate(node.operands.front()));
  for (size_t i = 0; i < node.comparisons.size(); ++i) {
    QUALIA_ASSIGN(Value right, evaluate(node.operands[i + 1]));
    QUALIA_ASSIGN(const bool holds, compare(budget_, node.comparisons[i], left, right));
    if (!holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Evaluator::Evaluated Evaluator::evaluate_conditional(const Expr& node) {
  QUALIA_ASSIGN(const Value condition, evaluate(node.operands[0]));
  if (truth(condition)) return evaluate(node.operands[1]);
  if (node.operands[2] != kAbsent) return evaluate(node.operands[2]);
  return undefined_value("an inline if without else has a false condition");
}

Evaluator::Evaluated Evaluator::evaluate_unary(const Expr& node) {
  QUALIA_ASSIGN(const Value operand, evaluate(node.operands[0]));
  if (node.kind == ExprKind::negate) return negated(operand);
  if (node.kind == ExprKind::plus) return unchanged_number(operand);
  return Value(!truth(operand));
}

Evaluator::Evaluated Evaluator::evaluate_attribute(const Expr& node) {
  QUALIA_ASSIGN(const Value object, evaluate(node.operands[0]));
  const std::string& name = name_of(node.name);
  line_ = node.line;
  if (object.is(Kind::loop) && is_loop_attribute(name)) return loop_attribute(object.loop(), name);
  return get_attribute(runtime_, object, name);
}

Evaluator::Evaluated Evaluator::evaluate_item(const Expr& node) {
  QUALIA_ASSIGN(const Value object, evaluate(node.operands[0]));
  QUALIA_ASSIGN(const Value key, evaluate(node.operands[1]));
  line_ = node.line;
  if (object.is(Kind::loop) && key.is(Kind::text) && is_loop_attribute(key.bytes())) {
    return loop_attribute(object.loop(), key.bytes());
  }
  return get_item(runtime_, object, key);
}

Evaluator::Evaluated Evaluator::evaluate_slice(const Expr& node) {
  QUALIA_ASSIGN(const Value object, evaluate(node.operands[0]));
  Value bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    bounds[i] = None{};
    if (node.operands[i + 1] == kAbsent) continue;
    QUALIA_ASSIGN(bounds[i], evaluate(node.operands[i + 1]));
  }
  line_ = node.line;
  if (object.is(Kind::undefined)) return tl::unexpected(undefined_error(object));
  if (!object.is(Kind::text) && !object.is(Kind::sequence)) {
    return invalid_argument("'{}' object has no slices", type_name(object));
  }
  const bool steps = !bounds[2].is(Kind::none);
  return slice(budget_, object, {&bounds[0], &bounds[1], steps ? &bounds[2] : nullptr});
}

Evaluator::Evaluated Evaluator::evaluate_filter(const Expr& node) {
  Value input;
  if (node.operands[0] == kAbsent) {
    input = std::exchange(filter_input_, Value());
  } else {
    QUALIA_ASSIGN(input, evaluate(node.operands[0]));
  }
  QUALIA_ASSIGN(const Arguments arguments, evaluate_arguments(node));
  line_ = node.line;
  return node.builtin->call(runtime_, input, arguments);
}

Evaluator::Evaluated Evaluator::evaluate_test(const Expr& node) {
  QUALIA_ASSIGN(const Value input, evaluate(node.operands[0]));
  QUALIA_ASSIGN(const Arguments arguments, evaluate_arguments(node));
  line_ = node.line;
  return node.builtin->call(runtime_, input, arguments);
}

}  // namespace qualia::jinja
