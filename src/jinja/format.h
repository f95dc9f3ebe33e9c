// Formatting: '%' with a text on its left, and str.format().
// Thread-safety: pure apart from the budget and what Runtime allows.
// A text put in by %s, {} or the like keeps its exact ranges, also with width and precision; any
// other value's text is untrusted as a whole if it holds an untrusted text.
// Source: Python 3.11's printf-style formatting and format specification mini-language, less
// thousands of locale ("n") and formatting of types other than str, int and float.
// Errors: sentences without line (see jinja_callable.h).
#pragma once

#include <cstdint>
#include <string>

#include "jinja/callable.h"
#include "qualia/result.h"

namespace qualia::jinja {

// Width and precision beyond this are refused.
inline constexpr int64_t kFormatWidthMax = 100'000;

struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  // '<', '>', '^', '=' or '\0': the type's default
  char sign = '-';    // '-', '+' or ' '
  bool alternate = false;
  char grouping = '\0';  // ',' or '_'
  int64_t width = 0;
  int64_t precision = -1;  // -1: none
  char type = '\0';
};

Result<Value> percent_format(Budget& budget, const TextPtr& format, const Value& arguments);
Result<Value> brace_format(Runtime& runtime, const TextPtr& format, const Arguments& arguments);

// str.center, which puts an odd space elsewhere than the '^' of a format.
TextPtr centered(Budget& budget, const Text& text, int64_t width, std::string_view fill);
// A text, cut to the precision and padded to the width.
void append_padded(TextBuilder& builder, const Text& text, const FormatSpec& spec);
// A number by its type: d i u b o x X c, e E f F g G %, or none.
Result<std::string> format_number(const Value& value, const FormatSpec& spec);

}  // namespace qualia::jinja
