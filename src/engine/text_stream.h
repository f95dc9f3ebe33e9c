// TextStream: token bytes -> text that may be shown, ending before the first stop string.
// Thread-safety: one owner.
// Text that could still become a stop string is held back; UTF-8 characters are never cut.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/stream_decoder.h"

namespace qualia::engine {

class TextStream {
 public:
  // Empty stop strings are ignored.
  explicit TextStream(std::vector<std::string> stops);

  // Adds one token's bytes; returns what may be shown now. After a stop string, nothing any more.
  std::string push(std::string_view bytes);
  // What was held back, when the reply ended without a stop string.
  std::string finish();

  bool is_stopped() const { return stopped_; }

 private:
  std::string advance(std::string_view text);

  std::vector<std::string> stops_;
  tokenizer::StreamDecoder decoder_;
  std::string held_;  // decoded, not yet shown
  bool stopped_ = false;
};

}  // namespace qualia::engine
