// The tile kernels on tiles in plain C++, so that every machine checks their logic, against the
// formula of product.h one output at a time; and that formula against AVX-512 where there is some.
// The kernels with real tiles pass packed_matrix_test.cpp on machines that have them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "lanes/cpu/product_loops.h"
#include "lanes/cpu/product_test_support.h"
#include "lanes/cpu/product_variants.h"
#include "tensor/float16.h"

namespace qualia::lanes::cpu {
namespace {
namespace tiles_in_plain_code {

#include "lanes/cpu/amx_tiles_shim_body.h"

struct Lanes {
  struct F {
    float values[kPanelRows];
  };

  template <typename Value>
  static F of(const Value& value) {
    F result;
    for (size_t r = 0; r < kPanelRows; ++r) result.values[r] = value(r);
    return result;
  }
  static float half(const std::byte* source) {
    uint16_t bits = 0;
    std::memcpy(&bits, source, sizeof(bits));
    return f16_to_f32(bits);
  }

  static F load(const float* source) {
    return of([&](size_t r) { return source[r]; });
  }
  static void store(float* target, const F& value) { store_first(target, kPanelRows, value); }
  static F floats(const int32_t* source) {
    return of([&](size_t r) { return static_cast<float>(source[r]); });
  }
  static F halves(const std::byte* source) {
    return of([&](size_t r) { return half(source + 2 * r); });
  }
  static F add(const F& a, const F& b) {
    return of([&](size_t r) { return a.values[r] + b.values[r]; });
  }
  static F mul(const F& a, const F& b) {
    return of([&](size_t r) { return a.values[r] * b.values[r]; });
  }
  static F mul(const F& a, float b) {
    return of([&](size_t r) { return a.values[r] * b; });
  }
  static F fma(const F& a, const F& b, const F& c) {
    return of([&](size_t r) { return std::fma(a.values[r], b.values[r], c.values[r]); });
  }
  static F fma(const F& a, float b, const F& c) {
    return of([&](size_t r) { return std::fma(a.values[r], b, c.values[r]); });
  }
  static void store_first(float* target, size_t count, const F& value) {
    std::copy_n(value.values, std::min(count, kPanelRows), target);
  }
  template <PackedFormat kFormat>
  static void unpack(const std::byte* block, std::byte* codes) {
    constexpr PackedFormatInfo kInfo = packed_format_info(kFormat);
    constexpr int kCentre = kInfo.has_min ? 0 : 8;
    std::memcpy(codes, block, kInfo.code_bytes());
    if (kInfo.code_bits == 8) return;
    for (size_t i = 0; i < kInfo.code_bytes(); ++i) {
      const int both = std::to_integer<int>(block[i]);
      codes[i] = static_cast<std::byte>(both % 16 - kCentre);
      codes[i + kInfo.code_bytes()] = static_cast<std::byte>(both / 16 - kCentre);
    }
  }
};

#include "lanes/cpu/product_int8_amx_body.h"

}  // namespace tiles_in_plain_code

// A code as the whole number that its scale multiplies.
int code_at(PackedFormat format, const std::byte* block, size_t row, size_t k) {
  const PackedFormatInfo& info = packed_format_info(format);
  const std::byte byte = block[code_index(format, row, k)];
  if (info.code_bits == 8) return std::to_integer<int8_t>(byte);
  const int both = std::to_integer<int>(byte);
  return (k < 16 ? both % 16 : both / 16) - (info.has_min ? 0 : 8);
}

// Row `t` of x times row `row` of a panel, in the order of the vector kernels.
float model_sum(PackedFormat format, const ProductArguments& a, size_t panel, size_t row,
                size_t t) {
  const PackedFormatInfo& info = packed_format_info(format);
  const size_t columns = info.group_columns();
  float sum = 0.0F;
  for (size_t b = 0; b < a.blocks; ++b) {
    const std::byte* block = a.panel + panel * a.panel_bytes + b * info.block_bytes();
    const ActivationBlock& x =
        a.int8[(t / kTokenTile * a.blocks + b) * kTokenTile + t % kTokenTile];
    for (size_t s = 0; s < info.scale_count; ++s) {
      int dot = 0;
      for (size_t k = s * columns; k < (s + 1) * columns; ++k) {
        dot += code_at(format, block, row, k) * x.values[k];
      }
      const std::byte* scale = block + info.scales_offset() + 2 * (s * kPanelRows + row);
      const float weight_scale = tiles_in_plain_code::Lanes::half(scale);
      sum = std::fma(static_cast<float>(dot), weight_scale * x.scale, sum);
      if (!info.has_min) continue;
      const float min = tiles_in_plain_code::Lanes::half(scale + info.scales_bytes());
      sum = std::fma(min, info.scale_count == 2 ? x.half_scaled_sums[s] : x.scaled_sum, sum);
    }
  }
  return sum;
}

template <PackedFormat kFormat>
void model_product(const ProductArguments& a) noexcept {
  const size_t x_rows = a.is_paired ? 2 : 1;
  for (size_t t = 0; t < a.m; t += x_rows) {
    for (size_t j = 0; j < a.rows; ++j) {
      const auto sum = [&](size_t row_of_x) {
        return model_sum(kFormat, a, j / kPanelRows, j % kPanelRows, row_of_x);
      };
      const float whole = a.is_paired ? sum(t) + sum(t + 1) : sum(t);
      a.y[t / x_rows * a.y_stride + j] =
          a.row_factors == nullptr ? whole : whole * a.row_factors[j];
    }
  }
}

template <PackedFormat kFormat>
void tile_product(const ProductArguments& a) noexcept {
  tiles_in_plain_code::multiply_in_tiles<kFormat>(a, model_product<kFormat>);
}

struct TileVariant {
  PackedFormat format;
  ProductFunction tiles;
  ProductFunction model;
};

constexpr TileVariant kTileVariants[] = {
#define QUALIA_PRODUCT(format, form, isa) \
  {PackedFormat::format, tile_product<PackedFormat::format>, model_product<PackedFormat::format>},
    QUALIA_TILE_PRODUCTS(QUALIA_PRODUCT, amx)
#undef QUALIA_PRODUCT
};

constexpr float kUntouched = -77.0F;

// A packed matrix of random codes and scales, activations, and the products with them.
class TileProblem {
 public:
  TileProblem(PackedFormat format, size_t m, size_t n, size_t k, uint32_t seed)
      : m_(m), n_(n), k_(k), random_(seed) {
    const PackedFormatInfo& info = packed_format_info(format);
    panel_bytes_ = block_count(k) * info.block_bytes();
    panels_.resize((n + kPanelRows - 1) / kPanelRows * panel_bytes_);
    for (std::byte& byte : panels_) byte = static_cast<std::byte>(random_() & 0xFFU);
    std::normal_distribution<float> value(0.0F, 0.01F);
    for (size_t begin = 0; begin < panels_.size(); begin += info.block_bytes()) {
      for (size_t at = info.code_bytes(); at < info.block_bytes(); at += 2) {
        const uint16_t scale = f32_to_f16(value(random_));
        std::memcpy(panels_.data() + begin + at, &scale, sizeof(scale));
      }
    }
    for (size_t j = 0; j < panels_.size() / panel_bytes_ * kPanelRows; ++j) {
      row_factors_.push_back(std::ldexp(1.0F, static_cast<int>(random_() % 5) - 2));
    }
    set_activations(random_activations(m, k, seed));
  }

