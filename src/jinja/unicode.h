// Code points as Python's str sees them: decoding, classes, case mapping.
// Thread-safety: pure.
// Bytes that are no UTF-8 count as one code point each, are in no class and keep their case.
// Source: Unicode data through utf8proc; the white space and line break sets of Python 3.11's str;
// Unicode SpecialCasing.txt for the mappings that utf8proc's one-to-one functions lack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace qualia::jinja {

struct CodePoint {
  int32_t value = -1;  // -1: an invalid byte
  uint8_t size_bytes = 1;
};

// REQUIRES: offset < text.size().
CodePoint code_point_at(std::string_view text, size_t offset) noexcept;
// The code point that ends at `end`. REQUIRES: 0 < end <= text.size().
CodePoint code_point_before(std::string_view text, size_t end) noexcept;
void append_utf8(std::string& out, int32_t value);

bool is_ascii(std::string_view text) noexcept;
size_t code_point_count(std::string_view text) noexcept;
// The byte offset of code point `index`, text.size() at or past the end.
size_t byte_offset(std::string_view text, size_t index) noexcept;

bool is_space(int32_t value) noexcept;       // str.isspace, str.strip, \s
bool is_line_break(int32_t value) noexcept;  // str.splitlines
bool is_printable(int32_t value) noexcept;   // repr() leaves it as it is
bool is_alphabetic(int32_t value) noexcept;
bool is_decimal(int32_t value) noexcept;  // str.isdecimal
bool is_digit(int32_t value) noexcept;    // str.isdigit
bool is_numeric(int32_t value) noexcept;
bool is_upper(int32_t value) noexcept;
bool is_lower(int32_t value) noexcept;
bool is_title(int32_t value) noexcept;
bool is_identifier_part(int32_t value) noexcept;

std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
std::string to_title(std::string_view text);        // str.title: each run of letters
std::string to_capitalized(std::string_view text);  // str.capitalize
std::string to_swapped_case(std::string_view text);

}  // namespace qualia::jinja
