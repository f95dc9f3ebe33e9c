#include "ops/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "ops/dequantize.h"
#include "ops/dot.h"

namespace qualia::ops {
namespace {

// Random blocks with scales that are finite: every 16-bit word stays below f16's infinity.
std::vector<std::byte> random_weights(size_t size_bytes, std::mt19937& random) {
  std::vector<std::byte> bytes(size_bytes);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0x3BU);
  return bytes;
}

std::vector<float> random_floats(size_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> value(-2.0F, 2.0F);
  std::vector<float> floats(count);
  for (float& entry : floats) entry = value(random);
  return floats;
}

struct Problem {
  DType dtype;
  size_t n;
  size_t k;
  size_t m;
};

std::vector<float> multiply(const MatmulWeight& weight, const std::vector<float>& x, size_t m) {
  std::vector<float> y(m * weight.n, -1.0F);
  std::vector<float> scratch(matmul_scratch_count(weight.k));
  matmul_f32(weight, x.data(), m, y.data(), 0, weight.n, scratch.data());
  return y;
}

class Matmul : public testing::TestWithParam<Problem> {
 protected:
  void SetUp() override {
    const Problem& problem = GetParam();
    const DTypeInfo& info = dtype_info(problem.dtype);
    std::mt19937 random(7);
    const size_t row_bytes = problem.k / info.block_size * info.block_bytes;
    bytes_ = random_weights(problem.n * row_bytes, random);
    if (problem.dtype == DType::f32) {
      const std::vector<float> values = random_floats(problem.n * problem.k, random);
      std::memcpy(bytes_.data(), values.data(), bytes_.size());
    }
    x_ = random_floats(problem.m * problem.k, random);
    weight_ = {bytes_.data(), problem.dtype, problem.n, problem.k, row_bytes};
  }

  std::vector<std::byte> bytes_;
  std::vector<float> x_;
  MatmulWeight weight_;
};

TEST_P(Matmul, StaysWithinItsBoundOfTheDoubleResult) {
  const auto [dtype, n, k, m] = GetParam();
  const std::vector<float> y = multiply(weight_, x_, m);
  std::vector<float> row(k);
  for (size_t j = 0; j < n; ++j) {
    find_dequantize(dtype)(bytes_.data() + j * weight_.row_bytes, row.data(), k);
    for (size_t i = 0; i < m; ++i) {
      double exact = 0.0;
      double magnitude = 0.0;
      for (size_t p = 0; p < k; ++p) {
        const double product = static_cast<double>(row[p]) * static_cast<double>(x_[i * k + p]);
        exact += product;
        magnitude += std::abs(product);
      }
      const double bound =
          (static_cast<double>(k) / 8 + 4) * std::numeric_limits<float>::epsilon() * magnitude;
      ASSERT_NEAR(y[i * n + j], exact, bound) << "row " << i << ", output " << j;
    }
  }
}

TEST_P(Matmul, GivesARowTheSameBitsAloneAndInABatch) {
  const auto [dtype, n, k, m] = GetParam();
  const std::vector<float> batch = multiply(weight_, x_, m);
  for (size_t i = 0; i < m; ++i) {
    const std::vector<float> alone =
        multiply(weight_,
                 {x_.begin() + static_cast<std::ptrdiff_t>(i * k),
                  x_.begin() + static_cast<std::ptrdiff_t>((i + 1) * k)},
                 1);
    ASSERT_EQ(std::memcmp(alone.data(), batch.data() + i * n, n * sizeof(float)), 0) << i;
  }
}

TEST_P(Matmul, GivesTheSameBitsInAnyRangesOfOutputs) {
  const auto [dtype, n, k, m] = GetParam();
  const std::vector<float> whole = multiply(weight_, x_, m);
  for (size_t grain = 1; grain <= 5; ++grain) {
    std::vector<float> parts(m * n, -1.0F);
    std::vector<float> scratch(matmul_scratch_count(k));
    for (size_t begin = 0; begin < n; begin += grain) {
      matmul_f32(weight_, x_.data(), m, parts.data(), begin, std::min(begin + grain, n),
                 scratch.data());
    }
    ASSERT_EQ(std::memcmp(parts.data(), whole.data(), whole.size() * sizeof(float)), 0) << grain;
  }
}

INSTANTIATE_TEST_SUITE_P(
    TypesAndTails, Matmul,
    testing::Values(Problem{DType::f32, 1, 1, 1}, Problem{DType::f32, 7, 36, 3},
                    Problem{DType::f32, 13, 84, 5}, Problem{DType::f16, 9, 41, 4},
                    Problem{DType::bf16, 6, 40, 2}, Problem{DType::q4_0, 11, 96, 3},
                    Problem{DType::q4_1, 5, 32, 7}, Problem{DType::q5_0, 3, 160, 1},
                    Problem{DType::q5_1, 4, 64, 2}, Problem{DType::q8_0, 17, 576, 6},
                    Problem{DType::q2_k, 3, 256, 2}, Problem{DType::q3_k, 2, 512, 3},
                    Problem{DType::q4_k, 5, 256, 1}, Problem{DType::q5_k, 4, 256, 5},
                    Problem{DType::q6_k, 6, 768, 2}),
    [](const auto& test) {
      return std::string(dtype_name(test.param.dtype)) + "_" + std::to_string(test.param.n) + "x" +
             std::to_string(test.param.k) + "_by_" + std::to_string(test.param.m);
    });

TEST(MatmulRange, WritesNothingOutsideItsRange) {
  const std::vector<float> w(6 * 8, 1.0F);
  const std::vector<float> x(2 * 8, 1.0F);
  std::vector<float> y(2 * 6, -5.0F);
  std::vector<float> scratch(matmul_scratch_count(8));
  const MatmulWeight weight{reinterpret_cast<const std::byte*>(w.data()), DType::f32, 6, 8, 32};
  matmul_f32(weight, x.data(), 2, y.data(), 2, 5, scratch.data());
  EXPECT_EQ(y, (std::vector<float>{-5, -5, 8, 8, 8, -5, -5, -5, 8, 8, 8, -5}));
}

TEST(DotF32, AddsAMillionTermsWithinItsBound) {
  const std::vector<float> ones(1'000'000, 1.0F);
  const std::vector<float> tenths(1'000'000, 0.1F);
  const float sum = dot_f32(ones.data(), tenths.data(), ones.size());
  EXPECT_NEAR(sum, 1'000'000 * static_cast<double>(0.1F), 100'000.0 * 125'004 * 1.2e-7);
}

}  // namespace
}  // namespace qualia::ops
