// The cases that every lane passes, on the CPU lane in all precisions.
#include "lanes/cpu/test_model.h"
#include "lanes/numbers_cases.h"

namespace qualia::lanes {

using NumbersModels = testing::Types<cpu::FastModel, cpu::PreciseModel, cpu::ExactModel>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, Numbers, NumbersModels);

namespace {

TEST(CpuNumbers, NaNInAQuantisedStepMakesTheRowNotFinite) {  // row N20
  for (const RowOutputKind kind :
       {RowOutputKind::argmax, RowOutputKind::top_k, RowOutputKind::logits}) {
    cpu::FastQ8Model test;
    test.at(ops::WeightRole::feed_forward_norm, 0)[3] = std::nanf("");
    EXPECT_FALSE(last_output(*test.load(2), {1, 2, 3}, kind).is_finite);
  }
}

}  // namespace
}  // namespace qualia::lanes
