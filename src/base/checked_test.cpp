#include "base/checked.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace qualia {
namespace {

constexpr uint64_t kMax64 = std::numeric_limits<uint64_t>::max();

TEST(Checked, AddsUpToTheLimitAndRefusesBeyond) {
  EXPECT_EQ(checked_add<uint64_t>(kMax64 - 1, 1), kMax64);
  EXPECT_EQ(checked_add<uint64_t>(kMax64, 1), std::nullopt);
  EXPECT_EQ(checked_add<uint8_t>(200, 56), std::nullopt);
}

TEST(Checked, MultipliesUpToTheLimitAndRefusesBeyond) {
  EXPECT_EQ(checked_mul<uint64_t>(kMax64, 1), kMax64);
  EXPECT_EQ(checked_mul<uint64_t>(kMax64, 0), 0U);
  EXPECT_EQ(checked_mul<uint64_t>(uint64_t{1} << 32, uint64_t{1} << 32), std::nullopt);
  EXPECT_EQ(checked_mul<uint16_t>(256, 256), std::nullopt);
}

TEST(Checked, AlignsUpwardsAndRefusesToWrap) {
  EXPECT_EQ(checked_align<uint64_t>(0, 32), 0U);
  EXPECT_EQ(checked_align<uint64_t>(1, 32), 32U);
  EXPECT_EQ(checked_align<uint64_t>(64, 32), 64U);
  EXPECT_EQ(checked_align<uint64_t>(10, 7), 14U);
  EXPECT_EQ(checked_align<uint64_t>(kMax64, 32), std::nullopt);
}

TEST(Checked, CastsOnlyWhatTheTargetHolds) {
  EXPECT_EQ((checked_cast<uint32_t>(uint64_t{1} << 32)), std::nullopt);
  EXPECT_EQ((checked_cast<uint32_t>((uint64_t{1} << 32) - 1)), 0xffffffffU);
  EXPECT_EQ((checked_cast<uint64_t>(int64_t{-1})), std::nullopt);
  EXPECT_EQ((checked_cast<int8_t>(-128)), int8_t{-128});
  EXPECT_EQ((checked_cast<int8_t>(128)), std::nullopt);
}

}  // namespace
}  // namespace qualia
