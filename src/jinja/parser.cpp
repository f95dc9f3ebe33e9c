#include "jinja/parser.h"

#include <algorithm>
#include <utility>

#include "jinja/content_parts.h"
#include "jinja/parser_state.h"

namespace qualia::jinja {

namespace {

std::string describe(const Token& token) {
  switch (token.type) {
    case TokenType::data:
      return "text";
    case TokenType::variable_begin:
      return "'{{'";
    case TokenType::variable_end:
      return "'}}'";
    case TokenType::block_begin:
      return "'{%'";
    case TokenType::block_end:
      return "'%}'";
    case TokenType::end:
      return "the end of the template";
    case TokenType::integer:
    case TokenType::real:
      return "a number";
    case TokenType::string:
      return "a string";
    default:
      return "'" + token.text + "'";
  }
}

}  // namespace

const Token& Parser::peek(size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

const Token& Parser::next() {
  const Token& token = peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool Parser::is(const Token& token, TokenType type, std::string_view text) {
  return token.type == type && token.text == text;
}

bool Parser::skip_op(std::string_view op) {
  const bool found = at_op(op);
  if (found) next();
  return found;
}

bool Parser::skip_name(std::string_view name) {
  const bool found = at_name(name);
  if (found) next();
  return found;
}

Result<void> Parser::expect_op(std::string_view op) {
  if (skip_op(op)) return {};
  return fail(describe(peek()) + " stands where '" + std::string(op) + "' is due");
}

Result<std::string> Parser::expect_name() {
  if (peek().type == TokenType::name) return next().text;
  return fail(describe(peek()) + " stands where a name is due");
}

Result<void> Parser::expect(TokenType type) {
  if (peek().type != type) {
    return fail(describe(peek()) + " stands where " + describe({type, 1, "", 0, 0}) + " is due");
  }
  next();
  return {};
}

tl::unexpected<Error> Parser::fail(std::string_view what) const {
  return fail_at(peek().line, what);
}

tl::unexpected<Error> Parser::fail_at(uint32_t line, std::string_view what) const {
  return tl::unexpected(syntax_error(line, what));
}

tl::unexpected<Error> Parser::unexpected_token() const {
  return fail(describe(peek()) + " stands where an expression is due");
}

NameId Parser::intern(std::string_view name) {
  const auto found = name_ids_.find(name);
  if (found != name_ids_.end()) return found->second;
  const auto id = static_cast<NameId>(program_.names.size());
  program_.names.emplace_back(name);
  name_ids_.emplace(name, id);
  return id;
}

Expr Parser::make(ExprKind kind, std::vector<ExprId> operands, uint32_t line) const {
  Expr expr;
  expr.kind = kind;
  expr.line = line;
  expr.operands = std::move(operands);
  return expr;
}

size_t Parser::height_of(ExprId id) const { return id == kAbsent ? 0 : program_.exprs[id].height; }

Parser::Parsed Parser::add(Expr expr) {
  size_t height = std::max(height_of(expr.spread_list), height_of(expr.spread_dict));
  for (const ExprId id : expr.operands) height = std::max(height, height_of(id));
  for (const auto& [name, id] : expr.keywords) height = std::max(height, height_of(id));
  expr.height = height + 1;
  if (expr.height > kTreeHeightMax) return fail(kTooDeep);
  program_.exprs.push_back(std::move(expr));
  return static_cast<ExprId>(program_.exprs.size() - 1);
}

size_t Parser::height_of(const Body& body) const {
  size_t height = 0;
  for (const StmtId id : body) height = std::max(height, program_.stmts[id].height);
  return height;
}

// Statements hold expressions, whose height is bounded on its own.
Result<StmtId> Parser::add(Stmt stmt) {
  size_t height = std::max(height_of(stmt.body), height_of(stmt.otherwise));
  for (const Branch& branch : stmt.branches) height = std::max(height, height_of(branch.body));
  stmt.height = height + 1;
  program_.stmts.push_back(std::move(stmt));
  return static_cast<StmtId>(program_.stmts.size() - 1);
}

Result<Program> Parser::run() {
  QUALIA_ASSIGN(program_.body, parse_body({}, "", 1));
  program_.handles_content_parts = loops_over_content(program_);
  return std::move(program_);
}

Result<Program> parse(std::string_view source) {
  if (source.size() > kSourceBytesMax) {
    return corrupt_file("The chat template has {} bytes (limit {}).", source.size(),
                        kSourceBytesMax);
  }
  QUALIA_ASSIGN(std::vector<Token> tokens, tokenize(source));
  return Parser(std::move(tokens)).run();
}

}  // namespace qualia::jinja
