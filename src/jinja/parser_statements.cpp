// Statement rules of the parser.
#include <algorithm>
#include <array>
#include <utility>

#include "jinja/parser_state.h"

namespace qualia::jinja {

namespace {

constexpr std::array<std::string_view, 4> kTagsOfOtherFiles = {"include", "import", "from",
                                                               "extends"};

Stmt make_stmt(StmtKind kind, uint32_t line) {
  Stmt stmt;
  stmt.kind = kind;
  stmt.line = line;
  return stmt;
}

}  // namespace

// Statements up to one of the end tags, whose name is then the next token. Without end tags: up to
// the end of the template.
Result<Body> Parser::parse_body(EndTags end_tags, std::string_view opener, uint32_t opener_line) {
  Body body;
  while (peek().type != TokenType::end) {
    const bool ends = peek().type == TokenType::block_begin && peek(1).type == TokenType::name &&
                      std::find(end_tags.begin(), end_tags.end(), peek(1).text) != end_tags.end();
    if (ends) {
      next();
      return body;
    }
    Result<StmtId> stmt = StmtId{kAbsent};
    if (peek().type == TokenType::data) {
      Stmt data = make_stmt(StmtKind::data, peek().line);
      data.data =
          TextPtr(std::make_shared<const Text>(nullptr, next().text, std::vector<ByteRange>()));
      stmt = add(std::move(data));
    } else {
      stmt = peek().type == TokenType::variable_begin ? parse_output() : parse_statement();
    }
    if (!stmt) return tl::unexpected(std::move(stmt).error());
    body.push_back(*stmt);
  }
  if (end_tags.size() == 0) return body;
  return fail_at(opener_line, "'" + std::string(opener) + "' has no end");
}

// The body of a tag whose head was just read.
Result<Body> Parser::parse_block_body(EndTags end_tags, std::string_view opener,
                                      uint32_t opener_line) {
  skip_op(":");
  QUALIA_TRY(expect(TokenType::block_end));
  return parse_body(end_tags, opener, opener_line);
}

Result<StmtId> Parser::parse_output() {
  Stmt stmt = make_stmt(StmtKind::output, next().line);
  QUALIA_ASSIGN(stmt.expr, parse_tuple(Conditionals::allowed, "", /*in_parentheses=*/false));
  QUALIA_TRY(expect(TokenType::variable_end));
  return add(std::move(stmt));
}

Result<StmtId> Parser::parse_statement() {
  next();
  ++depth_;
  if (depth_ > kTreeHeightMax) return fail(kTooDeep);
  const uint32_t line = peek().line;
  QUALIA_ASSIGN(const std::string tag, expect_name());
  Result<StmtId> stmt = StmtId{kAbsent};
  if (tag == "if") {
    stmt = parse_if(line);
  } else if (tag == "for") {
    stmt = parse_for(line);
  } else if (tag == "set") {
    stmt = parse_set(line);
  } else if (tag == "macro") {
    stmt = parse_macro(line);
  } else if (tag == "call") {
    stmt = parse_call_block(line);
  } else if (tag == "filter") {
    stmt = parse_filter_block(line);
  } else if (tag == "with") {
    stmt = parse_with(line);
  } else if (tag == "print") {
    stmt = parse_print(line);
  } else if (tag == "generation" || tag == "block") {
    stmt = parse_scope(tag, line);
  } else if (tag == "break" || tag == "continue") {
    stmt =
        parse_loop_control(tag == "break" ? StmtKind::break_loop : StmtKind::continue_loop, line);
  } else if (std::find(kTagsOfOtherFiles.begin(), kTagsOfOtherFiles.end(), tag) !=
             kTagsOfOtherFiles.end()) {
    return fail_at(line, "tag '" + tag + "' needs another file, which a chat template has none of");
  } else {
    return fail_at(line, "tag '" + tag + "' is unknown or closes nothing");
  }
  if (!stmt) return stmt;
  QUALIA_TRY(expect(TokenType::block_end));
  --depth_;
  return stmt;
}

Result<StmtId> Parser::parse_for(uint32_t line) {
  Stmt stmt = make_stmt(StmtKind::for_loop, line);
  QUALIA_ASSIGN(Target target, parse_target("in", /*with_namespace=*/false));
  stmt.targets.push_back(std::move(target));
  if (!skip_name("in")) return fail("'for' lacks its 'in'");
  QUALIA_ASSIGN(stmt.expr,
                parse_tuple(Conditionals::refused, "recursive", /*in_parentheses=*/false));
  const size_t loop_names_before = loop_names_;
  if (skip_name("if")) {
    QUALIA_ASSIGN(stmt.filter, parse_expression());
  }
  if (at_name("recursive")) return fail("recursive loops are refused");
  ++loops_;
  QUALIA_ASSIGN(stmt.body, parse_block_body({"endfor", "else"}, "for", line));
  --loops_;
  stmt.uses_loop = loop_names_ > loop_names_before;
  if (skip_name("else")) {
    QUALIA_ASSIGN(stmt.otherwise, parse_block_body({"endfor"}, "for", line));
  }
  next();
  return add(std::move(stmt));
}

Result<StmtId> Parser::parse_if(uint32_t line) {
  Stmt stmt = make_stmt(StmtKind::if_chain, line);
  while (true) {
    Branch branch;
    QUALIA_ASSIGN(branch.condition,
                  parse_tuple(Conditionals::refused, "", /*in_parentheses=*/false));
    QUALIA_ASSIGN(branch.body, parse_block_body({"elif", "else", "endif"}, "if", line));
    stmt.branches.push_back(std::move(branch));
    const std::string tag = next().text;
    if (tag == "elif") continue;
    if (tag == "else") {
      Branch last;
      QUALIA_ASSIGN(last.body, parse_block_body({"endif"}, "if", line));
      stmt.branches.push_back(std::move(last));
      next();
    }
    return add(std::move(stmt));
  }
}

Result<StmtId> Parser::parse_set(uint32_t line) {
  Stmt stmt = make_stmt(StmtKind::set, line);
  QUALIA_ASSIGN(Target target, parse_target("", /*with_namespace=*/true));
  stmt.targets.push_back(std::move(target));
  if (skip_op("=")) {
    QUALIA_ASSIGN(stmt.expr, parse_tuple(Conditionals::allowed, "", /*in_parentheses=*/false));
    return add(std::move(stmt));
  }
  stmt.kind = StmtKind::set_block;
  if (skip_op("|")) {
    QUALIA_ASSIGN(stmt.filter, parse_filter_chain(kAbsent));
  }
  QUALIA_ASSIGN(stmt.body, parse_block_body({"endset"}, "set", line));
  next();
  return add(std::move(stmt));
}

Result<std::vector<Parameter>> Parser::parse_signature() {
  std::vector<Parameter> parameters;
  QUALIA_TRY(expect_op("("));
  while (!at_op(")")) {
    if (!parameters.empty()) QUALIA_TRY(expect_op(","));
    QUALIA_ASSIGN(const std::string name, expect_name());
    Parameter parameter{intern(name), kAbsent};
    if (skip_op("=")) {
      QUALIA_ASSIGN(parameter.otherwise, parse_expression());
    } else if (!parameters.empty() && parameters.back().otherwise != kAbsent) {
      return fail("parameter '" + name + "' has no default but follows one that has");
    }
    parameters.push_back(parameter);
  }
  next();
  return parameters;
}

Result<StmtId> Parser::parse_macro(uint32_t line) {
  Stmt stmt = make_stmt(StmtKind::macro, line);
  QUALIA_ASSIGN(const std::string name, expect_name());
  stmt.name = intern(name);
  QUALIA_ASSIGN(stmt.parameters, parse_signature());
  const size_t loops_outside = std::exchange(loops_, 0);
  QUALIA_ASSIGN(stmt.body, parse_block_body({"endmacro"}, "macro", line));
  loops_ = loops_outside;
  next();
  return add(std::move(stmt));
}

Result<StmtId> Parser::parse_call_block(uint32_t line) {
  Stmt stmt = make_stmt(StmtKind::call_block, line);
  stmt.name = intern("caller");
  if (at_op("(")) {
    QUALIA_ASSIGN(stmt.parameters, parse_signature());
  }
  QUALIA_ASSIGN(stmt.expr, parse_expression());
  if (program_.exprs[stmt.expr].kind != ExprKind::call) return fail("'call' lacks its call");
  const size_t loops_outside = std::exchange(loops_, 0);
  QUALIA_ASSIGN(stmt.body, parse_block_body({"endcall"}, "call", line));
  loops_ = loops_outside;
  next();
  return add(std::move(stmt));
}

Result<StmtId> Parser::parse_filter_block(uint32_t line) {
  Stmt stmt = make_stmt(StmtKind::filter_block, line);
  QUALIA_ASSIGN(stmt.filter, parse_filter_chain(kAbsent));
  QUALIA_ASSIGN(stmt.body, parse_block_body({"endfilter"}, "filter", line));
  next();
  return add(std::move(stmt));
}

Result<StmtId> Parser::parse_with(uint32_t line) {
  Stmt stmt = make_stmt(StmtKind::with, line);
  while (peek().type != TokenType::block_end) {
    if (!stmt.values.empty()) QUALIA_TRY(expect_op(","));
    QUALIA_ASSIGN(Target target, parse_target("", /*with_namespace=*/false));
    QUALIA_TRY(expect_op("="));
    QUALIA_ASSIGN(const ExprId value, parse_expression());
    stmt.targets.push_back(std::move(target));
    stmt.values.push_back(value);
  }
  QUALIA_ASSIGN(stmt.body, parse_block_body({"endwith"}, "with", line));
  next();
  return add(std::move(stmt));
}

// transformers' "generation" marks what an assistant wrote, for training; here it only opens a
// scope, and so does a "block", which no other template can replace.
Result<StmtId> Parser::parse_scope(std::string_view tag, uint32_t line) {
  Stmt stmt = make_stmt(StmtKind::scope, line);
  const bool is_block = tag == "block";
  if (is_block) {
    QUALIA_ASSIGN(const std::string name, expect_name());
    skip_name("scoped");
    skip_name("required");
  }
  auto body = is_block ? parse_block_body({"endblock"}, tag, line)
                       : parse_block_body({"endgeneration"}, tag, line);
  QUALIA_ASSIGN(stmt.body, std::move(body));
  next();
  if (is_block && peek().type == TokenType::name) next();  // endblock may repeat the name
  return add(std::move(stmt));
}

Result<StmtId> Parser::parse_loop_control(StmtKind kind, uint32_t line) {
  if (loops_ == 0) return fail_at(line, "'break' or 'continue' stands outside of a loop");
  return add(make_stmt(kind, line));
}

// {% print a, b %} prints its values without separator.
Result<StmtId> Parser::parse_print(uint32_t line) {
  Stmt stmt = make_stmt(StmtKind::output, line);
  Expr all = make(ExprKind::concatenate, {}, line);
  while (peek().type != TokenType::block_end) {
    if (!all.operands.empty()) QUALIA_TRY(expect_op(","));
    QUALIA_ASSIGN(const ExprId value, parse_expression());
    all.operands.push_back(value);
  }
  QUALIA_ASSIGN(stmt.expr, add(std::move(all)));
  return add(std::move(stmt));
}

Result<Target> Parser::parse_target(std::string_view end_name, bool with_namespace) {
  std::vector<Target> items;
  bool is_tuple = false;
  const auto at_end = [&] {
    return at_op("=") || at_op(")") || peek().type == TokenType::block_end ||
           (!end_name.empty() && at_name(end_name));
  };
  while (!at_end()) {
    QUALIA_ASSIGN(Target item, parse_target_item(with_namespace));
    items.push_back(std::move(item));
    if (!skip_op(",")) break;
    is_tuple = true;
  }
  if (items.empty()) return fail("a name to assign to is missing");
  if (!is_tuple) return std::move(items.front());
  Target target;
  target.is_tuple = true;
  target.items = std::move(items);
  return target;
}

Result<Target> Parser::parse_target_item(bool with_namespace) {
  if (skip_op("(")) {
    ++depth_;
    if (depth_ > kTreeHeightMax) return fail(kTooDeep);
    QUALIA_ASSIGN(Target inner, parse_target("", /*with_namespace=*/false));
    QUALIA_TRY(expect_op(")"));
    --depth_;
    return inner;
  }
  Target target;
  QUALIA_ASSIGN(const std::string name, expect_name());
  static constexpr std::array<std::string_view, 6> kConstants = {"true", "false", "none",
                                                                 "True", "False", "None"};
  if (std::find(kConstants.begin(), kConstants.end(), name) != kConstants.end()) {
    return fail("'" + name + "' can't be assigned to");
  }
  target.name = intern(name);
  if (with_namespace && skip_op(".")) {
    QUALIA_ASSIGN(const std::string attribute, expect_name());
    target.attribute = intern(attribute);
  }
  return target;
}

}  // namespace qualia::jinja
