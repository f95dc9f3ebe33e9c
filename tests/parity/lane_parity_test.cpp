// Whole random models on the CPU lane against the reference lane, over head sizes and ratios,
// weight types and precisions, with every set of instructions that this machine has.
#include <gtest/gtest.h>

#include <algorithm>

#include "lanes/cpu/cpu_lane.h"
#include "lanes/reference/reference_lane.h"
#include "parity/parity_cases.h"

namespace qualia::lanes {
namespace {

std::vector<cpu::CpuFeatures> feature_sets() {
  const cpu::CpuFeatures all = cpu::detect_cpu_features();
  std::vector<cpu::CpuFeatures> sets;
  for (const char* mask : {"", "avx512", "avx512,avx_vnni", "avx2"}) {
    const cpu::CpuFeatures features = cpu::hide_features(all, mask).value();
    if (std::find(sets.begin(), sets.end(), features) == sets.end()) sets.push_back(features);
  }
  return sets;
}

class LaneParity : public testing::TestWithParam<ParityShape> {};

TEST_P(LaneParity, CpuLaneGivesTheReferenceLogits) {
  for (const DType dtype : {DType::f32, DType::f16, DType::q8_0, DType::q4_0}) {
    TestModel test(GetParam().shape);
    test.matrix_dtype = dtype;
    const Logits expected = logits_of(test, *make_reference_lane(), Precision::exact);
    for (const cpu::CpuFeatures& features : feature_sets()) {
      for (const Precision precision : {Precision::fast, Precision::precise, Precision::exact}) {
        SCOPED_TRACE(testing::Message() << dtype_name(dtype) << ", sets: " << describe(features)
                                        << ", precision " << static_cast<int>(precision));
        const Logits actual = logits_of(test, *make_cpu_lane(features), precision);
        for (size_t p = 0; p < expected.size(); ++p) {
          expect_alike(actual[p], expected[p], precision);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LaneParity, testing::ValuesIn(kParityShapes),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace qualia::lanes
