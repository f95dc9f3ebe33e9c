#include "lanes/cpu/cpu_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qualia::lanes::cpu {
namespace {

constexpr CpuFeatures kEverything{true, true, true, true, true, false, false};  // of x86-64

TEST(CpuFeatures, MaskOfNothingHidesNothing) {
  EXPECT_EQ(hide_features(kEverything, ""), kEverything);
  EXPECT_EQ(hide_features(kEverything, " , "), kEverything);
}

TEST(CpuFeatures, HidingASetHidesWhatIsBuiltOnIt) {
  EXPECT_EQ(describe(*hide_features(kEverything, "avx512")), "avx2 avx_vnni");
  EXPECT_EQ(describe(*hide_features(kEverything, "avx2")), "none");
  EXPECT_EQ(describe(*hide_features(kEverything, "avx512_vnni, amx")), "avx2 avx_vnni avx512");
}

TEST(CpuFeatures, RefusesAnUnknownSetByName) {
  const auto refused = hide_features(kEverything, "avx512,sse9");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("'sse9'"));
}

TEST(CpuFeatures, BestLevelFollowsTheMask) {
  EXPECT_EQ(best_isa(kEverything), Isa::amx);
  EXPECT_EQ(isa_name(best_isa(kEverything)), "avx512+vnni+amx");
  EXPECT_EQ(best_isa(*hide_features(kEverything, "amx")), Isa::avx512);
  EXPECT_EQ(best_isa(*hide_features(kEverything, "avx512_vnni")), Isa::avx_vnni);
  EXPECT_EQ(best_isa(*hide_features(kEverything, "avx512,amx,avx_vnni")), Isa::avx2);
  EXPECT_EQ(best_isa(*hide_features(kEverything, "avx2")), Isa::portable);
}

TEST(CpuFeatures, DotProductsOfArmHaveALevelAndAName) {
  CpuFeatures features;
  features.dotprod = true;
  EXPECT_EQ(isa_name(best_isa(features)), "neon+dotprod");
  EXPECT_EQ(best_isa(*hide_features(features, "dotprod")), Isa::portable);
}

TEST(CpuFeatures, MatrixInstructionsOfArmStandOnItsDotProducts) {
  CpuFeatures features;
  features.dotprod = features.i8mm = true;
  EXPECT_EQ(isa_name(best_isa(features)), "neon+dotprod+i8mm");
  EXPECT_EQ(describe(features), "dotprod i8mm");
  EXPECT_EQ(best_isa(*hide_features(features, "i8mm")), Isa::dotprod);
  EXPECT_EQ(best_isa(*hide_features(features, "dotprod")), Isa::portable);
}

TEST(CpuFeatures, DetectsNoSetWithoutItsFoundation) {
  const CpuFeatures features = detect_cpu_features();
  EXPECT_EQ(hide_features(features, ""), features);
  EXPECT_EQ(allowed_isas(features).front(), Isa::portable);
}

}  // namespace
}  // namespace qualia::lanes::cpu
