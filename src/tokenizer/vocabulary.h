// Plain vocabulary data: what a tokenizer is built from. model/ fills it from GGUF metadata;
// nothing here knows where it came from. Thread-safety: value. Errors: check_vocabulary answers
// corrupt_file for data that contradicts itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qualia/result.h"

namespace qualia::tokenizer {

using TokenId = int32_t;

// The numbers of GGUF's tokenizer.ggml.token_type.
enum class TokenType : int32_t {
  undefined = 0,
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6,
};

struct Vocabulary {
  std::string model;                // tokenizer.ggml.model: "gpt2" (BPE), "llama" (SPM), ...
  std::string pre;                  // tokenizer.ggml.pre: "smollm", "llama-bpe", ...; may be empty
  std::vector<std::string> tokens;  // piece text by id, as the file has it; empty: never matches
  std::vector<TokenType> types;     // by id; empty: all normal
  std::vector<float> scores;        // by id; empty: none
  std::vector<std::string> merges;  // BPE, "left right", best first
  // A file's u32 id is stored by its bits, so that an id beyond INT32_MAX is negative here and is
  // refused by check_vocabulary with the number that the file has.
  std::optional<TokenId> bos, eos, eot, unknown, padding;
  std::optional<bool> add_bos, add_eos, add_space_prefix;  // nullopt: the model kind's default
  std::string chat_template;                               // Jinja source; empty: none
};

// Sizes fit together, and every special id is the id of a token.
Result<void> check_vocabulary(const Vocabulary& vocabulary);

}  // namespace qualia::tokenizer
