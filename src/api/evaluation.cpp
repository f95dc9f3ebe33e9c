// Model's measuring members: logits, perplexity, bench.

#include <algorithm>

#include "api/model_state.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "engine/evaluation.h"
#include "hardware/memory.h"
#include "profile/report.h"
#include "qualia/model.h"

namespace qualia {
namespace {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

// Bytes per second that a lane on the host can read at most, measured with the same threads. 0: the
// lane's memory is not the host's.
double measure_ceiling(const Model::State& state) {
  if (state.path.lane != "cpu" && state.path.lane != "reference")
    return state.engine->lane().measure_read_bandwidth().value_or(0.0);
  ThreadPool pool(state.thread_count);
  return hardware::measure_read_bandwidth(pool);
}

ProfileReport make_report(const engine::ProfiledRun& run, const ProfileOptions& options,
                          const Model::State& state, double ceiling_bytes_per_s) {
  profile::RunFacts facts{.circuit = state.path.winning_circuit,
                          .options = options,
                          .steps = run.steps,
                          .wall_ns = run.wall_ns,
                          .read_bytes_per_s = std::nullopt,
                          .granularity = std::string(run.reading.granularity)};
  if (ceiling_bytes_per_s > 0) facts.read_bytes_per_s = ceiling_bytes_per_s;
  return profile::make_report(run.reading.totals, facts);
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
                                       .repetitions = options.repetitions,
                                       .is_profiled = options.profile || state_->profile_is_asked},
                                      {.progress = progress, .cancel = cancel}));
  const double ceiling = measure_ceiling(*state_);
  std::vector<BenchRow> summary;
  for (const engine::SpeedRow& row : rows) {
    BenchRow& shown = summary.emplace_back(summarise(row, ceiling));
    if (row.profile_error) shown.profile_lacks = row.profile_error->message;
    if (!row.profile) continue;
    const bool is_prompt = row.test.starts_with("pp");
    const ProfileOptions profiled{
        .tokens = is_prompt ? 0 : options.generated_tokens * options.sequences,
        .depth = options.depth,
        .prompt_tokens = is_prompt ? options.prompt_tokens : 0};
    shown.profile = make_report(*row.profile, profiled, *state_, ceiling);
  }
  return summary;
}

Result<ProfileReport> Model::profile(const ProfileOptions& options,
                                     const std::function<void(uint64_t, uint64_t)>& progress,
                                     const std::function<bool()>& cancel) const {
  const std::lock_guard lock(state_->engine_mutex);
  QUALIA_ASSIGN(const engine::ProfiledRun run,
                engine::measure_profile(*state_->engine,
                                        {.prompt_tokens = options.prompt_tokens,
                                         .generated_tokens = options.tokens,
                                         .depth = options.depth,
                                         .every = options.every},
                                        {.progress = progress, .cancel = cancel}));
  return make_report(run, options, *state_, measure_ceiling(*state_));
}

}  // namespace qualia
