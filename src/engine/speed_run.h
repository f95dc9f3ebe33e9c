// SpeedRun: one timed run on sequences of its own, for benches and profiles.
// Thread-safety: as the engine it runs on: one caller at a time.
// Random tokens, the same every time. Errors: cancelled, and those of the lane; what was recorded
// until then is dropped, and the lane's profiling is off again.
#pragma once

#include <deque>
#include <functional>
#include <random>

#include "engine/evaluation.h"

namespace qualia::engine {

class SpeedRun {
 public:
  // `depth`: positions that each sequence has before its time starts.
  SpeedRun(Engine& engine, uint32_t depth, const Hooks& hooks)
      : engine_(engine), depth_(depth), hooks_(hooks) {}

  // What the lane records of later runs.
  void set_profiling(const lanes::ProfileOptions& options) { profiling_ = options; }
  // Of the last run.
  const ProfiledRun& profiled() const { return profiled_; }

  Result<double> prefill_seconds(uint32_t count);
  Result<double> decode_seconds(uint32_t count, uint32_t sequence_count);
  // One sequence that does both.
  Result<double> reply_seconds(uint32_t prompt_tokens, uint32_t generated_tokens);

 private:
  using Sequences = std::deque<ScopedSequence>;
  using Body = std::function<Result<void>(Sequences& sequences)>;

  Result<double> timed(uint32_t sequence_count, const Body& body);
  Result<double> recorded(Sequences& sequences, const Body& body);
  Result<void> check_cancel() const;
  TokenId any_token();
  Result<void> decode(Sequences& sequences, uint32_t count);
  Result<lanes::StepTicket> queue_step(Sequences& sequences, bool is_first);
  Result<void> feed(KvCache::Handle sequence, uint32_t count, lanes::RowOutputKind last);

  Engine& engine_;
  uint32_t depth_;
  const Hooks& hooks_;
  std::mt19937 random_{1};  // the same tokens every time
  lanes::ProfileOptions profiling_;
  ProfiledRun profiled_;
  uint64_t steps_ = 0;  // so far
};

}  // namespace qualia::engine
