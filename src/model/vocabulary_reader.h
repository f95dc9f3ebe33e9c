// GGUF metadata -> plain vocabulary data for tokenizer/.
// Thread-safety: pure.
// Errors: corrupt_file names the key. nullopt: the file has no tokenizer (model "none" or no key).
#pragma once

#include <optional>

#include "gguf/gguf_file.h"
#include "qualia/result.h"
#include "tokenizer/vocabulary.h"

namespace qualia::model {

Result<std::optional<tokenizer::Vocabulary>> read_vocabulary(const gguf::File& file);

}  // namespace qualia::model
