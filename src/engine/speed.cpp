#include "base/error.h"
#include "engine/evaluation.h"
#include "engine/speed_run.h"

namespace qualia::engine {
namespace {

std::string test_name(const char* kind, uint32_t count, uint32_t depth) {
  return depth > 0 ? fmt::format("{}{} @ d{}", kind, count, depth)
                   : fmt::format("{}{}", kind, count);
}

uint64_t kv_bytes_read(const lanes::ResidentReport& resident, double positions) {
  return static_cast<uint64_t>(static_cast<double>(resident.kv_page_bytes) / lanes::kPagePositions *
                               positions);
}

// Why the lane's steps can't be recorded, if so; later runs are.
std::optional<Error> start_profiling(Engine& engine, SpeedRun& run) {
  // A GPU's clock costs a third of a step's speed, so that a ring of one step in 64 costs 1 %
  // (measured on an H200); a host's costs nothing to speak of.
  const lanes::ProfileOptions on{.is_on = true,
                                 .every = engine.lane().resident().computes_in_submit ? 1U : 64U};
  if (const auto started = engine.lane().set_profiling(on); !started) return started.error();
  (void)engine.lane().set_profiling({});  // each run starts it after its depth
  run.set_profiling(on);
  return std::nullopt;
}

template <typename Measure>
Result<SpeedRow> repeat(SpeedRow row, uint32_t count, const SpeedOptions& options,
                        const std::function<void()>& after_run, const Measure& measure) {
  for (uint32_t i = 0; i <= options.repetitions; ++i) {
    QUALIA_ASSIGN(const double seconds, measure());
    if (i > 0) row.tok_s.push_back(count / seconds);  // the first run warms up
    after_run();
  }
  return row;
}

}  // namespace

Result<std::vector<SpeedRow>> measure_speed(Engine& engine, const SpeedOptions& options,
                                            const Hooks& hooks) {
  if (options.repetitions == 0)
    return invalid_argument("A bench needs at least one repetition (0).");
  if (options.sequences == 0 || options.sequences > kSpeedSequencesMax)
    return invalid_argument("A bench of {} sequences is not possible (1 to {}).", options.sequences,
                            kSpeedSequencesMax);
  const uint64_t deepest =
      uint64_t{options.depth} + std::max(options.prompt_tokens, options.generated_tokens);
  if (deepest > engine.limits().context)
    return invalid_argument("The bench needs {} positions (the context has {}).", deepest,
                            engine.limits().context);
  const lanes::ResidentReport& resident = engine.lane().resident();
  SpeedRun run(engine, options.depth, hooks);
  std::optional<Error> profile_error;
  if (options.is_profiled) profile_error = start_profiling(engine, run);
  const bool is_profiled = options.is_profiled && !profile_error;
  const uint64_t tests =
      (options.prompt_tokens > 0 ? 1U : 0U) + (options.generated_tokens > 0 ? 1U : 0U);
  uint64_t runs_done = 0;
  const auto after_run = [&] {
    if (hooks.progress) hooks.progress(++runs_done, tests * (uint64_t{options.repetitions} + 1));
  };
  std::vector<SpeedRow> rows;
  const auto add = [&](SpeedRow row) {
    if (is_profiled) row.profile = run.profiled();
    row.profile_error = profile_error;
    rows.push_back(std::move(row));
  };
  if (const uint32_t count = options.prompt_tokens; count > 0) {
    const uint32_t batches = (count + resident.batch_rows - 1) / resident.batch_rows;
    SpeedRow row{.test = test_name("pp", count, options.depth)};
    row.bytes_per_token = resident.step_weight_bytes * batches / count;
    QUALIA_ASSIGN(row, repeat(std::move(row), count, options, after_run,
                              [&] { return run.prefill_seconds(count); }));
    add(std::move(row));
  }
  if (const uint32_t count = options.generated_tokens; count > 0) {
    const uint32_t sequences = options.sequences;
    SpeedRow row{.test = test_name("tg", count, options.depth)};
    if (sequences > 1) row.test += fmt::format(" x{}", sequences);
    row.bytes_per_token = resident.step_weight_bytes / sequences +
                          kv_bytes_read(resident, options.depth + (count + 1) / 2.0);
    QUALIA_ASSIGN(row, repeat(std::move(row), count * sequences, options, after_run,
                              [&] { return run.decode_seconds(count, sequences); }));
    add(std::move(row));
  }
  return rows;
}

Result<ProfiledRun> measure_profile(Engine& engine, const ProfileRunOptions& options,
                                    const Hooks& hooks) {
  // Enough to warm caches and what a lane makes at its first steps.
  constexpr uint32_t kWarmUpTokens = 4;
  if (options.prompt_tokens == 0 && options.generated_tokens == 0)
    return invalid_argument("A profile needs at least one token (0).");
  const uint64_t positions =
      uint64_t{options.depth} + options.prompt_tokens + options.generated_tokens;
  if (positions > engine.limits().context)
    return invalid_argument("The profile needs {} positions (the context has {}).", positions,
                            engine.limits().context);
  QUALIA_TRY(
      SpeedRun(engine, 0, hooks)
          .reply_seconds(options.prompt_tokens, std::min(options.generated_tokens, kWarmUpTokens)));
  if (hooks.progress) hooks.progress(1, 2);
  SpeedRun run(engine, options.depth, hooks);
  run.set_profiling({.is_on = true, .every = options.every});
  QUALIA_TRY(run.reply_seconds(options.prompt_tokens, options.generated_tokens));
  if (hooks.progress) hooks.progress(2, 2);
  return run.profiled();
}

}  // namespace qualia::engine
