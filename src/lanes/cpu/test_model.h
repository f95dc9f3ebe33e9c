// The random decoder of lanes/test_model.h on the CPU lane.
// Thread-safety: one owner.
#pragma once

#include "lanes/cpu/cpu_lane.h"
#include "lanes/test_model.h"

namespace qualia::lanes::cpu {

template <Precision kPrecision, DType kDType = DType::f32>
class TestModelOf : public lanes::TestModel {
 public:
  explicit TestModelOf(const TestShape& shape = {})
      : lanes::TestModel(kDType == DType::f32 ? shape : whole_blocks(shape)) {
    matrix_dtype = kDType;
  }

  // INT8 keys and values are off by up to 1/254 of the largest of 32.
  static constexpr float kTolerance = kPrecision == Precision::exact     ? 1e-6F
                                      : kPrecision == Precision::precise ? 1e-3F
                                                                         : 5e-3F;

  std::unique_ptr<LaneModel> load(size_t thread_count = 1, uint32_t page_count = 16) {
    LoadOptions options;
    options.precision = kPrecision;
    options.thread_count = thread_count;
    return load_on(*make_cpu_lane(detect_cpu_features()), options, page_count);
  }
};

using FastModel = TestModelOf<Precision::fast>;
using FastQ8Model = TestModelOf<Precision::fast, DType::q8_0>;
using FastQ4Model = TestModelOf<Precision::fast, DType::q4_0>;
using PreciseModel = TestModelOf<Precision::precise>;
using ExactModel = TestModelOf<Precision::exact>;

}  // namespace qualia::lanes::cpu
