// Expression rules of the parser. Chains of one precedence become one node with many operands, so
// that "a ~ b ~ c ..." costs no depth.
#include <array>
#include <utility>

#include "jinja/builtins.h"
#include "jinja/parser_state.h"

namespace qualia::jinja {

namespace {

struct OperatorLevel {
  std::array<std::string_view, 4> tokens;
  std::array<BinaryOp, 4> ops;
};

// Arithmetic, loosest first. Level 1, "~", makes a concatenate node.
constexpr size_t kConcatenateLevel = 1;
constexpr OperatorLevel kLevels[] = {
    {{"+", "-"}, {BinaryOp::add, BinaryOp::subtract}},
    {{"~"}, {BinaryOp::add}},
    {{"*", "/", "//", "%"},
     {BinaryOp::multiply, BinaryOp::divide, BinaryOp::floor_divide, BinaryOp::modulo}},
    {{"**"}, {BinaryOp::power}},
};
constexpr size_t kLevelCount = std::size(kLevels);

constexpr std::pair<std::string_view, CompareOp> kComparisons[] = {
    {"==", CompareOp::equal},      {"!=", CompareOp::not_equal}, {"<", CompareOp::less},
    {"<=", CompareOp::less_equal}, {">", CompareOp::greater},    {">=", CompareOp::greater_equal},
};

class DepthGuard {
 public:
  explicit DepthGuard(size_t& depth) : depth_(depth) { ++depth_; }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  size_t& depth_;
};

}  // namespace

Parser::Parsed Parser::parse_expression(Conditionals conditionals) {
  const DepthGuard guard(depth_);
  if (depth_ > kTreeHeightMax) return fail(kTooDeep);
  return conditionals == Conditionals::allowed ? parse_conditional() : parse_logical(0);
}

// a if b else c, grouping to the right.
Parser::Parsed Parser::parse_conditional() {
  const uint32_t line = peek().line;
  QUALIA_ASSIGN(ExprId then, parse_logical(0));
  while (skip_name("if")) {
    QUALIA_ASSIGN(const ExprId condition, parse_logical(0));
    ExprId otherwise = kAbsent;
    if (skip_name("else")) {
      QUALIA_ASSIGN(otherwise, parse_expression());
    }
    QUALIA_ASSIGN(then, add(make(ExprKind::conditional, {condition, then, otherwise}, line)));
  }
  return then;
}

// Level 0 is `or`, level 1 `and`.
Parser::Parsed Parser::parse_logical(size_t level) {
  if (level == 2) return parse_not();
  const uint32_t line = peek().line;
  QUALIA_ASSIGN(const ExprId first, parse_logical(level + 1));
  std::vector<ExprId> operands = {first};
  while (skip_name(level == 0 ? "or" : "and")) {
    QUALIA_ASSIGN(const ExprId operand, parse_logical(level + 1));
    operands.push_back(operand);
  }
  if (operands.size() == 1) return first;
  const ExprKind kind = level == 0 ? ExprKind::logical_or : ExprKind::logical_and;
  return add(make(kind, std::move(operands), line));
}

Parser::Parsed Parser::parse_not() {
  const uint32_t line = peek().line;
  size_t count = 0;
  while (skip_name("not")) ++count;
  QUALIA_ASSIGN(ExprId id, parse_comparison());
  // An even count still turns the value into a boolean.
  if (count > 2) count = 2 - count % 2;
  for (; count > 0; --count) {
    QUALIA_ASSIGN(id, add(make(ExprKind::logical_not, {id}, line)));
  }
  return id;
}

Parser::Parsed Parser::parse_comparison() {
  const uint32_t line = peek().line;
  QUALIA_ASSIGN(const ExprId first, parse_arithmetic(0));
  Expr expr = make(ExprKind::compare, {first}, line);
  while (true) {
    CompareOp op = CompareOp::in;
    bool found = false;
    for (const auto& [token, compare_op] : kComparisons) {
      if (!at_op(token)) continue;
      op = compare_op;
      found = true;
    }
    if (found) {
      next();
    } else if (at_name("not") && is(peek(1), TokenType::name, "in")) {
      next();
      next();
      op = CompareOp::not_in;
    } else if (!skip_name("in")) {
      break;
    }
    QUALIA_ASSIGN(const ExprId operand, parse_arithmetic(0));
    expr.operands.push_back(operand);
    expr.comparisons.push_back(op);
  }
  if (expr.comparisons.empty()) return first;
  return add(std::move(expr));
}

Parser::Parsed Parser::parse_arithmetic(size_t level) {
  if (level == kLevelCount) return parse_unary(/*with_filters=*/true);
  const uint32_t line = peek().line;
  QUALIA_ASSIGN(const ExprId first, parse_arithmetic(level + 1));
  const ExprKind kind = level == kConcatenateLevel ? ExprKind::concatenate : ExprKind::arithmetic;
  Expr expr = make(kind, {first}, line);
  while (peek().type == TokenType::op) {
    size_t which = 0;
    const auto& level_tokens = kLevels[level].tokens;
    while (which < level_tokens.size() &&
           (level_tokens[which].empty() || !at_op(level_tokens[which]))) {
      ++which;
    }
    if (which == level_tokens.size()) break;
    next();
    QUALIA_ASSIGN(const ExprId operand, parse_arithmetic(level + 1));
    expr.operands.push_back(operand);
    expr.operators.push_back(kLevels[level].ops[which]);
  }
  if (expr.operands.size() == 1) return first;
  return add(std::move(expr));
}

// Filters bind looser than a sign: -1|abs is (-1)|abs.
Parser::Parsed Parser::parse_unary(bool with_filters) {
  const bool is_signed = at_op("-") || at_op("+");
  auto parsed = is_signed ? parse_signed() : parse_primary();
  QUALIA_ASSIGN(ExprId id, std::move(parsed));
  QUALIA_ASSIGN(id, parse_postfix(id));
  return with_filters ? parse_filters_and_tests(id) : Parsed(id);
}

Parser::Parsed Parser::parse_signed() {
  const DepthGuard guard(depth_);
  if (depth_ > kTreeHeightMax) return fail(kTooDeep);
  const Token sign = next();
  QUALIA_ASSIGN(const ExprId operand, parse_unary(/*with_filters=*/false));
  const ExprKind kind = sign.text == "-" ? ExprKind::negate : ExprKind::plus;
  return add(make(kind, {operand}, sign.line));
}

Parser::Parsed Parser::parse_primary() {
  const Token& token = peek();
  Expr expr = make(ExprKind::constant, {}, token.line);
  switch (token.type) {
    case TokenType::name:
      return parse_name();
    case TokenType::string:
      return parse_string();
    case TokenType::integer:
      expr.constant = Value(next().integer);
      return add(std::move(expr));
    case TokenType::real:
      expr.constant = Value(next().real);
      return add(std::move(expr));
    default:
      break;
  }
  if (at_op("[")) return parse_list();
  if (at_op("{")) return parse_dict();
  if (!skip_op("(")) return unexpected_token();
  QUALIA_ASSIGN(const ExprId id, parse_tuple(Conditionals::allowed, "", /*in_parentheses=*/true));
  QUALIA_TRY(expect_op(")"));
  return id;
}

Parser::Parsed Parser::parse_name() {
  const Token& token = next();
  Expr expr = make(ExprKind::constant, {}, token.line);
  const std::string& name = token.text;
  if (name == "true" || name == "True") {
    expr.constant = Value(true);
  } else if (name == "false" || name == "False") {
    expr.constant = Value(false);
  } else if (name == "none" || name == "None") {
    expr.constant = None{};
  } else {
    expr.kind = ExprKind::name;
    expr.name = intern(name);
    if (name == "loop") ++loop_names_;
  }
  return add(std::move(expr));
}

// Adjacent strings are one.
Parser::Parsed Parser::parse_string() {
  Expr expr = make(ExprKind::constant, {}, peek().line);
  std::string text;
  while (peek().type == TokenType::string) text += next().text;
  expr.constant =
      TextPtr(std::make_shared<const Text>(nullptr, std::move(text), std::vector<ByteRange>()));
  return add(std::move(expr));
}

Parser::Parsed Parser::parse_list() {
  Expr expr = make(ExprKind::list, {}, next().line);
  while (!at_op("]")) {
    if (!expr.operands.empty()) QUALIA_TRY(expect_op(","));
    if (at_op("]")) break;
    QUALIA_ASSIGN(const ExprId item, parse_expression());
    expr.operands.push_back(item);
  }
  next();
  return add(std::move(expr));
}

Parser::Parsed Parser::parse_dict() {
  Expr expr = make(ExprKind::dict, {}, next().line);
  while (!at_op("}")) {
    if (!expr.operands.empty()) QUALIA_TRY(expect_op(","));
    if (at_op("}")) break;
    QUALIA_ASSIGN(const ExprId key, parse_expression());
    QUALIA_TRY(expect_op(":"));
    QUALIA_ASSIGN(const ExprId value, parse_expression());
    expr.operands.push_back(key);
    expr.operands.push_back(value);
  }
  next();
  return add(std::move(expr));
}

// An expression, or several with commas between: a tuple, which may end in a comma.
Parser::Parsed Parser::parse_tuple(Conditionals conditionals, std::string_view end_name,
                                   bool in_parentheses) {
  const uint32_t line = peek().line;
  std::vector<ExprId> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) QUALIA_TRY(expect_op(","));
    const TokenType type = peek().type;
    if (type == TokenType::variable_end || type == TokenType::block_end || at_op(")")) break;
    if (!end_name.empty() && at_name(end_name)) break;
    QUALIA_ASSIGN(const ExprId item, parse_expression(conditionals));
    items.push_back(item);
    if (!at_op(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return items.front();
  if (!is_tuple && !in_parentheses) return unexpected_token();
  return add(make(ExprKind::tuple, std::move(items), line));
}

Parser::Parsed Parser::parse_postfix(ExprId id) {
  while (true) {
    if (at_op(".")) {
      QUALIA_ASSIGN(id, parse_dot(id));
    } else if (at_op("[")) {
      QUALIA_ASSIGN(id, parse_subscript(id));
    } else if (at_op("(")) {
      QUALIA_ASSIGN(id, parse_call(id));
    } else {
      return id;
    }
  }
}

Parser::Parsed Parser::parse_filters_and_tests(ExprId id) {
  while (true) {
    if (at_op("|")) {
      next();
      QUALIA_ASSIGN(id, parse_filter(id));
    } else if (at_name("is")) {
      QUALIA_ASSIGN(id, parse_test(id));
    } else if (at_op("(")) {
      QUALIA_ASSIGN(id, parse_call(id));
    } else {
      return id;
    }
  }
}

Parser::Parsed Parser::parse_dot(ExprId id) {
  const uint32_t line = next().line;
  if (peek().type == TokenType::integer) {
    Expr key = make(ExprKind::constant, {}, line);
    key.constant = Value(next().integer);
    QUALIA_ASSIGN(const ExprId key_id, add(std::move(key)));
    return add(make(ExprKind::item, {id, key_id}, line));
  }
  QUALIA_ASSIGN(const std::string name, expect_name());
  Expr expr = make(ExprKind::attribute, {id}, line);
  expr.name = intern(name);
  return add(std::move(expr));
}

Parser::Parsed Parser::parse_slice_bound() {
  if (at_op(":") || at_op("]")) return ExprId{kAbsent};
  return parse_expression();
}

Parser::Parsed Parser::parse_subscript(ExprId id) {
  const uint32_t line = next().line;
  QUALIA_ASSIGN(const ExprId start, parse_slice_bound());
  if (!skip_op(":")) {
    if (start == kAbsent) return unexpected_token();
    if (at_op(",")) return fail("a subscript has several keys");
    QUALIA_TRY(expect_op("]"));
    return add(make(ExprKind::item, {id, start}, line));
  }
  QUALIA_ASSIGN(const ExprId stop, parse_slice_bound());
  ExprId step = kAbsent;
  if (skip_op(":")) {
    QUALIA_ASSIGN(step, parse_slice_bound());
  }
  QUALIA_TRY(expect_op("]"));
  return add(make(ExprKind::slice, {id, start, stop, step}, line));
}

Parser::Parsed Parser::parse_call(ExprId id) {
  Expr call = make(ExprKind::call, {id}, peek().line);
  QUALIA_TRY(parse_arguments(call));
  return add(std::move(call));
}

Result<void> Parser::parse_arguments(Expr& call) {
  QUALIA_TRY(expect_op("("));
  bool first = true;
  while (!at_op(")")) {
    if (!std::exchange(first, false)) {
      QUALIA_TRY(expect_op(","));
      if (at_op(")")) break;
    }
    QUALIA_TRY(parse_argument(call));
  }
  next();
  return {};
}

Result<void> Parser::parse_argument(Expr& call) {
  const bool spread_list = skip_op("*");
  const bool spread_dict = !spread_list && skip_op("**");
  ExprId& spread = spread_list ? call.spread_list : call.spread_dict;
  if (spread_list || spread_dict) {
    if (spread != kAbsent || call.spread_dict != kAbsent) return fail("a call spreads twice");
    QUALIA_ASSIGN(spread, parse_expression());
    return {};
  }
  if (call.spread_dict != kAbsent) return fail("an argument follows '**'");
  if (peek().type == TokenType::name && is(peek(1), TokenType::op, "=")) {
    const NameId name = intern(next().text);
    next();
    QUALIA_ASSIGN(const ExprId value, parse_expression());
    call.keywords.emplace_back(name, value);
    return {};
  }
  if (call.spread_list != kAbsent || !call.keywords.empty()) {
    return fail("a positional argument follows a named one");
  }
  QUALIA_ASSIGN(const ExprId value, parse_expression());
  call.operands.push_back(value);
  return {};
}

Result<std::string> Parser::parse_dotted_name() {
  QUALIA_ASSIGN(std::string name, expect_name());
  while (skip_op(".")) {
    QUALIA_ASSIGN(const std::string part, expect_name());
    name += "." + part;
  }
  return name;
}

// The filter after a "|".
Parser::Parsed Parser::parse_filter(ExprId input) {
  const uint32_t line = peek().line;
  QUALIA_ASSIGN(const std::string name, parse_dotted_name());
  Expr expr = make(ExprKind::filter, {input}, line);
  expr.name = intern(name);
  expr.builtin = find_filter(name);
  if (expr.builtin == nullptr) return fail_at(line, "there is no filter '" + name + "'");
  if (at_op("(")) QUALIA_TRY(parse_arguments(expr));
  return add(std::move(expr));
}

Parser::Parsed Parser::parse_filter_chain(ExprId input) {
  QUALIA_ASSIGN(ExprId id, parse_filter(input));
  while (skip_op("|")) {
    QUALIA_ASSIGN(id, parse_filter(id));
  }
  return id;
}

// x is name, x is not name(arguments), x is name argument.
Parser::Parsed Parser::parse_test(ExprId input) {
  const uint32_t line = next().line;
  const bool negated = skip_name("not");
  QUALIA_ASSIGN(const std::string name, parse_dotted_name());
  Expr expr = make(ExprKind::test, {input}, line);
  expr.name = intern(name);
  expr.builtin = find_test(name);
  if (expr.builtin == nullptr) return fail_at(line, "there is no test '" + name + "'");
  const TokenType type = peek().type;
  if (at_op("(")) {
    QUALIA_TRY(parse_arguments(expr));
  } else if (at_name("is")) {
    return fail("tests with 'is' follow each other");
  } else if ((type == TokenType::name && !at_name("else") && !at_name("or") && !at_name("and") &&
              !at_name("if")) ||
             type == TokenType::string || type == TokenType::integer || type == TokenType::real ||
             at_op("[") || at_op("{")) {
    QUALIA_ASSIGN(ExprId argument, parse_primary());
    QUALIA_ASSIGN(argument, parse_postfix(argument));
    expr.operands.push_back(argument);
  }
  QUALIA_ASSIGN(const ExprId id, add(std::move(expr)));
  return negated ? add(make(ExprKind::logical_not, {id}, line)) : Parsed(id);
}

}  // namespace qualia::jinja
