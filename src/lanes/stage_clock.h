// StageClock: the profiler of lanes that compute on the host. One thread reads a monotonic clock
// where a stage of a step ends and the next begins, so that the stages leave no time out.
// Thread-safety: one owner; the calls of a step come from one thread at a time.
// Off, a step has no clock to read: begin_step() tells.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lanes/lane.h"
#include "profile/recorder.h"

namespace qualia::lanes {

// Work between two barriers of a step, an op of the report each. Norms, quantisation and residuals
// count to the product that they feed; the angles of RoPE are made during the lookup.
enum class Stage : uint8_t { embedding, qkv, attend, attention_output, gate_up, down, output };

uint64_t steady_clock_ns();

class StageClock {
 public:
  using Now = std::function<uint64_t()>;
  // What a stage reads and computes; `index` is what end_stage() had.
  using CostOf = std::function<profile::Cost(Stage stage, uint32_t index)>;

  explicit StageClock(Now now = steady_clock_ns);

  // Clears what was recorded.
  void set(const ProfileOptions& options);
  ProfileReading reading() const { return {recorder_.snapshot(), "each stage"}; }

  // False: this step is not recorded, and nothing more is to be called. The first stage begins
  // here. Throws std::bad_alloc.
  bool begin_step(size_t stage_count);
  // The stage that began where the previous one ended is done. `index`: the layer, or which part of
  // the outputs.
  void end_stage(Stage stage, size_t index);
  void end_step(const CostOf& cost_of);

 private:
  struct Mark {
    Stage stage;
    uint32_t index;
    uint64_t end_ns;
  };

  Now now_;
  ProfileOptions options_;
  uint64_t step_count_ = 0;
  uint64_t step_begin_ns_ = 0;
  std::vector<Mark> marks_;  // of the step that runs
  profile::Recorder recorder_;
};

// Stages of a step: the embedding, five a layer, and one for each part of the outputs.
constexpr size_t stage_count(size_t layer_count, size_t output_parts) {
  return 1 + 5 * layer_count + output_parts;
}

}  // namespace qualia::lanes
