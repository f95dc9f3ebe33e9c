#include "lanes/wgpu/shader_source.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <regex>

#include "base/error.h"
#include "lanes/wgpu/shader_text.h"

namespace qualia::lanes::wgpu {
namespace {

using Values = std::map<std::string, uint32_t, std::less<>>;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view word_at(std::string_view text, size_t begin) {
  size_t end = begin;
  while (end < text.size() && is_word(text[end])) ++end;
  return text.substr(begin, end - begin);
}

std::optional<uint32_t> parse_literal(std::string_view text) {
  if (text == "true") return 1;
  if (text == "false") return 0;
  if (!text.empty() && text.back() == 'u') text.remove_suffix(1);
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string literal(std::string_view type, uint32_t value) {
  if (type == "bool") return value != 0 ? "true" : "false";
  return std::to_string(value) + (type == "u32" ? "u" : "");
}

// Fixes the overrides and returns the constants' values by name.
std::string fix_overrides(const std::string& text, std::span<const ShaderConstant> constants,
                          Values& values) {
  static const std::regex pattern(R"(override (\w+): (\w+) = (\w+);)");
  std::string out;
  auto begin = text.cbegin();
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    const std::smatch& match = *it;
    out.append(begin, match[0].first);
    begin = match[0].second;
    if (values.contains(match[1].str())) continue;  // an include declares it too
    uint32_t value = parse_literal(match[3].str()).value_or(0);
    for (const ShaderConstant& constant : constants) {
      if (constant.name == match[1].str()) value = constant.value;
    }
    values[match[1].str()] = value;
    out += fmt::format("const {}: {} = {};", match[1].str(), match[2].str(),
                       literal(match[2].str(), value));
  }
  out.append(begin, text.cend());
  return out;
}

// The value of a constant expression of u32: names, literals, + - * /, parentheses and max().
class Expression {
 public:
  Expression(std::string_view text, const Values& values) : text_(text), values_(values) {}

  // nullopt: something else stands there.
  std::optional<uint32_t> value() {
    const std::optional<uint32_t> sum = parse_sum();
    skip_spaces();
    return text_.empty() ? sum : std::nullopt;
  }

 private:
  void skip_spaces() {
    while (!text_.empty() && text_.front() == ' ') text_.remove_prefix(1);
  }
  bool take(char c) {
    skip_spaces();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::optional<uint32_t> parse_sum() {
    std::optional<uint32_t> left = parse_product();
    while (left) {
      const bool is_plus = take('+');
      if (!is_plus && !take('-')) break;
      const std::optional<uint32_t> right = parse_product();
      if (!right) return std::nullopt;
      left = is_plus ? *left + *right : *left - *right;
    }
    return left;
  }
  std::optional<uint32_t> parse_product() {
    std::optional<uint32_t> left = parse_term();
    while (left) {
      const bool is_times = take('*');
      if (!is_times && !take('/')) break;
      const std::optional<uint32_t> right = parse_term();
      if (!right || (!is_times && *right == 0)) return std::nullopt;
      left = is_times ? *left * *right : *left / *right;
    }
    return left;
  }
  std::optional<uint32_t> parse_term() {
    if (take('(')) {
      const std::optional<uint32_t> inner = parse_sum();
      return take(')') ? inner : std::nullopt;
    }
    const std::string_view word = word_at(text_, 0);
    text_.remove_prefix(word.size());
    if (word == "max" && take('(')) return parse_max();
    if (const auto known = values_.find(word); known != values_.end()) return known->second;
    return parse_literal(word);
  }
  std::optional<uint32_t> parse_max() {
    const std::optional<uint32_t> a = parse_sum();
    if (!a || !take(',')) return std::nullopt;
    const std::optional<uint32_t> b = parse_sum();
    if (!b || !take(')')) return std::nullopt;
    return std::max(*a, *b);
  }

  std::string_view text_;
  const Values& values_;
};

// Adds the constants that are expressions of others, where this file can tell their values.
void add_constants(const std::string& text, Values& values) {
  static const std::regex pattern(R"(const (\w+) = ([^;]+);)");
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    const std::string expression = (*it)[2].str();
    if (const auto value = Expression(expression, values).value()) {
      values[(*it)[1].str()] = *value;
    }
  }
}

std::string replace_word(std::string_view text, std::string_view word, std::string_view by) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const bool starts = text.compare(i, word.size(), word) == 0 &&
                        (i == 0 || (!is_word(text[i - 1]) && text[i - 1] != '.'));
    const size_t after = i + word.size();
    if (starts && (after >= text.size() || !is_word(text[after]))) {
      out += by;
      i = after;
    } else {
      out += text[i++];
    }
  }
  return out;
}

