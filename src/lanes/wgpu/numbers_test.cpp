// The cases that every lane passes, on the wgpu lane.
#include "lanes/numbers_cases.h"
#include "lanes/wgpu/test_model.h"

namespace qualia::lanes {

using WgpuNumbersModels =
    testing::Types<wgpu::TestModelOf<wgpu::kVulkanGpuKernels, Precision::fast>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Wgpu, Numbers, WgpuNumbersModels);

using WgpuNumbersLongModels =
    testing::Types<wgpu::TestModelOf<wgpu::kGl, Precision::exact>,
                   wgpu::TestModelOf<wgpu::kVulkan, Precision::precise>,
                   wgpu::TestModelOf<wgpu::kVulkanWithoutSubgroups, Precision::exact>>;
INSTANTIATE_TYPED_TEST_SUITE_P(WgpuLong, Numbers, WgpuNumbersLongModels);

namespace {

using WgpuFastQ8Model = wgpu::TestModelOf<wgpu::kVulkanGpuKernels, Precision::fast, DType::q8_0>;

TEST(WgpuNumbers, NaNInAQuantisedStepMakesTheRowNotFinite) {  // row N20
  if (const auto reason = WgpuFastQ8Model::absent_reason()) GTEST_SKIP() << *reason;
  WgpuFastQ8Model test;
  test.at(ops::WeightRole::feed_forward_norm, 0)[3] = std::nanf("");
  const std::unique_ptr<LaneModel> model = test.load();
  for (const RowOutputKind kind :
       {RowOutputKind::argmax, RowOutputKind::top_k, RowOutputKind::logits}) {
    EXPECT_FALSE(last_output(*model, {1, 2, 3}, kind).is_finite);
  }
}

}  // namespace
}  // namespace qualia::lanes
