#include "ops/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

namespace qualia::ops {
namespace {

std::vector<float> rotate(const RopeSpec& rope, uint32_t position, std::vector<float> x,
                          size_t head_dim) {
  std::vector<float> cosines(rope.dims / 2);
  std::vector<float> sines(rope.dims / 2);
  rope_angles_f32(rope, position, cosines.data(), sines.data());
  rope_f32(rope, cosines.data(), sines.data(), x.data(), x.size() / head_dim, head_dim);
  return x;
}

TEST(Rope, TurnsTheFirstPairByThePosition) {
  RopeSpec rope;
  rope.dims = 4;
  const std::vector<float> turned = rotate(rope, 1, {1, 0, 0, 0}, 4);
  EXPECT_FLOAT_EQ(turned[0], static_cast<float>(std::cos(1.0)));
  EXPECT_FLOAT_EQ(turned[1], static_cast<float>(std::sin(1.0)));
  rope.kind = RopeKind::halves;
  const std::vector<float> halves = rotate(rope, 1, {1, 0, 0, 0}, 4);
  EXPECT_FLOAT_EQ(halves[0], static_cast<float>(std::cos(1.0)));
  EXPECT_FLOAT_EQ(halves[2], static_cast<float>(std::sin(1.0)));
}

TEST(Rope, MatchesTheComplexProductForBothKinds) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> value(-3.0F, 3.0F);
  for (const uint32_t head_dim : {64U, 80U, 96U, 128U}) {
    for (const RopeKind kind : {RopeKind::interleaved, RopeKind::halves}) {
      const RopeSpec rope{kind, head_dim - 16, 500000.0F, 0.25F};
      std::vector<float> x(3 * head_dim);
      for (float& entry : x) entry = value(random);
      const std::vector<float> turned = rotate(rope, 4097, x, head_dim);
      for (size_t head = 0; head < 3; ++head) {
        for (uint32_t i = 0; i < rope.dims / 2; ++i) {
          const bool inter = kind == RopeKind::interleaved;
          const size_t u = head * head_dim + (inter ? 2 * i : i);
          const size_t v = inter ? u + 1 : u + rope.dims / 2;
          const double angle = 4097 * 0.25 * std::pow(500000.0, -2.0 * i / rope.dims);
          const double a = static_cast<double>(x[u]);
          const double b = static_cast<double>(x[v]);
          const double bound = 4 * 1.2e-7 * std::max(std::abs(a), std::abs(b));
          ASSERT_NEAR(turned[u], a * std::cos(angle) - b * std::sin(angle), bound);
          ASSERT_NEAR(turned[v], a * std::sin(angle) + b * std::cos(angle), bound);
        }
        for (size_t i = rope.dims; i < head_dim; ++i) {
          ASSERT_EQ(turned[head * head_dim + i], x[head * head_dim + i]);
        }
      }
    }
  }
}

TEST(Rope, PositionZeroChangesNothing) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(rotate({RopeKind::halves, 6}, 0, x, 6), x);
}

TEST(Rope, LinearScaleMovesPositions) {
  const std::vector<float> x = {1, 2, 3, 4};
  const RopeSpec plain{RopeKind::interleaved, 4, 10000.0F, 1.0F};
  const RopeSpec scaled{RopeKind::interleaved, 4, 10000.0F, 0.25F};
  EXPECT_EQ(rotate(scaled, 40, x, 4), rotate(plain, 10, x, 4));
}

}  // namespace
}  // namespace qualia::ops
