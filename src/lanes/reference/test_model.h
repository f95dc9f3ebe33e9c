// The random decoder of lanes/test_model.h on the reference lane.
// Thread-safety: one owner.
#pragma once

#include "lanes/reference/reference_lane.h"
#include "lanes/test_model.h"

namespace qualia::lanes::reference {

class TestModel : public lanes::TestModel {
 public:
  using lanes::TestModel::TestModel;
  static constexpr float kTolerance = 1e-6F;

  std::unique_ptr<LaneModel> load(size_t thread_count = 1, uint32_t page_count = 16) {
    LoadOptions options;
    options.thread_count = thread_count;
    return load_on(*make_reference_lane(), options, page_count);
  }
};

}  // namespace qualia::lanes::reference
