// Timestamps around GPU passes and dispatches: the profiler of one device.
// Thread-safety: one owner, one thread at a time.
// Two ways of use. Serialised, for one kernel at a time: pass_writes_both() (or begin, end) into
// the pass's descriptor, resolve() after the pass, accumulate() after the submission. Ring, for
// whole steps: a StepTimer takes a stamp between dispatches, resolves them in bulk and is read
// when its step is collected, so that nothing ever waits for it.
// enabled() is true only if it was asked for and the device negotiated timestamps; otherwise
// nothing happens, no query set is made, and every pass is encoded as without a profiler.
// Errors: none; a sample that is missing or runs backwards is dropped and counted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lanes/wgpu/commands.h"
#include "lanes/wgpu/device.h"
#include "profile/recorder.h"
#include "profile/ticks.h"

namespace qualia::lanes::wgpu {

class GpuProfiler {
 public:
  // `asked_by_environment`: QUALIA_LLM_GPU_PROFILE, which set_enabled(false) does not cancel.
  GpuProfiler(Device& device, bool asked_by_environment);

  void set_enabled(bool is_enabled) { is_asked_ = is_enabled; }
  bool enabled() const;
  // Why not, for people; empty where it is or could be.
  std::string unavailable_reason() const;

  // The pass descriptor's timestamp writes, or none. They live until the next call.
  const WGPUPassTimestampWrites* pass_writes_both();
  const WGPUPassTimestampWrites* pass_writes_begin();
  const WGPUPassTimestampWrites* pass_writes_end();
  // After the pass, before the encoder is finished.
  void resolve(WGPUCommandEncoder encoder);
  // After the submission: waits for it and adds its time to the phase as one call.
  void accumulate(Phase phase);

  std::array<PhaseTotal, kPhaseCount> snapshot() const { return recorder_.snapshot().phases; }
  uint64_t dropped() const { return recorder_.snapshot().dropped; }
  void reset() { recorder_.reset(); }
  bool any_recorded() const { return recorder_.any_recorded(); }

 private:
  bool prepare();
  const WGPUPassTimestampWrites* writes(uint32_t begin, uint32_t end);

  Device& device_;
  bool asked_by_environment_;
  bool is_asked_ = false;
  profile::Recorder recorder_;
  std::optional<QuerySet> queries_;
  Buffer resolved_;
  Buffer readback_;
  WGPUPassTimestampWrites writes_ = WGPU_PASS_TIMESTAMP_WRITES_INIT;
};

// Stamps of one step, in as many query sets as it needs.
class StepTimer {
 public:
  // WebGPU's largest query set.
  static constexpr uint32_t kQueriesPerSet = 4096;

  // Errors: as Device; the step then runs unprofiled.
  static Result<std::unique_ptr<StepTimer>> create(Device& device, uint32_t stamp_count);

  uint32_t capacity() const { return capacity_; }
  void clear();
  // Inside a pass, before the dispatch whose op and cost follow.
  void stamp(WGPUComputePassEncoder pass);
  // As two stamps of a pass of its own, where the device can't stamp inside passes.
  const WGPUPassTimestampWrites* pass_writes();
  void add_call(uint32_t op, const profile::Cost& cost, uint32_t begin, uint32_t end);
  // Of a later dispatch in the pass of the last call.
  void add_cost(const profile::Cost& cost);
  uint32_t stamp_count() const { return used_; }
  // After the last pass, before the encoder is finished.
  void resolve(WGPUCommandEncoder encoder);
  void map();
  bool is_ready() const { return map_ && map_->is_done; }
  // Adds what was read to `recorder`, as one step.
  void read(profile::Recorder& recorder);

 private:
  StepTimer(Device& device, uint32_t capacity) : device_(device), capacity_(capacity) {}
  struct Call {
    uint32_t op;
    uint32_t begin;
    uint32_t end;
    profile::Cost cost;
  };

  Device& device_;
  uint32_t capacity_;
  uint32_t used_ = 0;
  std::vector<QuerySet> sets_;
  Buffer resolved_;
  Buffer readback_;
  std::shared_ptr<const MapState> map_;
  std::vector<Call> calls_;
  WGPUPassTimestampWrites writes_ = WGPU_PASS_TIMESTAMP_WRITES_INIT;
};

}  // namespace qualia::lanes::wgpu
