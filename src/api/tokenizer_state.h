// What a public Tokenizer holds.
#pragma once

#include <memory>
#include <optional>

#include "gguf/gguf_file.h"
#include "qualia/result.h"
#include "qualia/tokenizer.h"
#include "tokenizer/tokenizer.h"

namespace qualia {

struct Tokenizer::State {
  std::unique_ptr<const tokenizer::Tokenizer> tokenizer;
};

namespace api {

// Errors: not_found when the file has no tokenizer; what read_vocabulary and create refuse.
Result<Tokenizer> read_tokenizer(const gguf::File& file);

}  // namespace api
}  // namespace qualia
