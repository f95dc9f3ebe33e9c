// Plain vocabulary data: what a tokenizer is built from. model/ fills it from GGUF metadata; nothing
// here knows where it came from.
// Thread-safety: value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  std::string model;                 // tokenizer.ggml.model: "gpt2" (BPE), "llama" (SPM), ...
  std::string pre;                   // tokenizer.ggml.pre: "smollm", "llama-bpe", ...; may be empty
  std::vector<std::string> tokens;   // piece text by id, as the file has it
  std::vector<TokenType> types;      // by id; empty: all normal
  std::vector<float> scores;         // by id; empty: none
  std::vector<std::string> merges;   // BPE, "left right", best first
  std::optional<TokenId> bos, eos, eot, unknown, padding;
  std::optional<bool> add_bos, add_eos, add_space_prefix;  // nullopt: the model kind's default
  std::string chat_template;         // Jinja source; empty: none
};

}  // namespace qualia::tokenizer