uint32_t value_of(std::span<const ShaderConstant> constants, std::string_view name) {
  for (const ShaderConstant& constant : constants) {
    if (constant.name == name) return constant.value;
  }
  return 0;
}

// Some includes come in versions: sums with and without subgroups, epilogues by their number.
std::string file_of_include(const std::string& name, std::span<const ShaderConstant> constants) {
  if (name == "reduce" || name == "product_sums" || name == "team_sum") {
    return name + (value_of(constants, "HAS_SUBGROUPS") != 0 ? "_subgroup" : "_shared");
  }
  if (name == "block_epilogue") {
    return name + (value_of(constants, "EPILOGUE") == 1 ? "_residual" : "_activate");
  }
  if (name == "attend_input") {
    return name + (value_of(constants, "FUSED") != 0 ? "_fused" : "_stored");
  }
  if (name == "attend_output") {
    return name + (value_of(constants, "IS_DIRECT") != 0 ? "_direct" : "_partial");
  }
  return name;
}

// Replaces each line `// include: name` by the file's text.
Result<std::string> with_includes(std::string_view source,
                                  std::span<const ShaderConstant> constants) {
  static const std::regex pattern(R"(// include: (\w+)\n)");
  const std::string text(source);
  std::string out;
  auto begin = text.cbegin();
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    const std::smatch& match = *it;
    out.append(begin, match[0].first);
    begin = match[0].second;
    const std::string file = file_of_include(match[1].str(), constants);
    const std::string_view included = shader_text(file);
    if (included.empty()) return internal("There is no shader '{}'.", file);
    QUALIA_ASSIGN(const std::string whole, with_includes(included, constants));
    out += whole;
  }
  out.append(begin, text.cend());
  return out;
}

// The place after the brace that closes the one before `begin`; npos without one.
size_t end_of_block(std::string_view text, size_t begin) {
  size_t depth = 1;
  for (size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

// A loop that is to be written out: its variable, its bound, and where its body begins.
struct LoopHead {
  std::string_view variable;
  std::string_view bound;
  size_t begin = 0;
  size_t body = 0;
};

// The first such loop from `from` on. Loops that are not marked are passed over.
std::optional<LoopHead> find_loop(std::string_view text, size_t from) {
  constexpr std::string_view kStart = "for (var ";
  constexpr std::string_view kMark = "// unroll";
  for (size_t at = text.find(kMark, from); at != std::string_view::npos;
       at = text.find(kMark, at + 1)) {
    const size_t line = text.rfind('\n', at) + 1;
    const size_t begin = text.find(kStart, line);
    if (begin == std::string_view::npos || begin > at) continue;
    LoopHead head;
    head.begin = begin;
    head.variable = word_at(text, begin + kStart.size());
    const size_t less = text.find(" < ", begin);
    head.bound = word_at(text, less + 3);
    head.body = at + kMark.size();
    return head;
  }
  return std::nullopt;
}

Result<std::string> unroll(std::string_view text, const Values& values) {
  std::string out;
  size_t done = 0;
  while (const std::optional<LoopHead> head = find_loop(text, done)) {
    const size_t end = end_of_block(text, head->body);
    if (end == std::string_view::npos) return internal("A loop of a shader has no end.");
    const auto known = values.find(head->bound);
    const std::optional<uint32_t> count =
        known != values.end() ? std::optional(known->second) : parse_literal(head->bound);
    if (!count) return internal("The bound '{}' of an unrolled loop is no constant.", head->bound);
    const std::string_view body = text.substr(head->body, end - 1 - head->body);
    out += text.substr(done, head->begin - done);
    for (uint32_t i = 0; i < *count; ++i) {
      QUALIA_ASSIGN(const std::string inner,
                    unroll(replace_word(body, head->variable, std::to_string(i) + "u"), values));
      out += "{";
      out += inner;
      out += "}\n";
    }
    done = end;
  }
  out += text.substr(done);
  return out;
}

}  // namespace

Result<std::string> shader_variant(std::string_view name,
                                   std::span<const ShaderConstant> constants) {
  const std::string_view source = shader_text(name);
  if (source.empty()) return internal("There is no shader '{}'.", name);
  return variant_of_text(source, constants);
}

Result<std::string> variant_of_text(std::string_view source,
                                    std::span<const ShaderConstant> constants) {
  QUALIA_ASSIGN(const std::string whole, with_includes(source, constants));
  Values values;
  const std::string fixed = fix_overrides(whole, constants, values);
  add_constants(fixed, values);
  return unroll(fixed, values);
}

}  // namespace qualia::lanes::wgpu
