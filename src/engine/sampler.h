// Sampler: logits -> the next token.
// Thread-safety: one owner.
// Order: logit bias, repeat penalty, temperature, top-k, top-p, min-p, draw. Equal logits rank by
// lower id, and the same seed gives the same tokens on every machine that gives the same logits.
// Source: nucleus sampling, Holtzman et al. 2020; min-p, Nguyen et al. 2024; repeat penalty, Keskar
// et al. 2019.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "lanes/lane.h"
#include "qualia/result.h"

namespace qualia::engine {

using lanes::TokenId;
using lanes::TokenLogit;

struct SamplerOptions {
  float temperature = 0.8F;     // 0: the best token, the cuts don't matter
  uint32_t top_k = 40;          // 0: all
  float top_p = 0.95F;          // [0, 1]
  float min_p = 0.05F;          // [0, 1]
  float repeat_penalty = 1.0F;  // > 0; 1: off
  uint32_t repeat_window = 64;
  uint64_t seed = 0;
  std::vector<std::pair<TokenId, float>> logit_bias{};  // -1e9 to 1e9, or -inf: never
};

// Errors: invalid_argument names the option, its value and what is allowed.
Result<void> validate(const SamplerOptions& options, uint32_t vocabulary_size);

class Sampler {
 public:
  // REQUIRES: validate(options) holds.
  explicit Sampler(SamplerOptions options);

  // The least a lane must compute for pick().
  lanes::RowOutputKind output_kind() const;
  uint32_t top_k() const { return options_.top_k; }

  // `output` is finite and of output_kind(); `history` is prompt and reply so far, newest last.
  TokenId pick(const lanes::RowOutput& output, std::span<const TokenId> history);

 private:
  bool changes_logits() const;
  std::vector<TokenLogit> adjusted(const lanes::RowOutput& output,
                                   std::span<const TokenId> history) const;
  TokenId draw(std::vector<TokenLogit> candidates);

  SamplerOptions options_;
  std::mt19937_64 random_;  // its sequence is fixed by the C++ standard
};

}  // namespace qualia::engine
