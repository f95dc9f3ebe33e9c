// Tokenizer: text <-> token ids of one model.
// Thread-safety: immutable; copies share one state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qualia/export.h"
#include "qualia/result.h"

namespace qualia {

using TokenId = int32_t;

struct TokenizeOptions {
  bool add_special = true;     // BOS and EOS as the model's file asks
  bool parse_special = false;  // read control tokens such as <|im_start|> in the text
};

class QUALIA_API Tokenizer {
 public:
  // Reads the vocabulary of a GGUF file; its tensors, if any, are not needed.
  static Result<Tokenizer> open(const std::filesystem::path& path);

  std::vector<TokenId> encode(std::string_view text, const TokenizeOptions& options = {}) const;
  // The exact bytes. Control tokens give their piece when `with_special`, nothing otherwise.
  // Errors: invalid_argument names an id outside the vocabulary.
  Result<std::string> decode(std::span<const TokenId> ids, bool with_special = false) const;
  size_t vocabulary_size() const;

  struct State;
  explicit Tokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const State& state() const { return *state_; }

 private:
  // Shared by copies and by the model the tokenizer belongs to: immutable.
  std::shared_ptr<const State> state_;
};

}  // namespace qualia
