#include "lanes/cpu/quantize_activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "lanes/cpu/product_test_support.h"

namespace qualia::lanes::cpu {
namespace {

TEST(QuantizeActivations, EveryVariantGivesTheSameBytes) {
  std::mt19937 random(31);
  std::normal_distribution<float> value(0.0F, 1.0F);
  for (int round = 0; round < 2000; ++round) {
    float x[kBlockColumns];
    const float magnitude = std::ldexp(1.0F, static_cast<int>(random() % 240) - 120);
    for (float& entry : x) entry = value(random) * magnitude;
    ActivationBlock expected;
    quantize_activations_portable(x, expected);
    for (const Isa isa : isas()) {
      ActivationBlock block;
      find_quantize(isa)(x, block);
      ASSERT_EQ(std::memcmp(&block, &expected, sizeof(block)), 0)
          << isa_name(isa) << ", round " << round << ", magnitude " << magnitude;
    }
  }
}

TEST(QuantizeActivations, StaysWithinHalfAStep) {
  std::mt19937 random(32);
  std::normal_distribution<float> value(0.0F, 3.0F);
  for (const Isa isa : isas()) {
    for (int round = 0; round < 200; ++round) {
      float x[kBlockColumns];
      for (float& entry : x) entry = value(random);
      ActivationBlock block;
      find_quantize(isa)(x, block);
      int32_t sum = 0;
      for (size_t i = 0; i < kBlockColumns; ++i) {
        ASSERT_NEAR(block.scale * static_cast<float>(block.values[i]), x[i],
                    block.scale * 0.50001F);
        ASSERT_NE(block.values[i], -128);
        sum += block.values[i];
      }
      ASSERT_EQ(block.sum_times_minus_8, -8 * sum);
      ASSERT_EQ(block.half_sums_times_minus_128[0] + block.half_sums_times_minus_128[1],
                block.sum_times_minus_128);
    }
  }
}

TEST(QuantizeActivations, ExtremesReachMinusAndPlus127) {
  for (const Isa isa : isas()) {
    float x[kBlockColumns] = {};
    x[3] = -4.0F;
    x[20] = 4.0F;
    ActivationBlock block;
    find_quantize(isa)(x, block);
    EXPECT_EQ(block.values[3], -127);
    EXPECT_EQ(block.values[20], 127);
  }
}

TEST(QuantizeActivations, ZeroStaysZero) {
  for (const Isa isa : isas()) {
    const float x[kBlockColumns] = {};
    ActivationBlock block;
    find_quantize(isa)(x, block);
    EXPECT_EQ(block.scale, 0.0F);
    EXPECT_EQ(block.scaled_sum, 0.0F);
    for (const int8_t entry : block.values) EXPECT_EQ(entry, 0);
  }
}

TEST(QuantizeActivations, NanAndInfinityMakeTheScaleNotFinite) {
  for (const Isa isa : isas()) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      float x[kBlockColumns] = {1.0F, 2.0F};
      x[17] = bad;
      ActivationBlock block;
      find_quantize(isa)(x, block);
      EXPECT_FALSE(std::isfinite(block.scale)) << isa_name(isa);
      EXPECT_FALSE(std::isfinite(block.scale * 0.0F));
    }
  }
}

}  // namespace
}  // namespace qualia::lanes::cpu
