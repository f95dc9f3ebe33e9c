// A model loaded on a GPU through wgpu.
// Thread-safety: one owner, one thread at a time.
// submit() encodes a step and hands it to the GPU; collect() waits for its results, which are
// copied to a buffer of the host's at the end of the step. Steps run in order, so that several may
// be queued, each taking its token from the one before.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "lanes/lane.h"
#include "lanes/wgpu/kv_pages.h"
#include "lanes/wgpu/layers.h"
#include "lanes/wgpu/step_input.h"
#include "lanes/wgpu/timestamps.h"

namespace qualia::lanes::wgpu {

struct WgpuModelOptions {
  CircuitInfo circuit;
  Precision precision = Precision::fast;
  KvType kv = KvType::int8;
  Toggles toggles;
};

class WgpuModel final : public LaneModel {
 public:
  // REQUIRES: check_spec passed and `weights` were loaded for `spec`.
  static Result<std::unique_ptr<WgpuModel>> create(std::unique_ptr<Device> device,
                                                   ops::DecoderSpec spec, Weights weights,
                                                   const WgpuModelOptions& options);
  ~WgpuModel() override;

  const ResidentReport& resident() const override { return resident_; }
  Result<void> reserve_pages(uint32_t page_count) override;
  Result<void> copy_page(PageId from, PageId to) override;
  Result<StepTicket> submit(const Batch& batch) override;
  Result<StepOutput> collect(StepTicket ticket) override;
  Result<void> set_profiling(const ProfileOptions& options) override;
  Result<ProfileReading> profile() override;
  Result<double> measure_read_bandwidth() override;

  // wgpu calls since the model was loaded.
  struct CallCounts {
    uint64_t dispatches = 0;
    uint64_t passes = 0;
    uint64_t submits = 0;
    uint64_t maps = 0;
    uint64_t writes = 0;
  };
  const CallCounts& calls() const { return calls_; }

 private:
  // Where in the readback buffer an output's parts lie.
  struct OutputPlace {
    RowOutputKind kind = RowOutputKind::argmax;
    uint64_t logits_at = 0;
    uint64_t top_at = 0;
    uint32_t top_count = 0;
  };
  struct Pending {
    StepTicket ticket = 0;
    Buffer readback;
    uint64_t readback_capacity = 0;
    uint64_t readback_bytes = 0;
    std::shared_ptr<const MapState> map{};
    std::vector<OutputPlace> outputs;
    std::unique_ptr<StepTimer> timer;
  };

  WgpuModel(std::unique_ptr<Device> device, ops::DecoderSpec spec, Weights weights,
            const WgpuModelOptions& options);
  Result<void> plan_outputs(const Batch& batch, Pending& pending) const;
  Result<Buffer> take_readback(uint64_t size_bytes, uint64_t& capacity);
  Result<void> add_outputs(const Batch& batch, const StepInput& input, uint32_t first_result,
                           const Pending& pending, std::vector<Command>& commands);
  Result<void> run(const std::vector<Command>& commands, StepTimer* timer);
  Result<std::unique_ptr<StepTimer>> take_timer(size_t command_count);
  void encode(const std::vector<Command>& commands, WGPUCommandEncoder encoder, StepTimer* timer);
  StepOutput read(const Pending& pending) const;

  std::unique_ptr<Device> device_;
  ops::DecoderSpec spec_;
  Weights weights_;
  KvPages pages_;
  profile::Recorder recorder_;
  std::unique_ptr<Layers> layers_;
  ResidentReport resident_;
  Toggles toggles_;
  Precision precision_;
  std::deque<Pending> pending_;
  std::vector<Pending> failed_;  // whose callback may still come
  std::vector<std::pair<uint64_t, Buffer>> free_readbacks_;
  std::vector<std::unique_ptr<StepTimer>> free_timers_;
  StepTicket next_ticket_ = 1;
  uint32_t parity_ = 0;           // results buffer of the last step
  size_t last_output_count_ = 0;  // of the last step, for feedback
  ProfileOptions profiling_;
  uint64_t step_count_ = 0;
  CallCounts calls_;
};

}  // namespace qualia::lanes::wgpu
