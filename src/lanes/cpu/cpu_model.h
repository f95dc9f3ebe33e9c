// A model loaded on the CPU lane.
// Thread-safety: one owner, one call at a time; a step runs on all threads of the model's team.
// submit() computes the step before it returns; collect() hands its output out.
#pragma once

#include <memory>

#include "lanes/cpu/kernels.h"
#include "lanes/cpu/kv_pages.h"
#include "lanes/cpu/team.h"
#include "lanes/cpu/weights.h"
#include "lanes/cpu/workspace.h"
#include "lanes/lane.h"
#include "lanes/stage_clock.h"
#include "lanes/step_queue.h"

namespace qualia::lanes::cpu {

struct CpuModelOptions {
  CircuitInfo circuit;
  Precision precision = Precision::fast;
  KvType kv = KvType::int8;  // never automatic
  Isa isa = Isa::portable;
  const Kernels* kernels = nullptr;
};

class CpuModel final : public LaneModel {
 public:
  // REQUIRES: check_spec passed and `weights` were loaded for `spec` and the options.
  CpuModel(ops::DecoderSpec spec, Weights weights, std::unique_ptr<Team> team,
           const CpuModelOptions& options);

  const ResidentReport& resident() const override { return resident_; }
  Result<void> reserve_pages(uint32_t page_count) override { return pages_.reserve(page_count); }
  Result<void> copy_page(PageId from, PageId to) override;
  Result<StepTicket> submit(const Batch& batch) override;
  Result<StepOutput> collect(StepTicket ticket) override;
  Result<void> set_profiling(const ProfileOptions& options) override;
  Result<ProfileReading> profile() override { return clock_.reading(); }

 private:
  void resolve_tokens(const Batch& batch);
  void resolve_pages(const Batch& batch);
  StepOutput make_output(const Batch& batch);
  Result<StepOutput> run(const Batch& batch);

  ops::DecoderSpec spec_;
  Weights weights_;
  std::unique_ptr<Team> team_;
  const Kernels* kernels_;
  KvPages pages_;
  Workspace work_;
  ResidentReport resident_;
  StepQueue steps_;
  StageClock clock_;
};

// Prompt rows that take about a quarter of a second.
uint32_t batch_rows(uint64_t multiply_adds, Isa isa, Precision precision, size_t thread_count);

}  // namespace qualia::lanes::cpu
