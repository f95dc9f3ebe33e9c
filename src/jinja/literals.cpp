#include "jinja/literals.h"

#include <charconv>
#include <limits>

#include "base/error.h"
#include "jinja/unicode.h"

namespace qualia::jinja {

namespace {

constexpr int32_t kReplacement = 0xfffd;

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

int digit_value(char c) {
  if (is_ascii_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// The end of digits of a base, single underscores between them allowed.
size_t digits_end(std::string_view text, size_t at, int base) {
  while (at < text.size()) {
    if (digit_value(text[at]) < base) {
      ++at;
    } else if (text[at] == '_' && at + 1 < text.size() && digit_value(text[at + 1]) < base) {
      at += 2;
    } else {
      break;
    }
  }
  return at;
}

std::string without_underscores(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != '_') out += c;
  }
  return out;
}

int literal_base(std::string_view text) {
  if (text.size() < 3 || text[0] != '0') return 10;
  const char kind = static_cast<char>(text[1] | 0x20);
  const int base = kind == 'x' ? 16 : (kind == 'o' ? 8 : (kind == 'b' ? 2 : 10));
  return digit_value(text[2]) < base || text[2] == '_' ? base : 10;
}

// The end of a fraction and an exponent, `at` if there is neither.
size_t real_end(std::string_view text, size_t at) {
  if (at + 1 < text.size() && text[at] == '.' && is_ascii_digit(text[at + 1])) {
    at = digits_end(text, at + 1, 10);
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    size_t digits = at + 1;
    if (digits < text.size() && (text[digits] == '+' || text[digits] == '-')) ++digits;
    if (digits < text.size() && is_ascii_digit(text[digits])) at = digits_end(text, digits, 10);
  }
  return at;
}

Result<Number> parse_integer(std::string_view text, int base, size_t prefix, size_t end) {
  Number number;
  number.size_bytes = end;
  const std::string digits = without_underscores(text.substr(prefix, end - prefix));
  const auto result =
      std::from_chars(digits.data(), digits.data() + digits.size(), number.integer, base);
  if (result.ec != std::errc()) {
    return corrupt_file("integer '{}' does not fit 64 bits", text.substr(0, end));
  }
  return number;
}

// Reads `count` hexadecimal digits at `at`.
Result<int32_t> hex_escape(std::string_view literal, size_t at, size_t count) {
  int64_t value = 0;
  for (size_t i = at; i < at + count; ++i) {
    const int digit = i < literal.size() ? digit_value(literal[i]) : 99;
    if (digit >= 16) return corrupt_file("a string has a truncated hexadecimal escape");
    value = value * 16 + digit;
  }
  if (value > 0x10ffff) return corrupt_file("a string has an escape beyond U+10FFFF");
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  return surrogate ? kReplacement : static_cast<int32_t>(value);
}

char simple_escape(char c) {
  constexpr std::string_view kNames = "\\'\"abfnrtv";
  constexpr std::string_view kValues = "\\'\"\a\b\f\n\r\t\v";
  const size_t found = kNames.find(c);
  return found == std::string_view::npos ? '\0' : kValues[found];
}

// Resolves the escape at `at` (a backslash) into `out`; answers the position after it.
Result<size_t> append_escape(std::string& out, std::string_view literal, size_t at) {
  const char c = at + 1 < literal.size() ? literal[at + 1] : '\0';
  if (c == '\n') return at + 2;
  if (const char simple = simple_escape(c)) {
    out += simple;
    return at + 2;
  }
  if (const size_t count = c == 'x' ? 2 : (c == 'u' ? 4 : (c == 'U' ? 8 : 0))) {
    QUALIA_ASSIGN(const int32_t value, hex_escape(literal, at + 2, count));
    append_utf8(out, value);
    return at + 2 + count;
  }
  if (c == 'N') return corrupt_file("a string names a character by '\\N', which is not known");
  if (c >= '0' && c <= '7') {
    int32_t value = 0;
    size_t end = at + 1;
    for (; end < at + 4 && end < literal.size() && literal[end] >= '0' && literal[end] <= '7';
         ++end) {
      value = value * 8 + (literal[end] - '0');
    }
    append_utf8(out, value);
    return end;
  }
  out += '\\';
  return at + 1;
}

}  // namespace

Result<Number> parse_number(std::string_view text, Fractions fractions) {
  const int base = literal_base(text);
  if (base != 10) return parse_integer(text, base, 2, digits_end(text, 2, base));
  const size_t integer_end = digits_end(text, 0, 10);
  const size_t end = fractions == Fractions::allowed ? real_end(text, integer_end) : integer_end;
  if (end == integer_end) return parse_integer(text, 10, 0, end);
  Number number;
  number.is_real = true;
  number.size_bytes = end;
  number.real = parse_real(without_underscores(text.substr(0, end))).value_or(0);
  return number;
}

std::optional<double> parse_real(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.front() == '-') return std::nullopt;
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ptr != text.data() + text.size()) return std::nullopt;
  if (result.ec == std::errc::result_out_of_range) {
    // Too large or too small; the two differ by the sign of the exponent.
    const bool tiny =
        text.find("e-") != std::string_view::npos || text.find("E-") != std::string_view::npos;
    value = tiny ? 0 : std::numeric_limits<double>::infinity();
  } else if (result.ec != std::errc()) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

Result<std::string> unescape(std::string_view literal) {
  std::string out;
  out.reserve(literal.size());
  for (size_t at = 0; at < literal.size();) {
    if (literal[at] != '\\') {
      out += literal[at++];
      continue;
    }
    QUALIA_ASSIGN(at, append_escape(out, literal, at));
  }
  return out;
}

}  // namespace qualia::jinja
