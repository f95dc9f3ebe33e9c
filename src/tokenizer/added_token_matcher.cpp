#include "tokenizer/added_token_matcher.h"

#include <algorithm>
#include <tuple>

namespace qualia::tokenizer {

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const AddedToken& token) { return token.piece.empty(); });
  std::sort(tokens_.begin(), tokens_.end(), [](const AddedToken& a, const AddedToken& b) {
    return std::tie(a.piece, a.id) < std::tie(b.piece, b.id);
  });
  for (const AddedToken& token : tokens_) ++first_[static_cast<uint8_t>(token.piece[0]) + 1u];
  for (size_t byte = 0; byte < 256; ++byte) first_[byte + 1] += first_[byte];
}

std::optional<AddedToken> AddedTokenMatcher::longest_at(std::string_view text, size_t at,
                                                        size_t control_end) const {
  const size_t first_byte = static_cast<uint8_t>(text[at]);
  auto begin = tokens_.begin() + static_cast<ptrdiff_t>(first_[first_byte]);
  auto end = tokens_.begin() + static_cast<ptrdiff_t>(first_[first_byte + 1]);
  std::optional<AddedToken> longest;
  // All of [begin, end) share the first `length` bytes with the text.
  for (size_t length = 1; begin != end; ++length) {
    for (; begin != end && begin->piece.size() == length; ++begin) {
      const bool allowed = !begin->control || at + length <= control_end;
      const bool first_of_its_length = !longest || longest->piece.size() < length;
      if (allowed && first_of_its_length) longest = *begin;
    }
    if (begin == end || at + length == text.size()) break;
    const auto byte = static_cast<uint8_t>(text[at + length]);
    begin = std::lower_bound(begin, end, byte, [length](const AddedToken& token, uint8_t value) {
      return static_cast<uint8_t>(token.piece[length]) < value;
    });
    end = std::upper_bound(begin, end, byte, [length](uint8_t value, const AddedToken& token) {
      return value < static_cast<uint8_t>(token.piece[length]);
    });
  }
  return longest;
}

}  // namespace qualia::tokenizer
