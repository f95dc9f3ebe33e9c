// Profiling by clocks of the host, on the CPU lane.
#include "lanes/cpu/test_model.h"
#include "lanes/profile_cases.h"

namespace qualia::lanes {

using ProfiledModels = testing::Types<cpu::FastQ4Model, cpu::ExactModel>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, HostProfile, ProfiledModels);

namespace {

TEST(CpuProfile, CountsPackedWeightsAndTheKeysAndValuesOfEachTile) {
  cpu::ExactModel test;
  const auto model = test.load(2);
  ASSERT_TRUE(model->set_profiling({.is_on = true}).has_value());
  TestSequence sequence{{0}};
  feed(*model, sequence, {1});
  const profile::Snapshot totals = reading_of(*model);
  uint64_t weights = 0;
  for (const profile::OpTotal& op : totals.ops)
    if (op.phase == Phase::gemm || op.phase == Phase::output_topk) weights += op.cost.bytes;
  // Norms are the only weights of a step that no matrix is.
  const uint64_t norms = (2 * test.spec.layers.size() + 1) * test.spec.width * sizeof(float);
  EXPECT_LE(weights, model->resident().step_weight_bytes);
  EXPECT_GE(weights + norms + test.spec.width * sizeof(float), model->resident().step_weight_bytes);
  // One position read and one written, of all layers.
  EXPECT_EQ(totals.ops.at(2).cost.bytes, 2 * model->resident().kv_page_bytes / kPagePositions);
}

}  // namespace
}  // namespace qualia::lanes
