// Control pieces known by name, for files that mark them wrongly or not at all.
// Thread-safety: pure.
// Sources: the special_tokens_map.json of public models; llama.cpp's list of end-of-generation
// texts. Errors: none.
#pragma once

#include <string_view>

#include "tokenizer/vocabulary.h"

namespace qualia::tokenizer {

// Whether a token acts as a control token: by its type, or by its name where the file calls it
// user-defined (which would let it match in a user's text) or, for names in bars, normal.
bool acts_as_control(std::string_view piece, TokenType type);

// Whether the name of a control token ends a turn or a document.
bool names_end_of_generation(std::string_view piece);

}  // namespace qualia::tokenizer
