// Turns token bytes into text piece by piece without ever cutting a UTF-8 character.
// Thread-safety: one owner.
#pragma once

#include <string>
#include <string_view>

namespace qualia::tokenizer {

class StreamDecoder {
 public:
  // Adds the bytes of one token and returns the text that is complete: whole characters only.
  // Bytes that can never become valid UTF-8 come out as U+FFFD, one per maximal invalid part
  // (Unicode 15, section 3.9, "substitution of maximal subparts").
  std::string push(std::string_view bytes);
  // What is still held back at the end, an unfinished character as one U+FFFD.
  std::string finish();

 private:
  std::string pending_;  // at most 3 bytes: a valid but unfinished prefix
};

}  // namespace qualia::tokenizer
