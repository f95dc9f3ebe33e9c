// Evaluation: logits, perplexity and speed of a resident model.
// Thread-safety: as the engine they run on: one caller at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "lanes/lane.h"
#include "qualia/result.h"

namespace qualia::engine {

struct ScoredPosition {
  uint32_t position = 0;
  std::vector<TokenLogit> top{};  // best first, lower id first among equals
  double logsumexp = 0;           // natural logarithm, over the whole vocabulary
};

// The `top` best logits after each of the last `last` tokens. Errors: invalid_argument, numeric.
Result<std::vector<ScoredPosition>> evaluate_logits(Engine& engine, std::span<const TokenId> tokens,
                                                    uint32_t last, uint32_t top);

struct Perplexity {
  uint64_t tokens = 0;  // scored
  uint64_t windows = 0;
  double mean_nll = 0;
  std::vector<TokenId> argmax{};  // at every position of every window, in order
};

struct Hooks {
  std::function<void(uint64_t done, uint64_t total)> progress;  // may be empty
  std::function<bool()> cancel;                                 // may be empty
};

// Non-overlapping windows of `window` tokens, every position but the first scored, a trailing
// partial window dropped. Progress in positions; cancel is polled at each.
// Errors: invalid_argument when no window is full; cancelled.
Result<Perplexity> evaluate_perplexity(Engine& engine, std::span<const TokenId> tokens,
                                       uint32_t window, const Hooks& hooks);

inline constexpr uint32_t kSpeedSequencesMax = 1024;

struct SpeedOptions {
  uint32_t prompt_tokens = 512;     // 0: no such test
  uint32_t generated_tokens = 128;  // 0: no such test
  uint32_t depth = 0;
  uint32_t sequences = 1;  // that decode side by side, a row of each in a step
  uint32_t repetitions = 5;
  bool is_profiled = false;
};

// What a lane recorded during a run, and the run around it.
struct ProfiledRun {
  lanes::ProfileReading reading{};
  uint64_t steps = 0;  // recorded or not
  uint64_t wall_ns = 0;
};

struct SpeedRow {
  std::string test;             // "pp512", "tg128 @ d4096", as llama-bench does; "tg128 x8"
  std::vector<double> tok_s{};  // one per repetition, in order
  uint64_t bytes_per_token = 0;
  // Of the last repetition, where the bench is profiled and the lane can.
  std::optional<ProfiledRun> profile{};
  std::optional<Error> profile_error{};  // why it can't
};

// Random tokens, warmed up once per test; with a depth, that many positions are computed first and
// not timed. Progress in runs, outside the timed part; cancel is polled before each batch.
// Errors: invalid_argument when depth + tokens exceed the context; cancelled.
Result<std::vector<SpeedRow>> measure_speed(Engine& engine, const SpeedOptions& options,
                                            const Hooks& hooks);

struct ProfileRunOptions {
  uint32_t prompt_tokens = 0;
  uint32_t generated_tokens = 32;
  uint32_t depth = 0;
  uint32_t every = 1;  // records one step in `every`
};

// One sequence: `depth` positions, then, recorded, the prompt and the tokens, decoded as in a
// bench. A short run warms up. Progress in these two runs.
// Errors: as measure_speed(); unsupported with the reason where the lane can't record.
Result<ProfiledRun> measure_profile(Engine& engine, const ProfileRunOptions& options,
                                    const Hooks& hooks);

}  // namespace qualia::engine
