// Finds added tokens (control and user-defined ones) in text: at one position, the longest allowed.
// Thread-safety: immutable; search in parallel. The pieces must outlive the matcher.
// Cost: a table look-up for a position where no piece begins; else a binary search per byte matched
// among the pieces that share it. Tens of thousands of added tokens cost no more than a few.
// Errors: none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizer/vocabulary.h"

namespace qualia::tokenizer {

struct AddedToken {
  std::string_view piece;
  TokenId id = 0;
  bool control = false;
};

class AddedTokenMatcher {
 public:
  explicit AddedTokenMatcher(std::vector<AddedToken> tokens);

  bool may_begin_with(char byte) const {
    const size_t index = static_cast<uint8_t>(byte);
    return first_[index] != first_[index + 1];
  }

  // The longest piece at text[at]. A control token counts only if it ends at or before
  // `control_end`. REQUIRES: at < text.size().
  std::optional<AddedToken> longest_at(std::string_view text, size_t at, size_t control_end) const;

 private:
  std::vector<AddedToken> tokens_;   // by piece, then id
  std::array<size_t, 257> first_{};  // tokens_ that begin with byte b: [first_[b], first_[b + 1])
};

}  // namespace qualia::tokenizer
