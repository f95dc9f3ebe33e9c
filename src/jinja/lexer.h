// Template source -> tokens, with the white space rules of trim_blocks and lstrip_blocks.
// Thread-safety: pure.
// A line break after a block or comment tag is dropped, and so is white space before one on its own
// line; "-" drops all white space on its side, "+" keeps it. One line break at the very end of the
// source is dropped. Line breaks become "\n".
// Source: the behaviour of Jinja2 3.1 with the settings of Hugging Face transformers.
// Errors: corrupt_file with the line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qualia/result.h"

namespace qualia::jinja {

enum class TokenType : uint8_t {
  data,
  variable_begin,
  variable_end,
  block_begin,
  block_end,
  name,
  string,
  integer,
  real,
  op,
  end,
};

struct Token {
  TokenType type = TokenType::end;
  uint32_t line = 1;
  std::string text;  // data, name, the value of a string, the characters of an operator
  int64_t integer = 0;
  double real = 0;
};

Result<std::vector<Token>> tokenize(std::string_view source);

// A syntax error at a line, in the sentence that users see.
Error syntax_error(uint32_t line, std::string_view what);

}  // namespace qualia::jinja
