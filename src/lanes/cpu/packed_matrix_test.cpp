// Every product variant that this machine can run, against scalar references in double precision.
#include "lanes/cpu/packed_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "lanes/cpu/pack_panel.h"
#include "lanes/pack_source.h"
#include "lanes/cpu/product_test_support.h"
#include "lanes/cpu/product_variants.h"
#include "lanes/cpu/quantize_activations.h"
#include "ops/dequantize.h"
#include "ops/matmul.h"
#include "tensor/float16.h"

namespace qualia::lanes::cpu {
namespace {

constexpr double kEps = 0x1p-24;
constexpr size_t kRowsMax = 33;
constexpr size_t kOutputsMax = 257;

// Weights [n][k] in double as the packed form stands for them.
std::vector<double> dequantized(const SourceWeight& weight) {
  std::vector<float> row(weight.k);
  std::vector<double> values;
  const size_t row_bytes = weight.bytes.size() / weight.n;
  for (size_t j = 0; j < weight.n; ++j) {
    ops::find_dequantize(weight.dtype)(weight.bytes.data() + j * row_bytes, row.data(), weight.k);
    values.insert(values.end(), row.begin(), row.end());
  }
  return values;
}

struct Expected {
  std::vector<double> y;          // [m][n]
  std::vector<double> magnitude;  // sum of |x w|
};

Expected multiply_in_double(const std::vector<double>& x, const std::vector<double>& w, size_t m,
                            size_t n, size_t k) {
  Expected expected{std::vector<double>(m * n), std::vector<double>(m * n)};
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      for (size_t p = 0; p < k; ++p) {
        const double product = x[i * k + p] * w[j * k + p];
        expected.y[i * n + j] += product;
        expected.magnitude[i * n + j] += std::abs(product);
      }
    }
  }
  return expected;
}

// Activations as INT8 stands for them.
std::vector<double> rounded_activations(const std::vector<float>& x) {
  std::vector<double> rounded(x.size());
  for (size_t begin = 0; begin < x.size(); begin += kBlockColumns) {
    ActivationBlock block;
    quantize_activations_portable(x.data() + begin, block);
    for (size_t i = 0; i < kBlockColumns; ++i) {
      rounded[begin + i] = static_cast<double>(block.scale) * block.values[i];
    }
  }
  return rounded;
}

// Activations as pairs of INT8 stand for them.
std::vector<double> paired_activations(const std::vector<float>& x) {
  std::vector<double> sum = rounded_activations(x);
  std::vector<float> residual(x.size());
  for (size_t i = 0; i < x.size(); ++i) residual[i] = x[i] - static_cast<float>(sum[i]);
  const std::vector<double> rest = rounded_activations(residual);
  for (size_t i = 0; i < x.size(); ++i) sum[i] += rest[i];
  return sum;
}

PackedMatrix pack(const SourceWeight& weight, Precision precision, Isa isa) {
  auto matrix = PackedMatrix::create(weight.dtype, weight.n, weight.k, precision, isa);
  EXPECT_TRUE(matrix.has_value());
  matrix->pack(weight.view(), 0, matrix->panel_count());
  return std::move(*matrix);
}

std::vector<float> multiply(const PackedMatrix& matrix, const std::vector<float>& x, size_t m,
                            Isa isa) {
  auto activations = Activations::create(m, matrix.columns(), matrix.form(), isa);
  EXPECT_TRUE(activations.has_value());
  activations->set(x.data(), matrix.columns(), 0, m);
  std::vector<float> y(m * matrix.rows(), -1.0F);
  matrix.multiply(*activations, m, y.data(), matrix.rows(), 0, matrix.panel_count());
  return y;
}

// The first n rows of a weight.
SourceWeight first_rows(const SourceWeight& weight, size_t n) {
  SourceWeight part{weight.bytes, weight.dtype, n, weight.k};
  part.bytes.resize(weight.bytes.size() / weight.n * n);
  return part;
}

class Products : public testing::TestWithParam<DType> {};

// Holds a product [m][n] against the expected one of kRowsMax x kOutputsMax.
void expect_near(const std::vector<float>& y, const Expected& expected, size_t m, size_t n,
                 double relative) {
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      const size_t at = i * kOutputsMax + j;
      const double bound = relative * expected.magnitude[at] + 1e-30;
      ASSERT_NEAR(y[i * n + j], expected.y[at], bound) << "row " << i << ", output " << j;
    }
  }
}

std::vector<size_t> batch_sizes() {
  if (kIsSanitized) return {1, 2, 7, 33};
  return {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33};
}

