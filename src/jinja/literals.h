// Literals of the template language: numbers and the escapes of strings.
// Thread-safety: pure.
// Source: Python 3's literals, as Jinja2 reads them.
// Errors: a sentence without line; the lexer adds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "qualia/result.h"

namespace qualia::jinja {

enum class Fractions { refused, allowed };

struct Number {
  bool is_real = false;
  int64_t integer = 0;
  double real = 0;
  size_t size_bytes = 0;
};

// The number that `text` starts with. REQUIRES: it starts with a digit.
Result<Number> parse_number(std::string_view text, Fractions fractions);

// The inside of a string literal with its escapes resolved; unknown escapes stay as they are.
Result<std::string> unescape(std::string_view literal);

// The float that all of `text` spells, without white space: "1.5", "-1e3", "inf", "nan".
std::optional<double> parse_real(std::string_view text);

}  // namespace qualia::jinja
