#include "jinja/lexer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/error.h"
#include "jinja/literals.h"
#include "jinja/unicode.h"

namespace qualia::jinja {

namespace {

// Longest first, as the first match is taken.
constexpr std::array<std::string_view, 26> kOperators = {
    "**", "//", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

size_t count_lines(std::string_view text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string normalize_line_breaks(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}
  Result<std::vector<Token>> run();

 private:
  enum class Tag { variable, block, comment };

  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  bool starts_with(std::string_view text) const { return rest().starts_with(text); }
  size_t space_end(size_t from) const;
  tl::unexpected<Error> fail(std::string_view what) const {
    return tl::unexpected(syntax_error(line_, what));
  }
  void advance(size_t to);
  void push(TokenType type, std::string text = {});

  void push_data(std::string_view text, char sign, Tag next_tag);
  Result<void> lex_comment();
  std::optional<size_t> raw_begin_end(size_t after_sign) const;
  Result<void> lex_raw();
  Result<void> lex_tag(Tag tag);
  bool lex_tag_end(Tag tag);
  void trim_line_break();
  Result<void> lex_expression_token();
  Result<void> lex_operator();
  Result<void> balance(char c);
  Result<void> lex_number();
  Result<void> lex_name();
  Result<void> lex_string();

  std::string source_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  std::vector<char> open_;  // the closing brackets that are awaited
  std::vector<Token> tokens_;
};

size_t Lexer::space_end(size_t from) const {
  while (from < source_.size()) {
    const CodePoint point = code_point_at(source_, from);
    if (!is_space(point.value)) break;
    from += point.size_bytes;
  }
  return from;
}

void Lexer::advance(size_t to) {
  line_ += static_cast<uint32_t>(count_lines(std::string_view(source_).substr(at_, to - at_)));
  at_ = to;
}

void Lexer::push(TokenType type, std::string text) {
  tokens_.push_back({type, line_, std::move(text), 0, 0});
}

// Text before a tag. The tag starts right after it, and at_ is where the text starts.
void Lexer::push_data(std::string_view text, char sign, Tag next_tag) {
  if (sign == '-') {
    while (!text.empty()) {
      const CodePoint last = code_point_before(text, text.size());
      if (!is_space(last.value)) break;
      text.remove_suffix(last.size_bytes);
    }
  } else if (sign != '+' && next_tag != Tag::variable) {
    const size_t line_start = text.rfind('\n') + 1;  // npos + 1 is 0
    const bool at_line_start = line_start > 0 || at_ == 0 || source_[at_ - 1] == '\n';
    if (at_line_start && space_end(at_ + line_start) >= at_ + text.size()) {
      text = text.substr(0, line_start);
    }
  }
  if (!text.empty()) push(TokenType::data, std::string(text));
}

Result<std::vector<Token>> Lexer::run() {
  while (at_ < source_.size()) {
    size_t tag_at = at_;
    while ((tag_at = source_.find('{', tag_at)) != std::string::npos) {
      if (tag_at + 1 < source_.size() &&
          std::string_view("{%#").find(source_[tag_at + 1]) != std::string_view::npos) {
        break;
      }
      ++tag_at;
    }
    if (tag_at == std::string::npos) {
      push(TokenType::data, source_.substr(at_));
      break;
    }
    const char kind = source_[tag_at + 1];
    const Tag tag = kind == '{' ? Tag::variable : (kind == '%' ? Tag::block : Tag::comment);
    const char next = tag_at + 2 < source_.size() ? source_[tag_at + 2] : '\0';
    const char sign = next == '-' || next == '+' ? next : '\0';
    push_data(std::string_view(source_).substr(at_, tag_at - at_), sign, tag);
    const size_t after_sign = tag_at + (sign == '\0' ? 2 : 3);
    const auto raw_end = tag == Tag::block ? raw_begin_end(after_sign) : std::nullopt;
    advance(raw_end.value_or(after_sign));
    if (raw_end) {
      QUALIA_TRY(lex_raw());
    } else if (tag == Tag::comment) {
      QUALIA_TRY(lex_comment());
    } else {
      QUALIA_TRY(lex_tag(tag));
    }
  }
  push(TokenType::end);
  return std::move(tokens_);
}

void Lexer::trim_line_break() {
  if (at_ < source_.size() && source_[at_] == '\n') advance(at_ + 1);
}

Result<void> Lexer::lex_comment() {
  const size_t end = source_.find("#}", at_);
  if (end == std::string::npos) return fail("a comment has no end");
  const char sign = end > at_ ? source_[end - 1] : '\0';
  advance(end + 2);
  if (sign == '-') {
    advance(space_end(at_));
  } else if (sign != '+') {
    trim_line_break();
  }
  return {};
}

// Where the text of a raw block starts, if a "raw" tag continues at `after_sign`.
std::optional<size_t> Lexer::raw_begin_end(size_t after_sign) const {
  size_t at = space_end(after_sign);
  if (source_.compare(at, 3, "raw") != 0) return std::nullopt;
  at = space_end(at + 3);
  if (source_.compare(at, 3, "-%}") == 0) return space_end(at + 3);
  if (source_.compare(at, 2, "%}") == 0) return at + 2;
  return std::nullopt;
}

Result<void> Lexer::lex_raw() {
  for (size_t tag_at = at_; (tag_at = source_.find("{%", tag_at)) != std::string::npos; ++tag_at) {
    const char next = tag_at + 2 < source_.size() ? source_[tag_at + 2] : '\0';
    const char sign = next == '-' || next == '+' ? next : '\0';
    size_t end = space_end(tag_at + (sign == '\0' ? 2 : 3));
    if (source_.compare(end, 6, "endraw") != 0) continue;
    end = space_end(end + 6);
    const bool keeps = source_.compare(end, 3, "+%}") == 0;
    const bool strips = source_.compare(end, 3, "-%}") == 0;
    if (!keeps && !strips && source_.compare(end, 2, "%}") != 0) continue;
    push_data(std::string_view(source_).substr(at_, tag_at - at_), sign, Tag::block);
    advance(end + (keeps || strips ? 3 : 2));
    if (strips) advance(space_end(at_));
    if (!keeps && !strips) trim_line_break();
    return {};
  }
  return fail("a raw block has no end");
}

Result<void> Lexer::lex_tag(Tag tag) {
  push(tag == Tag::variable ? TokenType::variable_begin : TokenType::block_begin);
  open_.clear();
  while (true) {
    advance(space_end(at_));
    if (at_ >= source_.size()) return fail("a tag has no end");
    if (open_.empty() && lex_tag_end(tag)) return {};
    QUALIA_TRY(lex_expression_token());
  }
}

bool Lexer::lex_tag_end(Tag tag) {
  const TokenType type = tag == Tag::variable ? TokenType::variable_end : TokenType::block_end;
  const std::string_view close = tag == Tag::variable ? "}}" : "%}";
  const bool signed_end = (source_[at_] == '-' || (source_[at_] == '+' && tag == Tag::block)) &&
                          std::string_view(source_).substr(at_ + 1).starts_with(close);
  if (!signed_end && !starts_with(close)) return false;
  const bool strips = signed_end && source_[at_] == '-';
  push(type);
  advance(at_ + (signed_end ? 3 : 2));
  if (strips) {
    advance(space_end(at_));
  } else if (!signed_end && tag == Tag::block) {
    trim_line_break();
  }
  return true;
}

Result<void> Lexer::lex_expression_token() {
  const char c = source_[at_];
  if (c >= '0' && c <= '9') return lex_number();
  if (c == '\'' || c == '"') return lex_string();
  const CodePoint point = code_point_at(source_, at_);
  if (c == '_' || is_identifier_part(point.value)) return lex_name();
  return lex_operator();
}

Result<void> Lexer::lex_operator() {
  for (const std::string_view op : kOperators) {
    if (!starts_with(op)) continue;
    if (op.size() == 1) QUALIA_TRY(balance(op.front()));
    push(TokenType::op, std::string(op));
    at_ += op.size();
    return {};
  }
  const size_t size = code_point_at(source_, at_).size_bytes;
  return fail(fmt::format("character '{}' is unexpected", source_.substr(at_, size)));
}

Result<void> Lexer::balance(char c) {
  if (c == '(') open_.push_back(')');
  if (c == '[') open_.push_back(']');
  if (c == '{') open_.push_back('}');
  if (c != ')' && c != ']' && c != '}') return {};
  if (open_.empty()) return fail(fmt::format("'{}' closes nothing", c));
  if (open_.back() != c) return fail(fmt::format("'{}' stands where '{}' is due", c, open_.back()));
  open_.pop_back();
  return {};
}

Result<void> Lexer::lex_number() {
  // After a dot there are only integers: "x.1.2" is two subscripts.
  const auto dots = at_ > 0 && source_[at_ - 1] == '.' ? Fractions::refused : Fractions::allowed;
  auto number = parse_number(rest(), dots);
  if (!number) return fail(number.error().message);
  push(number->is_real ? TokenType::real : TokenType::integer);
  tokens_.back().integer = number->integer;
  tokens_.back().real = number->real;
  at_ += number->size_bytes;
  return {};
}

Result<void> Lexer::lex_name() {
  size_t end = at_;
  while (end < source_.size()) {
    const CodePoint point = code_point_at(source_, end);
    if (!is_identifier_part(point.value)) break;
    end += point.size_bytes;
  }
  push(TokenType::name, source_.substr(at_, end - at_));
  at_ = end;
  return {};
}

Result<void> Lexer::lex_string() {
  const char quote = source_[at_];
  size_t end = at_ + 1;
  while (end < source_.size() && source_[end] != quote)
    end += source_[end] == '\\' ? size_t{2} : size_t{1};
  if (end >= source_.size()) return fail("a string has no end");
  auto value = unescape(std::string_view(source_).substr(at_ + 1, end - at_ - 1));
  if (!value) return fail(value.error().message);
  push(TokenType::string, std::move(*value));
  advance(end + 1);
  return {};
}

}  // namespace

Error syntax_error(uint32_t line, std::string_view what) {
  return {ErrorCode::corrupt_file,
          fmt::format("The chat template has a syntax error at line {}: {}.", line, what)};
}

Result<std::vector<Token>> tokenize(std::string_view source) {
  return Lexer(normalize_line_breaks(source)).run();
}

}  // namespace qualia::jinja
