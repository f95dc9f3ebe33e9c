#include "tokenizer/stream_decoder.h"

#include "tokenizer/utf8.h"

namespace qualia::tokenizer {

std::string StreamDecoder::push(std::string_view bytes) {
  pending_.append(bytes);
  std::string text;
  size_t at = 0;
  while (at < pending_.size()) {
    const Utf8Step step = utf8_step(pending_, at);
    if (step.unfinished) break;
    text.append(step.valid ? std::string_view(pending_).substr(at, step.size)
                           : kReplacementCharacter);
    at += step.size;
  }
  pending_.erase(0, at);
  return text;
}

std::string StreamDecoder::finish() {
  const bool unfinished = !pending_.empty();
  pending_.clear();
  return unfinished ? std::string(kReplacementCharacter) : std::string();
}

}  // namespace qualia::tokenizer
