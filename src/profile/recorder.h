// Recorder: sums the time of a lane's ops, per op and per phase, step by step.
// Thread-safety: one owner.
// Times are nanoseconds of one clock per step; only differences of the same step are used.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qualia/profile.h"

namespace qualia::profile {

// What one call of an op reads from memory, and its multiply-adds, by its shapes.
struct Cost {
  uint64_t bytes = 0;
  uint64_t multiply_adds = 0;
};

struct OpTotal {
  std::string name{};
  Phase phase = Phase::gemm;
  uint64_t total_ns = 0;
  uint64_t calls = 0;
  Cost cost{};  // of all calls together
};

// One call, for a trace. Times count from the first begin of its step.
struct Span {
  uint32_t op = 0;  // index into Snapshot::ops
  uint64_t step = 0;
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
};

struct Snapshot {
  std::array<PhaseTotal, kPhaseCount> phases{};
  std::vector<OpTotal> ops{};
  std::vector<Span> spans{};  // of the first calls, at most kSpansMax
  uint64_t steps = 0;         // that were recorded
  uint64_t busy_ns = 0;       // from the first begin to the last end of each step, summed
  uint64_t dropped = 0;       // samples that were missing or ran backwards

  const PhaseTotal& operator[](Phase phase) const { return phases[static_cast<size_t>(phase)]; }
  uint64_t attributed_ns() const;
};

// A trace of some hundred tokens; a longer run keeps its sums alone.
inline constexpr size_t kSpansMax = 200'000;

class Recorder {
 public:
  // The index of the op of this name, which is new or has the same phase.
  uint32_t op(std::string_view name, Phase phase);

  // A call of `op`. Backwards (end before begin) or missing (an end of 0, and a begin of 0 with it
  // or not) counts as dropped and as no call.
  void add(uint32_t op, uint64_t begin_ns, uint64_t end_ns, const Cost& cost = {});
  void drop(uint64_t count = 1) { totals_.dropped += count; }
  void end_step();

  Snapshot snapshot() const { return totals_; }
  void reset();  // keeps the ops, clears every sum
  bool any_recorded() const;

 private:
  Snapshot totals_;
  uint64_t step_begin_ns_ = 0;
  uint64_t step_end_ns_ = 0;
  bool step_has_calls_ = false;
};

}  // namespace qualia::profile
