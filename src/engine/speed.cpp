#include <chrono>
#include <deque>
#include <random>

#include "base/error.h"
#include "engine/evaluation.h"

namespace qualia::engine {
namespace {

using lanes::Row;
using lanes::RowOutputKind;

// One timed run on sequences of its own: `depth` positions each, then the test.
class SpeedRun {
 public:
  SpeedRun(Engine& engine, uint32_t depth, const Hooks& hooks)
      : engine_(engine), depth_(depth), hooks_(hooks) {}

  Result<double> prefill_seconds(uint32_t count) {
    return timed(
        1, [&](auto& sequences) { return feed(*sequences.front(), count, RowOutputKind::argmax); });
  }

  Result<double> decode_seconds(uint32_t count, uint32_t sequence_count) {
    return timed(sequence_count, [&](auto& sequences) -> Result<void> {
      for (uint32_t i = 0; i < count; ++i) QUALIA_TRY(step(sequences));
      return {};
    });
  }

 private:
  using Sequences = std::deque<ScopedSequence>;

  template <typename Body>
  Result<double> timed(uint32_t sequence_count, const Body& body) {
    Sequences sequences;
    for (uint32_t i = 0; i < sequence_count; ++i) {
      sequences.emplace_back(engine_.cache());
      QUALIA_TRY(feed(*sequences.back(), depth_, RowOutputKind::none));
    }
    const auto start = std::chrono::steady_clock::now();
    QUALIA_TRY(body(sequences));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  Result<void> check_cancel() const {
    if (hooks_.cancel && hooks_.cancel()) return cancelled("The bench is cancelled.");
    return {};
  }

  TokenId any_token() {
    return std::uniform_int_distribution<TokenId>(
        0, static_cast<TokenId>(engine_.limits().vocabulary_size - 1))(random_);
  }

  // A random token for each sequence, all in one step.
  Result<void> step(Sequences& sequences) {
    QUALIA_TRY(check_cancel());
    std::vector<Row> rows;
    std::vector<lanes::SequenceView> views;
    for (const ScopedSequence& scoped : sequences) {
      const KvCache::Handle sequence = *scoped;
      QUALIA_TRY(engine_.cache().make_room(sequence, 1));
      rows.push_back({.token = any_token(),
                      .sequence = static_cast<uint32_t>(views.size()),
                      .position = static_cast<uint32_t>(sequence->tokens.size()),
                      .output = RowOutputKind::argmax});
      views.push_back({.pages = sequence->pages});
    }
    QUALIA_TRY(engine_.lane().forward({.rows = rows, .sequences = views}));
    for (size_t i = 0; i < rows.size(); ++i) {
      engine_.cache().append(*sequences[i], std::span(&rows[i].token, 1));
    }
    return {};
  }

  // `count` random tokens in batches; the last row has output `last`.
  Result<void> feed(KvCache::Handle sequence, uint32_t count, RowOutputKind last) {
    while (count > 0) {
      QUALIA_TRY(check_cancel());
      const uint32_t part = std::min(count, engine_.lane().resident().batch_rows);
      count -= part;
      std::vector<TokenId> tokens(part);
      std::vector<Row> rows(part);
      const auto begin = static_cast<uint32_t>(sequence->tokens.size());
      for (uint32_t i = 0; i < part; ++i) {
        tokens[i] = any_token();
        rows[i] = {.token = tokens[i], .position = begin + i};
      }
      if (count == 0) rows.back().output = last;
      QUALIA_TRY(engine_.cache().make_room(sequence, part));
      const lanes::SequenceView view{.pages = sequence->pages};
      QUALIA_TRY(engine_.lane().forward({.rows = rows, .sequences = std::span(&view, 1)}));
      engine_.cache().append(sequence, tokens);
    }
    return {};
  }

  Engine& engine_;
  uint32_t depth_;
  const Hooks& hooks_;
  std::mt19937 random_{1};  // the same tokens every time
};

std::string test_name(const char* kind, uint32_t count, uint32_t depth) {
  return depth > 0 ? fmt::format("{}{} @ d{}", kind, count, depth)
                   : fmt::format("{}{}", kind, count);
}

uint64_t kv_bytes_read(const lanes::ResidentReport& resident, double positions) {
  return static_cast<uint64_t>(static_cast<double>(resident.kv_page_bytes) / lanes::kPagePositions *
                               positions);
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
    return invalid_argument("A bench of {} sequences is not possible (1 to {}).",
                            options.sequences, kSpeedSequencesMax);
  const uint64_t deepest =
      uint64_t{options.depth} + std::max(options.prompt_tokens, options.generated_tokens);
  if (deepest > engine.limits().context)
    return invalid_argument("The bench needs {} positions (the context has {}).", deepest,
                            engine.limits().context);
  const lanes::ResidentReport& resident = engine.lane().resident();
  SpeedRun run(engine, options.depth, hooks);
  const uint64_t tests =
      (options.prompt_tokens > 0 ? 1U : 0U) + (options.generated_tokens > 0 ? 1U : 0U);
  uint64_t runs_done = 0;
  const auto after_run = [&] {
    if (hooks.progress) hooks.progress(++runs_done, tests * (uint64_t{options.repetitions} + 1));
  };
  std::vector<SpeedRow> rows;
  if (const uint32_t count = options.prompt_tokens; count > 0) {
    const uint32_t batches = (count + resident.batch_rows - 1) / resident.batch_rows;
    SpeedRow row{.test = test_name("pp", count, options.depth)};
    row.bytes_per_token = resident.step_weight_bytes * batches / count;
    QUALIA_ASSIGN(row, repeat(std::move(row), count, options, after_run,
                              [&] { return run.prefill_seconds(count); }));
    rows.push_back(std::move(row));
  }
  if (const uint32_t count = options.generated_tokens; count > 0) {
    const uint32_t sequences = options.sequences;
    SpeedRow row{.test = test_name("tg", count, options.depth)};
    if (sequences > 1) row.test += fmt::format(" x{}", sequences);
    row.bytes_per_token = resident.step_weight_bytes / sequences +
                          kv_bytes_read(resident, options.depth + (count + 1) / 2.0);
    QUALIA_ASSIGN(row, repeat(std::move(row), count * sequences, options, after_run,
                              [&] { return run.decode_seconds(count, sequences); }));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace qualia::engine
