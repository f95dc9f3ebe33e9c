// Lists of token ids as users write them: "1,2,3", "1 2 3" or "[1, 2, 3]".
// Errors: invalid_argument names what is no id.
#pragma once

#include <string_view>
#include <vector>

#include "qualia/result.h"
#include "qualia/tokenizer.h"

namespace qualia::cli {

Result<std::vector<TokenId>> parse_tokens(std::string_view text);

}  // namespace qualia::cli
