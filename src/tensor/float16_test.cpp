#include "tensor/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace qualia {
namespace {

// The value of a finite half by its definition, in double.
double half_by_definition(uint32_t half) {
  const double sign = (half & 0x8000U) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>(half >> 10U & 0x1FU);
  const double fraction = static_cast<double>(half & 0x3FFU);
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024.0 + fraction, exponent - 25);
}

TEST(Float16, WidensEveryFiniteHalfExactly) {
  for (uint32_t half = 0; half <= 0xFFFF; ++half) {
    if ((half & 0x7C00U) == 0x7C00U) continue;
    const float widened = f16_to_f32(static_cast<uint16_t>(half));
    ASSERT_EQ(static_cast<double>(widened), half_by_definition(half)) << half;
    ASSERT_EQ(std::signbit(widened), (half & 0x8000U) != 0) << half;
  }
}

TEST(Float16, WidensInfinitiesAndNaN) {
  EXPECT_EQ(f16_to_f32(0x7C00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(f16_to_f32(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(f16_to_f32(0x7C01)));
  EXPECT_TRUE(std::isnan(f16_to_f32(0xFFFF)));
}

TEST(Float16, NarrowingGivesBackEveryHalf) {
  for (uint32_t half = 0; half <= 0xFFFF; ++half) {
    const bool is_nan = (half & 0x7FFFU) > 0x7C00U;
    const uint32_t back = f32_to_f16(f16_to_f32(static_cast<uint16_t>(half)));
    ASSERT_EQ(back, is_nan ? half | 0x0200U : half);
  }
}

TEST(Float16, NarrowingRoundsHalfwayCasesToEven) {
  for (uint32_t half = 0; half < 0x7BFF; ++half) {
    const double low = half_by_definition(half);
    const double high = half_by_definition(half + 1);
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(f32_to_f16(middle), half + half % 2) << half;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0F)), half) << half;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 1e9F)), half + 1) << half;
  }
}

TEST(Float16, NarrowingOverflowsToInfinityFromHalfwayOn) {
  EXPECT_EQ(f32_to_f16(65519.99F), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0F), 0x7C00);
  EXPECT_EQ(f32_to_f16(-1e30F), 0xFC00);
}

TEST(Bfloat16, IsTheUpperHalfOfFloat32) {
  EXPECT_EQ(bf16_to_f32(0x3F80), 1.0F);
  EXPECT_EQ(bf16_to_f32(0xC2F7), -123.5F);
  EXPECT_EQ(bf16_to_f32(0x0001), std::ldexp(1.0F, -133));
  EXPECT_TRUE(std::isnan(bf16_to_f32(0x7FC0)));
}

TEST(Bfloat16, NarrowingRoundsToNearestEvenAndKeepsNaN) {
  EXPECT_EQ(f32_to_bf16(1.0F + std::ldexp(1.0F, -8)), 0x3F80);
  EXPECT_EQ(f32_to_bf16(1.0F + 3 * std::ldexp(1.0F, -8)), 0x3F82);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::numeric_limits<float>::signaling_NaN()))));
}

}  // namespace
}  // namespace qualia
