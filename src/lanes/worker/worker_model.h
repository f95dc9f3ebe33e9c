// A model that lives in a worker: forwards every call, numbers the steps itself, so that submit()
// waits for nothing, and sends of a page table only what has changed.
// Thread-safety: see lanes/lane.h.
// Errors: device_lost once the worker is lost; an error of a step comes with its collect().
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "lanes/lane.h"
#include "lanes/worker/block_pool.h"
#include "lanes/worker/link.h"

namespace qualia::lanes::worker {

class WorkerModel final : public LaneModel {
 public:
  WorkerModel(std::unique_ptr<Link> link, ResidentReport resident, uint32_t vocabulary_size);

  const ResidentReport& resident() const override { return resident_; }
  Result<void> reserve_pages(uint32_t page_count) override;
  Result<void> copy_page(PageId from, PageId to) override;
  Result<StepTicket> submit(const Batch& batch) override;
  Result<StepOutput> collect(StepTicket ticket) override;
  Result<void> set_profiling(const ProfileOptions& options) override;
  Result<ProfileReading> profile() override;
  Result<double> measure_read_bandwidth() override;

  pid_t worker_id() const { return link_->process_id(); }

 private:
  struct Pending {  // a step whose output has not come
    StepTicket ticket;
    size_t output_count;
    uint32_t block;
  };

  // Asks the worker and waits; outputs that come first are kept.
  template <typename T>
  Result<Bytes> request(const T& message) {
    return link_->request(message, link_->options().step_silence_max,
                          [this](const Frame& frame) { return take_output(frame); });
  }
  std::vector<TableChange> change_tables(const Batch& batch);
  Result<uint32_t> take_block(const Batch& batch);
  Result<void> take_output(const Frame& frame);
  Result<StepOutput> read_output(const Pending& step, const Output& output) const;

  std::unique_ptr<Link> link_;
  ResidentReport resident_;
  uint32_t vocabulary_size_;
  std::vector<std::vector<PageId>> tables_;  // by place in the batch, as the worker knows them
  BlockPool blocks_;
  StepTicket next_ticket_ = 1;
  std::deque<Pending> pending_;
  std::deque<std::pair<StepTicket, Result<StepOutput>>> outputs_;  // come, not collected
  std::string granularity_;                                        // that readings refer to
};

}  // namespace qualia::lanes::worker
