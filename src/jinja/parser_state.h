// The parser's insides: the position in the tokens, the program under construction, and one
// function per grammar rule. Expressions are in jinja_parser_expressions.cpp, statements in
// jinja_parser_statements.cpp.
// Thread-safety: one owner.
// Errors: corrupt_file with the line.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "jinja/ast.h"
#include "jinja/lexer.h"
#include "qualia/result.h"

namespace qualia::jinja {

enum class Conditionals { refused, allowed };

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  Result<Program> run();

 private:
  using Parsed = Result<ExprId>;
  using EndTags = std::initializer_list<std::string_view>;

  // Tokens.
  const Token& peek(size_t ahead = 0) const;
  const Token& next();
  bool at_op(std::string_view op) const { return is(peek(), TokenType::op, op); }
  bool at_name(std::string_view name) const { return is(peek(), TokenType::name, name); }
  static bool is(const Token& token, TokenType type, std::string_view text);
  bool skip_op(std::string_view op);
  bool skip_name(std::string_view name);
  Result<void> expect_op(std::string_view op);
  Result<std::string> expect_name();
  Result<void> expect(TokenType type);
  tl::unexpected<Error> fail(std::string_view what) const;
  tl::unexpected<Error> fail_at(uint32_t line, std::string_view what) const;
  tl::unexpected<Error> unexpected_token() const;

  // Nodes.
  NameId intern(std::string_view name);
  Parsed add(Expr expr);
  Result<StmtId> add(Stmt stmt);
  Expr make(ExprKind kind, std::vector<ExprId> operands, uint32_t line) const;
  size_t height_of(const Body& body) const;
  size_t height_of(ExprId id) const;

  // Expressions, loosest binding first.
  Parsed parse_expression(Conditionals conditionals = Conditionals::allowed);
  Parsed parse_conditional();
  Parsed parse_binary(size_t level);
  Parsed parse_logical(size_t level);
  Parsed parse_not();
  Parsed parse_comparison();
  Parsed parse_arithmetic(size_t level);
  Parsed parse_unary(bool with_filters);
  Parsed parse_signed();
  Parsed parse_primary();
  Parsed parse_name();
  Parsed parse_string();
  Parsed parse_list();
  Parsed parse_dict();
  Parsed parse_tuple(Conditionals conditionals, std::string_view end_name, bool in_parentheses);
  Parsed parse_postfix(ExprId id);
  Parsed parse_filters_and_tests(ExprId id);
  Parsed parse_dot(ExprId id);
  Parsed parse_subscript(ExprId id);
  Parsed parse_slice_bound();
  Parsed parse_call(ExprId id);
  Result<void> parse_arguments(Expr& call);
  Result<void> parse_argument(Expr& call);
  Result<std::string> parse_dotted_name();
  Parsed parse_filter(ExprId input);
  Parsed parse_filter_chain(ExprId input);
  Parsed parse_test(ExprId input);

  // Statements.
  Result<Body> parse_body(EndTags end_tags, std::string_view opener, uint32_t opener_line);
  Result<Body> parse_block_body(EndTags end_tags, std::string_view opener, uint32_t opener_line);
  Result<StmtId> parse_output();
  Result<StmtId> parse_statement();
  Result<StmtId> parse_for(uint32_t line);
  Result<StmtId> parse_if(uint32_t line);
  Result<StmtId> parse_set(uint32_t line);
  Result<StmtId> parse_macro(uint32_t line);
  Result<StmtId> parse_call_block(uint32_t line);
  Result<StmtId> parse_filter_block(uint32_t line);
  Result<StmtId> parse_with(uint32_t line);
  Result<StmtId> parse_scope(std::string_view tag, uint32_t line);
  Result<StmtId> parse_loop_control(StmtKind kind, uint32_t line);
  Result<StmtId> parse_print(uint32_t line);
  Result<std::vector<Parameter>> parse_signature();
  Result<Target> parse_target(std::string_view end_name, bool with_namespace);
  Result<Target> parse_target_item(bool with_namespace);

  std::vector<Token> tokens_;
  size_t at_ = 0;
  size_t depth_ = 0;       // of nested rules
  size_t loops_ = 0;       // open for loops, which break and continue need
  size_t loop_names_ = 0;  // how often `loop` was named so far
  Program program_;
  std::map<std::string, NameId, std::less<>> name_ids_;
};

}  // namespace qualia::jinja
