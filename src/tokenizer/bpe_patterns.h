// What a tokenizer.ggml.pre name means: how text is cut into words before merging.
// Thread-safety: pure; constant data.
// The patterns of one entry apply in order, each inside the pieces that the one before left: a
// match is a piece, and so is what lies between two matches. Sources: the pre_tokenizer entries of
// the models' public tokenizer.json files, and the list of names that llama.cpp's converter writes.
// Errors: unsupported, with the name.
#pragma once

#include <span>
#include <string_view>

#include "qualia/result.h"

namespace qualia::tokenizer {

struct BpeProfile {
  std::string_view name;
  std::span<const std::string_view> patterns;
  // A word that is a token as a whole is taken as it is, even where no chain of merges makes it.
  bool ignore_merges = false;
  // Whether text begins with BOS where the file doesn't say.
  bool add_bos = false;
};

// An empty name is an old file, from before the name existed: it is read as "gpt-2", with a
// warning.
Result<BpeProfile> find_bpe_profile(std::string_view pre);

// All known profiles, for tests and messages.
std::span<const BpeProfile> bpe_profiles();

}  // namespace qualia::tokenizer
