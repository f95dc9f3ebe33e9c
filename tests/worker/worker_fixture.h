// Models in a worker process, for these tests.
// Thread-safety: one owner.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lanes/test_model.h"
#include "lanes/worker/worker_lane.h"
#include "lanes/worker/worker_model.h"

namespace qualia::lanes::worker {

inline WorkerOptions test_options(std::string lane) {
  const auto folder = std::filesystem::canonical("/proc/self/exe").parent_path();
  return {.helper_program = folder / "qualia_worker_test_helper",
          .lane_name = std::move(lane),
          .build_id = "test build"};
}

// The random decoder of lanes/test_model.h on the reference lane, in a worker.
class TestModel : public lanes::TestModel {
 public:
  using lanes::TestModel::TestModel;
  static constexpr float kTolerance = 1e-6F;

  std::unique_ptr<LaneModel> load(size_t thread_count = 1, uint32_t page_count = 16) {
    LoadOptions options;
    options.thread_count = thread_count;
    return load_on(*make_worker_lane(test_options("reference")), options, page_count);
  }
};

inline Result<std::unique_ptr<LaneModel>> load_trouble(
    const std::string& trouble, WorkerOptions options = test_options("trouble"),
    const Progress& progress = {}) {
  ops::DecoderSpec spec;
  spec.architecture = trouble;
  spec.vocabulary_size = 100;
  LoadOptions load;
  load.progress = progress;
  Result<std::unique_ptr<LaneModel>> model =
      make_worker_lane(std::move(options))->load(spec, {}, load);
  if (model) {
    // A lane of trouble takes any page.
    const Result<void> reserved = (*model)->reserve_pages(4);
    if (!reserved) return tl::unexpected<Error>(reserved.error());
  }
  return model;
}

// One row that asks for the best token.
inline Result<StepTicket> submit_row(LaneModel& model, uint32_t feedback = kNoFeedback) {
  const std::vector<PageId> pages = {0};
  const SequenceView sequence{pages};
  const Row row{1, 0, 0, RowOutputKind::argmax, feedback};
  return model.submit({{&row, 1}, {&sequence, 1}});
}

inline Result<StepOutput> run_row(LaneModel& model) {
  const Result<StepTicket> ticket = submit_row(model);
  if (!ticket) return tl::unexpected<Error>(ticket.error());
  return model.collect(*ticket);
}

inline pid_t worker_id(LaneModel& model) { return dynamic_cast<WorkerModel&>(model).worker_id(); }

}  // namespace qualia::lanes::worker
