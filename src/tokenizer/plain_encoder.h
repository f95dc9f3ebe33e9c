// What each kind of tokenizer (BPE, and later SPM, WordPiece, Unigram) does with text that holds no
// added tokens.
// Thread-safety: immutable; encode may run in parallel.
// Errors: none; every byte string has some ids.
#pragma once

#include <string_view>
#include <vector>

#include "tokenizer/vocabulary.h"

namespace qualia::tokenizer {

class PlainEncoder {
 public:
  virtual ~PlainEncoder() = default;
  // Appends the ids of `text`.
  virtual void encode(std::string_view text, std::vector<TokenId>& ids) const = 0;
};

}  // namespace qualia::tokenizer