void check_sizes(const SourceWeight& weight, const std::vector<float>& x, Precision precision,
                 const Expected& expected, double relative) {
  for (const Isa isa : isas()) {
    for (const size_t n : {size_t{1}, size_t{15}, size_t{17}, kOutputsMax}) {
      const PackedMatrix matrix = pack(first_rows(weight, n), precision, isa);
      for (const size_t m : batch_sizes()) {
        SCOPED_TRACE(std::string(isa_name(isa)) + ", n " + std::to_string(n) + ", k " +
                     std::to_string(weight.k) + ", m " + std::to_string(m));
        expect_near(multiply(matrix, x, m, isa), expected, m, n, relative);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

std::vector<size_t> widths(DType dtype) {
  std::vector<size_t> sizes;
  for (const size_t k : std::vector<size_t>{32, 64, 576, 1536, 2048 + 32}) {
    if (kIsSanitized && k > 64) break;
    const size_t rounded = round_to_block(k, dtype);
    if (sizes.empty() || sizes.back() != rounded) sizes.push_back(rounded);
  }
  return sizes;
}

// Rounding of a K type's scales to 11 bits moves a weight by that much of its scaled code and min,
// which may cancel: up to 16 times the weight itself where the random scales and mins are alike.
double scale_rounding(DType dtype) {
  return has_row_factors(dtype, *packed_format_of(dtype, Precision::fast)) ? 0x1p-11 * 4 : 0.0;
}

TEST_P(Products, InFastPrecisionMatchTheSameIntegersInDouble) {
  const DType dtype = GetParam();
  const bool is_int8 = PackedMatrix::reads(dtype, Precision::fast) == ActivationForms::int8;
  for (const size_t k : widths(dtype)) {
    const SourceWeight weight = random_weight(dtype, kOutputsMax, k, 11);
    const std::vector<float> x = random_activations(kRowsMax, k, 12);
    const std::vector<double> seen =
        is_int8 ? rounded_activations(x) : std::vector<double>(x.begin(), x.end());
    const Expected expected =
        multiply_in_double(seen, dequantized(weight), kRowsMax, kOutputsMax, k);
    check_sizes(weight, x, Precision::fast, expected, 1e-6 + scale_rounding(dtype));
  }
}

TEST_P(Products, InExactPrecisionMatchTheReference) {
  const DType dtype = GetParam();
  for (const size_t k : widths(dtype)) {
    const SourceWeight weight = random_weight(dtype, kOutputsMax, k, 13);
    const std::vector<float> x = random_activations(kRowsMax, k, 14);
    const Expected expected =
        multiply_in_double({x.begin(), x.end()}, dequantized(weight), kRowsMax, kOutputsMax, k);
    const double bound = (static_cast<double>(k) / 32 + 40) * kEps;
    check_sizes(weight, x, Precision::exact, expected, std::min(bound, 1e-5));
  }
}

TEST_P(Products, InPrecisePrecisionMatchPairsOfIntegersInDouble) {
  const DType dtype = GetParam();
  const size_t k = round_to_block(576, dtype);
  const SourceWeight weight = random_weight(dtype, kOutputsMax, k, 15);
  const std::vector<float> x = random_activations(kRowsMax, k, 16);
  const bool is_paired =
      PackedMatrix::reads(dtype, Precision::precise) == ActivationForms::int8_pair;
  const std::vector<double> seen =
      is_paired ? paired_activations(x) : std::vector<double>(x.begin(), x.end());
  const Expected expected = multiply_in_double(seen, dequantized(weight), kRowsMax, kOutputsMax, k);
  check_sizes(weight, x, Precision::precise, expected, 1e-6 + scale_rounding(dtype));
}

TEST(PairedActivations, KeepFifteenBitsOfABlocksLargestValue) {
  const std::vector<float> x = random_activations(8, 320, 27);
  const std::vector<double> seen = paired_activations(x);
  for (size_t begin = 0; begin < x.size(); begin += kBlockColumns) {
    double largest = 0.0;
    for (size_t i = begin; i < begin + kBlockColumns; ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(x[i])));
    }
    for (size_t i = begin; i < begin + kBlockColumns; ++i) {
      ASSERT_NEAR(seen[i], static_cast<double>(x[i]), largest / (2 * 127 * 254) * 1.01);
    }
  }
}

TEST_P(Products, GiveARowTheSameBitsAloneAndInABatch) {
  const DType dtype = GetParam();
  const size_t k = round_to_block(576, dtype);
  const SourceWeight weight = random_weight(dtype, 50, k, 17);
  const std::vector<float> x = random_activations(kRowsMax, k, 18);
  for (const Precision precision : {Precision::fast, Precision::precise, Precision::exact}) {
    for (const Isa isa : isas()) {
      const PackedMatrix matrix = pack(weight, precision, isa);
      std::vector<float> alone;
      for (size_t i = 0; i < kRowsMax; ++i) {
        const auto* row = x.data() + i * k;
        const std::vector<float> y = multiply(matrix, {row, row + k}, 1, isa);
        alone.insert(alone.end(), y.begin(), y.end());
      }
      for (const size_t m : std::vector<size_t>{2, 3, 5, 7, 8, 12, 16, 20, 33}) {
        const std::vector<float> batch = multiply(matrix, x, m, isa);
        ASSERT_EQ(std::memcmp(batch.data(), alone.data(), batch.size() * sizeof(float)), 0)
            << isa_name(isa) << ", m " << m;
      }
    }
  }
}

TEST_P(Products, GiveTheSameBitsInAnyRangesOfPanels) {
  const DType dtype = GetParam();
  const size_t k = round_to_block(64, dtype);
  const SourceWeight weight = random_weight(dtype, 16 * 7 + 5, k, 19);
  const std::vector<float> x = random_activations(6, k, 20);
  for (const Isa isa : isas()) {
    const PackedMatrix matrix = pack(weight, Precision::precise, isa);
    const std::vector<float> whole = multiply(matrix, x, 6, isa);
    auto activations = Activations::create(6, k, matrix.form(), isa);
    ASSERT_TRUE(activations.has_value());
    activations->set(x.data(), k, 0, 6);
    for (size_t grain = 1; grain <= 5; ++grain) {
      std::vector<float> parts(whole.size(), -1.0F);
      for (size_t begin = 0; begin < matrix.panel_count(); begin += grain) {
        matrix.multiply(*activations, 6, parts.data(), matrix.rows(), begin,
                        std::min(begin + grain, matrix.panel_count()));
      }
      ASSERT_EQ(std::memcmp(parts.data(), whole.data(), whole.size() * sizeof(float)), 0)
          << isa_name(isa) << ", grain " << grain;
    }
  }
}

// Dots are whole numbers: instructions that multiply matrices must add up to the same ones.
TEST_P(Products, GiveTheSameBitsWithMatrixInstructionsAsWithDotProducts) {
  const std::vector<Isa> usable = isas();
  const auto is_usable = [&](Isa isa) { return std::ranges::count(usable, isa) != 0; };
  const Isa matrix_isa = is_usable(Isa::i8mm) ? Isa::i8mm : Isa::amx;
  const Isa dot_isa = is_usable(Isa::i8mm) ? Isa::dotprod : Isa::avx512;
  if (!is_usable(matrix_isa)) GTEST_SKIP() << "This processor has no such instructions.";
  const DType dtype = GetParam();
  for (const size_t k : widths(dtype)) {
    const SourceWeight weight = random_weight(dtype, 50, k, 21);
    const std::vector<float> x = random_activations(kRowsMax, k, 22);
    for (const Precision precision : {Precision::fast, Precision::precise}) {
      for (const size_t m : batch_sizes()) {
        const std::vector<float> squares =
            multiply(pack(weight, precision, matrix_isa), x, m, matrix_isa);
        const std::vector<float> dots = multiply(pack(weight, precision, dot_isa), x, m, dot_isa);
        ASSERT_EQ(std::memcmp(squares.data(), dots.data(), dots.size() * sizeof(float)), 0)
            << "k " << k << ", m " << m;
      }
    }
  }
}

// Codes and activations at their largest, where 16-bit sums come closest to overflowing.
TEST_P(Products, HoldTheLargestCodesAndActivations) {
  const DType dtype = GetParam();
  const size_t k = round_to_block(64, dtype);
  for (const unsigned byte : {0x00U, 0x80U, 0xFFU, 0x7FU}) {
    SourceWeight weight = random_weight(dtype, 17, k, 25);
    if (dtype_info(dtype).block_size == 1) return;
    const size_t block_bytes = dtype_info(dtype).block_bytes;
    for (size_t i = 0; i < weight.bytes.size(); ++i) {
      const size_t in_block = i % block_bytes;
      const bool is_scale = in_block < 4 || in_block + 4 >= block_bytes;
      if (!is_scale) weight.bytes[i] = static_cast<std::byte>(byte);
    }
    for (const float sign : {1.0F, -1.0F}) {
      const std::vector<float> x(kRowsMax * k, 127.0F * sign);
      const Expected expected =
          multiply_in_double({x.begin(), x.end()}, dequantized(weight), kRowsMax, 17, k);
      for (const Isa isa : isas()) {
        const std::vector<float> y = multiply(pack(weight, Precision::fast, isa), x, kRowsMax, isa);
        for (size_t i = 0; i < y.size(); ++i) {
          const double relative = 1e-6 + scale_rounding(dtype);
          ASSERT_NEAR(y[i], expected.y[i], relative * expected.magnitude[i] + 1e-30)
              << isa_name(isa) << ", byte " << byte << ", sign " << sign;
        }
      }
    }
  }
}

TEST_P(Products, OfZeroScalesAreZero) {
  const DType dtype = GetParam();
  const size_t k = round_to_block(64, dtype);
  const SourceWeight weight = random_weight(dtype, 17, k, 26, 0.0F);
  const std::vector<float> x = random_activations(5, k, 27);
  for (const Precision precision : {Precision::fast, Precision::precise, Precision::exact}) {
    for (const Isa isa : isas()) {
      const std::vector<float> y = multiply(pack(weight, precision, isa), x, 5, isa);
      for (const float entry : y) ASSERT_EQ(entry, 0.0F) << isa_name(isa);
    }
  }
}

TEST_P(Products, InFastPrecisionStayWithinActivationRoundingOfFloat) {
  const DType dtype = GetParam();
  const size_t k = round_to_block(576, dtype);
  const SourceWeight weight = random_weight(dtype, 40, k, 28);
  const std::vector<float> x = random_activations(3, k, 29);
  const std::vector<double> w = dequantized(weight);
  const Expected expected = multiply_in_double({x.begin(), x.end()}, w, 3, 40, k);
  // Half a step of INT8 in each activation, with every weight's magnitude.
  std::vector<double> half_steps(x.size());
  for (size_t begin = 0; begin < x.size(); begin += kBlockColumns) {
    ActivationBlock block;
    quantize_activations_portable(x.data() + begin, block);
    std::fill_n(half_steps.begin() + static_cast<std::ptrdiff_t>(begin), kBlockColumns,
                static_cast<double>(block.scale) * 0.50001);
  }
  const Expected rounding = multiply_in_double(half_steps, w, 3, 40, k);
  for (const Isa isa : isas()) {
    const std::vector<float> y = multiply(pack(weight, Precision::fast, isa), x, 3, isa);
    for (size_t i = 0; i < y.size(); ++i) {
      const double bound =
          rounding.magnitude[i] + (1e-6 + scale_rounding(dtype)) * expected.magnitude[i];
      ASSERT_NEAR(y[i], expected.y[i], bound) << isa_name(isa) << ", " << i;
    }
  }
}

TEST(FloatProducts, TakeColumnsThatFillNoBlock) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const size_t k = 41;
    const SourceWeight weight = random_weight(dtype, 19, k, 33);
    const std::vector<float> x = random_activations(6, k, 34);
    const Expected expected =
        multiply_in_double({x.begin(), x.end()}, dequantized(weight), 6, 19, k);
    for (const Isa isa : isas()) {
      const std::vector<float> y = multiply(pack(weight, Precision::exact, isa), x, 6, isa);
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_NEAR(y[i], expected.y[i], 1e-5 * expected.magnitude[i]) << isa_name(isa);
      }
    }
  }
}

