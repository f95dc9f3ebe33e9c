#include "token_list.h"

#include <charconv>
#include <string>

namespace qualia::cli {

Result<std::vector<TokenId>> parse_tokens(std::string_view text) {
  constexpr std::string_view kSeparators = " ,\t\r\n[]";
  std::vector<TokenId> ids;
  while (true) {
    const size_t begin = text.find_first_not_of(kSeparators);
    if (begin == std::string_view::npos) return ids;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(kSeparators));
    TokenId id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size())
      return tl::unexpected(
          Error{ErrorCode::invalid_argument, "'" + std::string(word) + "' is no token id."});
    ids.push_back(id);
    text.remove_prefix(word.size());
  }
}

}  // namespace qualia::cli
