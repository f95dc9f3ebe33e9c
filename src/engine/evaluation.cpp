#include "engine/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace qualia::engine {
namespace {

using lanes::RowOutput;
using lanes::RowOutputKind;

double logsumexp(std::span<const float> logits) {
  const double best = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - best);
  return best + std::log(sum);
}

std::vector<TokenLogit> best_logits(std::span<const float> logits, uint32_t count) {
  std::vector<TokenId> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto value = [&](TokenId id) { return logits[static_cast<size_t>(id)]; };
  const auto middle = order.begin() + std::min<ptrdiff_t>(count, std::ssize(order));
  std::partial_sort(order.begin(), middle, order.end(), [&](TokenId a, TokenId b) {
    return value(a) != value(b) ? value(a) > value(b) : a < b;
  });
  std::vector<TokenLogit> best;
  for (auto it = order.begin(); it != middle; ++it) best.push_back({*it, value(*it)});
  return best;
}

Result<void> check_tokens(const Engine& engine, std::span<const TokenId> tokens) {
  const EngineLimits& limits = engine.limits();
  if (tokens.empty()) return invalid_argument("The list of tokens is empty.");
  for (const TokenId token : tokens)
    if (token < 0 || static_cast<uint32_t>(token) >= limits.vocabulary_size)
      return invalid_argument("Token {} is out of range (the vocabulary has {}).", token,
                              limits.vocabulary_size);
  if (tokens.size() > limits.context)
    return invalid_argument("The list has {} tokens (the context has {}).", tokens.size(),
                            limits.context);
  return {};
}

Result<void> check_finite(uint32_t position, const RowOutput& output) {
  if (output.is_finite) return {};
  return numeric("The logits at position {} are not finite.", position);
}

}  // namespace

Result<std::vector<ScoredPosition>> evaluate_logits(Engine& engine, std::span<const TokenId> tokens,
                                                    uint32_t last, uint32_t top) {
  QUALIA_TRY(check_tokens(engine, tokens));
  std::vector<ScoredPosition> scored;
  const auto count = static_cast<uint32_t>(tokens.size());
  const uint32_t first = count - std::min(last, count);
  QUALIA_TRY(engine.score(tokens, first, RowOutputKind::logits,
                          [&](uint32_t position, const RowOutput& output) -> Result<void> {
                            QUALIA_TRY(check_finite(position, output));
                            scored.push_back({.position = position,
                                              .top = best_logits(output.logits, top),
                                              .logsumexp = logsumexp(output.logits)});
                            return {};
                          }));
  return scored;
}

Result<Perplexity> evaluate_perplexity(Engine& engine, std::span<const TokenId> tokens,
                                       uint32_t window, const Hooks& hooks) {
  if (window < 2)
    return invalid_argument("A window of {} tokens scores nothing (at least 2).", window);
  const uint64_t windows = tokens.size() / window;
  if (windows == 0)
    return invalid_argument("The text has {} tokens (a window needs {}).", tokens.size(), window);
  Perplexity report{.windows = windows};
  double nll_sum = 0;
  for (uint64_t i = 0; i < windows; ++i) {
    const auto part = tokens.subspan(i * window, window);
    QUALIA_TRY(check_tokens(engine, part));
    QUALIA_TRY(engine.score(part, 0, RowOutputKind::logits,
                            [&](uint32_t position, const RowOutput& output) -> Result<void> {
                              if (hooks.cancel && hooks.cancel())
                                return cancelled("Perplexity is cancelled after {} windows.", i);
                              QUALIA_TRY(check_finite(position, output));
                              report.argmax.push_back(output.argmax);
                              if (hooks.progress)
                                hooks.progress(i * window + position + 1, windows * window);
                              // The last position predicts a token that lies outside the window.
                              if (position + 1 == window) return {};
                              const auto next = static_cast<size_t>(part[position + 1]);
                              nll_sum += logsumexp(output.logits) - output.logits[next];
                              return {};
                            }));
  }
  report.tokens = windows * (window - 1);
  report.mean_nll = nll_sum / static_cast<double>(report.tokens);
  return report;
}

}  // namespace qualia::engine