TEST(FloatProducts, PassNanAndInfinityOn) {
  const SourceWeight weight = random_weight(DType::q4_0, 17, 64, 35);
  for (const float bad : {std::nanf(""), HUGE_VALF}) {
    std::vector<float> x = random_activations(2, 64, 36);
    x[70] = bad;
    for (const Precision precision : {Precision::fast, Precision::precise}) {
      for (const Isa isa : isas()) {
        const std::vector<float> y = multiply(pack(weight, precision, isa), x, 2, isa);
        for (size_t j = 0; j < 17; ++j) {
          ASSERT_TRUE(std::isfinite(y[j])) << isa_name(isa);
          ASSERT_FALSE(std::isfinite(y[17 + j])) << isa_name(isa);
        }
      }
    }
  }
}

// One variant a line of the list, so that none is forgotten.
TEST(ProductVariants, AreFoundAtTheirOwnLevel) {
  for (const ProductVariant& variant : product_variants()) {
    EXPECT_EQ(find_product(variant.format, variant.form, variant.isa), variant.function)
        << packed_format_info(variant.format).name << ", " << isa_name(variant.isa);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Products, testing::ValuesIn(packable_types()),
                         [](const auto& test) { return std::string(dtype_name(test.param)); });

}  // namespace
}  // namespace qualia::lanes::cpu
