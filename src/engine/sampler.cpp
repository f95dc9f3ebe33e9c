#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"

namespace qualia::engine {
namespace {

using lanes::RowOutput;
using lanes::RowOutputKind;

// So large that it decides everything, so small that sums of biases and logits stay finite.
constexpr float kBiasMax = 1e9F;

bool better(const TokenLogit& a, const TokenLogit& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

std::vector<TokenLogit> candidates_of(const RowOutput& output) {
  if (!output.top.empty()) return output.top;
  std::vector<TokenLogit> all(output.logits.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = {static_cast<TokenId>(i), output.logits[i]};
  return all;
}

// Keeps the k best, best first.
void keep_top_k(std::vector<TokenLogit>& candidates, size_t k) {
  k = std::min(k, candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(k),
                    candidates.end(), better);
  candidates.resize(k);
}

// Probabilities relative to the best, which comes first.
std::vector<double> relative_weights(const std::vector<TokenLogit>& sorted, float temperature) {
  std::vector<double> weights(sorted.size());
  const double best = sorted.front().logit;
  for (size_t i = 0; i < sorted.size(); ++i)
    weights[i] = std::exp((sorted[i].logit - best) / static_cast<double>(temperature));
  return weights;
}

// How many of the best are needed for a share `top_p` of the whole.
size_t nucleus_size(const std::vector<double>& weights, double top_p) {
  if (top_p >= 1.0) return weights.size();
  double total = 0;
  for (const double weight : weights) total += weight;
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    if (sum >= top_p * total) return i + 1;
  }
  return weights.size();
}

}  // namespace

Result<void> validate(const SamplerOptions& options, uint32_t vocabulary_size) {
  const auto number = [](const char* name, double value, double min, double max) -> Result<void> {
    if (value >= min && value <= max) return {};  // false for NaN
    return invalid_argument("Option '{}' is {} (allowed {} to {}).", name, value, min, max);
  };
  QUALIA_TRY(number("temperature", options.temperature, 0.0, 1e9));
  QUALIA_TRY(number("top_p", options.top_p, 0.0, 1.0));
  QUALIA_TRY(number("min_p", options.min_p, 0.0, 1.0));
  QUALIA_TRY(number("repeat_penalty", options.repeat_penalty, 1e-3, 1e3));
  for (const auto& [token, bias] : options.logit_bias) {
    if (token < 0 || static_cast<uint32_t>(token) >= vocabulary_size)
      return invalid_argument("Logit bias names token {} (the vocabulary has {}).", token,
                              vocabulary_size);
    if (bias != -HUGE_VALF && !(std::abs(bias) <= kBiasMax))  // also NaN
      return invalid_argument("Logit bias of token {} is {} (-{} to {}, or -inf).", token, bias,
                              kBiasMax, kBiasMax);
  }
  return {};
}

Sampler::Sampler(SamplerOptions options) : options_(std::move(options)), random_(options_.seed) {}

RowOutputKind Sampler::output_kind() const {
  if (changes_logits()) return RowOutputKind::logits;
  if (options_.temperature == 0) return RowOutputKind::argmax;
  return options_.top_k > 0 ? RowOutputKind::top_k : RowOutputKind::logits;
}

TokenId Sampler::pick(const RowOutput& output, std::span<const TokenId> history) {
  if (!changes_logits()) {
    if (options_.temperature == 0) return output.argmax;
    return draw(candidates_of(output));
  }
  std::vector<TokenLogit> candidates = adjusted(output, history);
  if (options_.temperature == 0) return std::ranges::min_element(candidates, better)->token;
  return draw(std::move(candidates));
}

bool Sampler::changes_logits() const {
  return options_.repeat_penalty != 1.0F || !options_.logit_bias.empty();
}

std::vector<TokenLogit> Sampler::adjusted(const RowOutput& output,
                                          std::span<const TokenId> history) const {
  std::vector<TokenLogit> all = candidates_of(output);
  for (const auto& [token, bias] : options_.logit_bias)
    all[static_cast<size_t>(token)].logit += bias;
  if (options_.repeat_penalty == 1.0F) return all;
  const auto recent = history.last(std::min<size_t>(history.size(), options_.repeat_window));
  for (const TokenId token : std::set<TokenId>(recent.begin(), recent.end())) {
    float& logit = all[static_cast<size_t>(token)].logit;
    logit = logit > 0 ? logit / options_.repeat_penalty : logit * options_.repeat_penalty;
  }
  return all;
}

TokenId Sampler::draw(std::vector<TokenLogit> candidates) {
  keep_top_k(candidates, options_.top_k > 0 ? options_.top_k : candidates.size());
  // Biases may forbid every token: then the order alone decides.
  if (std::isinf(candidates.front().logit)) return candidates.front().token;
  const std::vector<double> weights = relative_weights(candidates, options_.temperature);
  size_t count = nucleus_size(weights, options_.top_p);
  while (count > 1 && weights[count - 1] < options_.min_p) --count;
  double total = 0;
  for (size_t i = 0; i < count; ++i) total += weights[i];
  // 53 random bits: a double in [0, 1), the same on every machine.
  double left = static_cast<double>(random_() >> 11) * 0x1p-53 * total;
  for (size_t i = 0; i + 1 < count; ++i) {
    left -= weights[i];
    if (left < 0) return candidates[i].token;
  }
  return candidates[count - 1].token;
}

}  // namespace qualia::engine
