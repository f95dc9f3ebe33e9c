// Ops on one row: rms_norm, swiglu, residual_add, embedding, argmax, top_k.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "ops/argmax.h"
#include "ops/embedding.h"
#include "ops/residual_add.h"
#include "ops/rms_norm.h"
#include "ops/swiglu.h"
#include "ops/top_k.h"

namespace qualia::ops {
namespace {

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

TEST(RmsNorm, MatchesTheFormulaInDouble) {
  std::mt19937 random(3);
  std::normal_distribution<float> value(0.0F, 3.0F);
  for (const size_t dim : {1U, 7U, 36U, 576U, 1537U}) {
    std::vector<float> x(dim);
    std::vector<float> gain(dim);
    std::vector<float> out(dim);
    for (float& entry : x) entry = value(random);
    for (float& entry : gain) entry = value(random);
    rms_norm_f32(x.data(), gain.data(), out.data(), dim, 1e-5F);
    double squares = 0.0;
    for (const float entry : x) squares += std::pow(static_cast<double>(entry), 2);
    const double root = std::sqrt(squares / static_cast<double>(dim) + static_cast<double>(1e-5F));
    for (size_t i = 0; i < dim; ++i) {
      const double exact = static_cast<double>(x[i]) / root * static_cast<double>(gain[i]);
      ASSERT_NEAR(out[i], exact, 4 * kEpsilon * std::abs(exact)) << dim << ", " << i;
    }
  }
}

TEST(RmsNorm, DependsOnEpsilonForSmallInputs) {  // row N14
  const std::vector<float> x(8, 1e-3F);
  const std::vector<float> gain(8, 1.0F);
  std::vector<float> out(8);
  rms_norm_f32(x.data(), gain.data(), out.data(), 8, 1e-5F);
  EXPECT_NEAR(out[0], 1e-3 / std::sqrt(1e-6 + 1e-5), 1e-6);
  rms_norm_f32(x.data(), gain.data(), out.data(), 8, 1e-6F);
  EXPECT_NEAR(out[0], 1e-3 / std::sqrt(1e-6 + 1e-6), 1e-6);
}

TEST(RmsNorm, SurvivesSquaresBeyondFloat) {
  const std::vector<float> x(4, 1e30F);
  const std::vector<float> gain(4, 1.0F);
  std::vector<float> out(4);
  rms_norm_f32(x.data(), gain.data(), out.data(), 4, 1e-5F);
  EXPECT_FLOAT_EQ(out[3], 1.0F);
}

TEST(RmsNorm, ZeroRowStaysZero) {
  std::vector<float> x(5, 0.0F);
  const std::vector<float> gain(5, 2.0F);
  rms_norm_f32(x.data(), gain.data(), x.data(), 5, 1e-6F);
  EXPECT_THAT(x, testing::Each(0.0F));
}

TEST(SwiGlu, MatchesTheFormulaInDouble) {
  for (float gate = -80.0F; gate < 80.0F; gate += 0.37F) {
    const float up = 1.5F - gate;
    float out = 0.0F;
    swiglu_f32(&gate, &up, &out, 1);
    const auto g = static_cast<double>(gate);
    const double exact = g / (1.0 + std::exp(-g)) * static_cast<double>(up);
    ASSERT_NEAR(out, exact, 8 * kEpsilon * std::abs(exact)) << gate;
  }
}

TEST(SwiGlu, VeryNegativeGatesGiveZeroAndNoNaN) {
  const std::vector<float> gate = {-100.0F, -1e30F, 0.0F, 1e30F};
  const std::vector<float> up(4, 1.0F);
  std::vector<float> out(4);
  swiglu_f32(gate.data(), up.data(), out.data(), 4);
  EXPECT_EQ(out, (std::vector<float>{0.0F, 0.0F, 0.0F, 1e30F}));
}

TEST(ResidualAdd, CarriesSumsBeyondTheLargestHalf) {  // row N03
  std::vector<float> x = {60000.0F, -60000.0F, 1.0F};
  const std::vector<float> y = {10000.0F, -10000.0F, 0.5F};
  residual_add_f32(x.data(), y.data(), 3);
  EXPECT_EQ(x, (std::vector<float>{70000.0F, -70000.0F, 1.5F}));
}

TEST(Embedding, CopiesTheRowsOfItsTokens) {
  const std::vector<float> table = {0, 1, 2, 10, 11, 12, 20, 21, 22};
  const std::vector<int32_t> tokens = {2, 0, 2};
  std::vector<float> out(9);
  embedding_f32({reinterpret_cast<const std::byte*>(table.data()), DType::f32, 3, 12},
                tokens.data(), 3, out.data());
  EXPECT_EQ(out, (std::vector<float>{20, 21, 22, 0, 1, 2, 20, 21, 22}));
}

TEST(Argmax, FindsTheLastEntryOfAnOddVocabulary) {  // row N12
  for (const size_t count : {1U, 257U, 32001U, 49153U, 50257U}) {
    std::vector<float> logits(count, -3.0F);
    logits[count - 1] = -2.5F;
    EXPECT_EQ(argmax_f32(logits.data(), count).index, count - 1);
  }
}

TEST(Argmax, GivesTheLowestIndexAmongEquals) {
  const std::vector<float> logits = {1.0F, 5.0F, 5.0F, -1.0F, 5.0F};
  EXPECT_EQ(argmax_f32(logits.data(), logits.size()).index, 1U);
}

TEST(Argmax, ReportsNaNAndInfinityWhereverTheyAre) {  // row N20
  for (size_t place = 0; place < 3; ++place) {
    for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
      std::vector<float> logits = {1.0F, 2.0F, 0.0F};
      logits[place] = bad;
      const ArgmaxResult result = argmax_f32(logits.data(), 3);
      EXPECT_FALSE(result.is_finite) << place;
      EXPECT_LT(result.index, 3U);
    }
  }
  const std::vector<float> good = {1.0F, 2.0F, 0.0F};
  EXPECT_TRUE(argmax_f32(good.data(), 3).is_finite);
}

TEST(TopK, EqualsASortForAnyKAndTies) {
  std::mt19937 random(11);
  std::vector<float> logits(301);
  for (float& logit : logits) logit = static_cast<float>(random() % 40);  // many equal ones
  std::vector<uint32_t> sorted(logits.size());
  for (uint32_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](uint32_t a, uint32_t b) { return logits[a] > logits[b]; });
  for (const size_t k : {0U, 1U, 2U, 40U, 300U, 301U, 1000U}) {
    std::vector<uint32_t> top(std::min(k, logits.size()));
    ASSERT_EQ(top_k_f32(logits.data(), logits.size(), k, top.data()), top.size());
    EXPECT_TRUE(std::equal(top.begin(), top.end(), sorted.begin())) << k;
  }
}

}  // namespace
}  // namespace qualia::ops
