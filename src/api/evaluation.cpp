// Model's measuring members: logits, perplexity, bench.

#include <algorithm>

#include "api/model_state.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "engine/evaluation.h"
#include "hardware/memory.h"
#include "qualia/model.h"

namespace qualia {
namespace {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

BenchRow summarise(const engine::SpeedRow& row, double ceiling_bytes_per_s) {
  BenchRow summary{.test = row.test,
                   .tok_s_median = median(row.tok_s),
                   .tok_s_min = std::ranges::min(row.tok_s),
                   .tok_s_max = std::ranges::max(row.tok_s),
                   .runs = static_cast<uint32_t>(row.tok_s.size()),
                   .bytes_per_token = row.bytes_per_token,
                   .gb_per_s = 0,
                   .ceiling_share = std::nullopt};
  const double bytes_per_s = static_cast<double>(row.bytes_per_token) * summary.tok_s_median;
  summary.gb_per_s = bytes_per_s / 1e9;
  if (ceiling_bytes_per_s > 0) summary.ceiling_share = bytes_per_s / ceiling_bytes_per_s;
  return summary;
}

}  // namespace

Result<std::vector<PositionLogits>> Model::logits(std::span<const TokenId> tokens, uint32_t last,
                                                  uint32_t top) const {
  const std::lock_guard lock(state_->engine_mutex);
  QUALIA_ASSIGN(const std::vector<engine::ScoredPosition> scored,
                engine::evaluate_logits(*state_->engine, tokens, last, top));
  std::vector<PositionLogits> positions;
  for (const engine::ScoredPosition& from : scored) {
    PositionLogits& to = positions.emplace_back();
    to.position = from.position;
    to.logsumexp = from.logsumexp;
    for (const auto& [token, logit] : from.top) {
      to.top_ids.push_back(token);
      to.top_logits.push_back(logit);
    }
  }
  return positions;
}

Result<PerplexityReport> Model::perplexity(std::string_view text, uint32_t window,
                                           const std::function<void(uint64_t, uint64_t)>& progress,
                                           const std::function<bool()>& cancel) const {
  if (!state_->tokenizer) return tl::unexpected<Error>(*state_->tokenizer_error);
  const std::vector<TokenId> tokens = state_->tokenizer->encode(text);
  const std::lock_guard lock(state_->engine_mutex);
  QUALIA_ASSIGN(engine::Perplexity report,
                engine::evaluate_perplexity(*state_->engine, tokens, window, {progress, cancel}));
  return PerplexityReport{.tokens = report.tokens,
                          .windows = report.windows,
                          .mean_nll = report.mean_nll,
                          .perplexity = std::exp(report.mean_nll),
                          .argmax = std::move(report.argmax)};
}

Result<std::vector<BenchRow>> Model::bench(const BenchOptions& options,
                                           const std::function<void(uint64_t, uint64_t)>& progress,
                                           const std::function<bool()>& cancel) const {
  const std::lock_guard lock(state_->engine_mutex);
  QUALIA_ASSIGN(const std::vector<engine::SpeedRow> rows,
                engine::measure_speed(*state_->engine,
                                      {.prompt_tokens = options.prompt_tokens,
                                       .generated_tokens = options.generated_tokens,
                                       .depth = options.depth,
                                       .sequences = options.sequences,
                                       .repetitions = options.repetitions},
                                      {.progress = progress, .cancel = cancel}));
  // Host lanes are bound by the host's memory; it is measured with the same threads.
  ThreadPool pool(state_->thread_count);
  const double ceiling = hardware::measure_read_bandwidth(pool);
  std::vector<BenchRow> summary;
  for (const engine::SpeedRow& row : rows) summary.push_back(summarise(row, ceiling));
  return summary;
}

}  // namespace qualia
