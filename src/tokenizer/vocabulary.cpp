#include "tokenizer/vocabulary.h"

#include <limits>
#include <string_view>

#include "base/error.h"

namespace qualia::tokenizer {
namespace {

Result<void> check_special(std::string_view name, std::optional<TokenId> id, size_t size) {
  if (!id || (*id >= 0 && static_cast<size_t>(*id) < size)) return {};
  return corrupt_file("Special token '{}' has id {} (vocabulary has {} tokens).", name,
                      static_cast<uint32_t>(*id), size);
}

}  // namespace

Result<void> check_vocabulary(const Vocabulary& vocabulary) {
  const size_t size = vocabulary.tokens.size();
  if (size == 0) return corrupt_file("Vocabulary has no tokens.");
  if (size > static_cast<size_t>(std::numeric_limits<TokenId>::max())) {
    return corrupt_file("Vocabulary has {} tokens (limit {}).", size,
                        std::numeric_limits<TokenId>::max());
  }
  if (!vocabulary.types.empty() && vocabulary.types.size() != size) {
    return corrupt_file("Vocabulary has {} token types for {} tokens.", vocabulary.types.size(),
                        size);
  }
  if (!vocabulary.scores.empty() && vocabulary.scores.size() != size) {
    return corrupt_file("Vocabulary has {} scores for {} tokens.", vocabulary.scores.size(), size);
  }
  QUALIA_TRY(check_special("bos", vocabulary.bos, size));
  QUALIA_TRY(check_special("eos", vocabulary.eos, size));
  QUALIA_TRY(check_special("eot", vocabulary.eot, size));
  QUALIA_TRY(check_special("unknown", vocabulary.unknown, size));
  QUALIA_TRY(check_special("padding", vocabulary.padding, size));
  return {};
}

}  // namespace qualia::tokenizer
