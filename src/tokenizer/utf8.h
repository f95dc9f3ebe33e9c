// Steps through bytes that may or may not be UTF-8, one character or one maximal invalid part at a
// time (Unicode 15, section 3.9, table 3-7 and "substitution of maximal subparts").
// Thread-safety: pure. Errors: none; every byte string has exactly one reading.
#pragma once

#include <cstddef>
#include <string_view>

namespace qualia::tokenizer {

// U+FFFD, what an invalid part is shown as.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

struct Utf8Step {
  size_t size = 0;          // bytes of this step, 1-4
  bool valid = false;       // a whole character
  bool unfinished = false;  // invalid only because the text ends here
};

// REQUIRES: at < text.size().
Utf8Step utf8_step(std::string_view text, size_t at);

bool is_valid_utf8(std::string_view text);

}  // namespace qualia::tokenizer
