// A model loaded on the reference lane.
// Thread-safety: one owner, one call at a time; a step runs on all threads of the model's pool.
// submit() computes the step before it returns; collect() hands its output out.
#pragma once

#include "base/thread_pool.h"
#include "lanes/lane.h"
#include "lanes/reference/kv_pages.h"
#include "lanes/reference/weights.h"
#include "lanes/reference/workspace.h"
#include "lanes/stage_clock.h"
#include "lanes/step_queue.h"

namespace qualia::lanes::reference {

class ReferenceModel final : public LaneModel {
 public:
  // REQUIRES: check_spec passed and `weights` were loaded for `spec`.
  ReferenceModel(ops::DecoderSpec spec, Weights weights, CircuitInfo circuit, size_t thread_count);

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
  StepOutput run(const Batch& batch);

  ops::DecoderSpec spec_;
  Weights weights_;
  KvPages pages_;
  ThreadPool pool_;
  Workspace work_;
  ResidentReport resident_;
  StepQueue steps_;
  StageClock clock_;
};

}  // namespace qualia::lanes::reference