  void set_activations(const std::vector<float>& x) {
    auto made = Activations::create(m_, k_, ActivationForms::int8, Isa::portable);
    QUALIA_CHECK(made.has_value());
    x_ = std::move(*made);
    x_->set(x.data(), k_, 0, m_);
  }

  void fill_codes(PackedFormat format, std::byte byte) {
    const PackedFormatInfo& info = packed_format_info(format);
    for (size_t begin = 0; begin < panels_.size(); begin += info.block_bytes()) {
      std::fill_n(panels_.data() + begin, info.code_bytes(), byte);
    }
  }

  std::vector<float> product(ProductFunction function, bool is_paired, bool has_factors) const {
    std::vector<float> y(m_ * (n_ + 3), kUntouched);
    ProductArguments a;
    a.panel = panels_.data();
    a.panel_bytes = panel_bytes_;
    a.panel_count = panels_.size() / panel_bytes_;
    a.blocks = block_count(k_);
    a.row_factors = has_factors ? row_factors_.data() : nullptr;
    a.int8 = x_->int8_tile(0, a.blocks);
    a.m = m_;
    a.is_paired = is_paired;
    a.y = y.data();
    a.y_stride = n_ + 3;
    a.rows = n_;
    function(a);
    return y;
  }

 private:
  size_t m_;
  size_t n_;
  size_t k_;
  std::mt19937 random_;
  size_t panel_bytes_ = 0;
  std::vector<std::byte> panels_;
  std::vector<float> row_factors_;
  std::optional<Activations> x_;
};

void expect_same_bits(const std::vector<float>& y, const std::vector<float>& expected) {
  ASSERT_EQ(y.size(), expected.size());
  for (size_t i = 0; i < y.size(); ++i) {
    ASSERT_EQ(std::memcmp(&y[i], &expected[i], sizeof(float)), 0)
        << i << ": " << y[i] << " for " << expected[i];
  }
}

std::string trace(PackedFormat format, size_t m, size_t n, size_t k) {
  return std::string(packed_format_info(format).name) + ", m " + std::to_string(m) + ", n " +
         std::to_string(n) + ", k " + std::to_string(k);
}

TEST(TileProducts, GiveTheBitsOfTheFormulaForAnyNumberOfRows) {
  for (const TileVariant& variant : kTileVariants) {
    for (const size_t m :
         std::vector<size_t>{1, 15, 16, 17, 19, 28, 29, 31, 32, 33, 44, 45, 64, 100}) {
      SCOPED_TRACE(trace(variant.format, m, 69, 96));
      const TileProblem problem(variant.format, m, 69, 96, static_cast<uint32_t>(m));
      expect_same_bits(problem.product(variant.tiles, false, false),
                       problem.product(variant.model, false, false));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(TileProducts, GiveTheBitsOfTheFormulaForAnyShape) {
  for (const TileVariant& variant : kTileVariants) {
    for (const size_t n : std::vector<size_t>{1, 48, 49, 64, 65, 128, 130, 203}) {
      for (const size_t k : std::vector<size_t>{32, 64, 160, 256, 288, 416, 544}) {
        SCOPED_TRACE(trace(variant.format, 33, n, k));
        const TileProblem problem(variant.format, 33, n, k, static_cast<uint32_t>(n * k));
        expect_same_bits(problem.product(variant.tiles, false, true),
                         problem.product(variant.model, false, true));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(TileProducts, AddPairsOfRows) {
  for (const TileVariant& variant : kTileVariants) {
    for (const size_t m : std::vector<size_t>{16, 18, 32, 34, 50, 66}) {
      SCOPED_TRACE(trace(variant.format, m, 61, 96));
      const TileProblem problem(variant.format, m, 61, 96, static_cast<uint32_t>(m));
      expect_same_bits(problem.product(variant.tiles, true, true),
                       problem.product(variant.model, true, true));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(TileProducts, HoldTheLargestCodesAndActivations) {
  for (const TileVariant& variant : kTileVariants) {
    for (const std::byte byte :
         {std::byte{0x00}, std::byte{0x80}, std::byte{0xFF}, std::byte{0x7F}}) {
      for (const float sign : {1.0F, -1.0F}) {
        SCOPED_TRACE(trace(variant.format, 32, 57, 64));
        TileProblem problem(variant.format, 32, 57, 64, 5);
        problem.fill_codes(variant.format, byte);
        problem.set_activations(std::vector<float>(size_t{32} * 64, 127.0F * sign));
        expect_same_bits(problem.product(variant.tiles, false, false),
                         problem.product(variant.model, false, false));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// So that results do not depend on which rows go where: the formula is that of AVX-512's kernels,
// and of real tiles. Codes that a format does not have are left out: AVX-512 takes some as
// unsigned.
TEST(TileProducts, HaveAFormulaThatVectorKernelsShareToTheBit) {
  for (const Isa isa : isas()) {
    if (isa < Isa::avx512) continue;
    for (const TileVariant& variant : kTileVariants) {
      for (const size_t m : std::vector<size_t>{1, 2, 5, 16, 40, 67}) {
        SCOPED_TRACE(trace(variant.format, m, 69, 320) + ", " + std::string(isa_name(isa)));
        TileProblem problem(variant.format, m, 69, 320, static_cast<uint32_t>(m));
        if (variant.format == PackedFormat::q8_min) {
          problem.fill_codes(variant.format, std::byte{3});
        }
        const auto function = find_product(variant.format, ActivationForms::int8, isa);
        expect_same_bits(problem.product(function, false, true),
                         problem.product(variant.model, false, true));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace qualia::lanes::cpu
