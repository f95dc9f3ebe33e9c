#include "lanes/pack_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "lanes/cpu/pack_panel.h"
#include "lanes/cpu/packed_matrix.h"
#include "lanes/cpu/product_test_support.h"
#include "ops/dequantize.h"

namespace qualia::lanes::cpu {
namespace {

class PackSource : public testing::TestWithParam<DType> {};

std::vector<DType> quantised_types() {
  std::vector<DType> types;
  for (const DType dtype : packable_types()) {
    if (dtype_info(dtype).block_size > 1) types.push_back(dtype);
  }
  return types;
}

TEST_P(PackSource, ReadsTheValuesThatDequantizeGives) {
  const DType dtype = GetParam();
  const size_t k = 1024;
  const SourceWeight weight = random_weight(dtype, 1, k, 21);
  std::vector<float> expected(k);
  ops::find_dequantize(dtype)(weight.bytes.data(), expected.data(), k);
  const PackedFormatInfo& info = packed_format_info(*packed_format_of(dtype, Precision::exact));
  const int offset = info.code_bits == 4 && !info.has_min ? 8 : 0;
  const SourceReader reader = source_reader(dtype);
  std::vector<float> values;
  for (size_t begin = 0; begin < weight.bytes.size(); begin += reader.block_bytes) {
    RowGroup groups[kGroupsPerBlockMax];
    reader.read(weight.bytes.data() + begin, groups);
    for (size_t g = 0; g < reader.groups_per_block; ++g) {
      for (size_t i = 0; i < 32; ++i) {
        const size_t s = i / info.group_columns();
        const float scaled = groups[g].scales[s] * static_cast<float>(groups[g].codes[i] - offset);
        values.push_back(info.has_min ? scaled + groups[g].mins[s] : scaled);
      }
    }
  }
  EXPECT_EQ(values, expected);
}

TEST_P(PackSource, KeepsCodesInTheRangeThatProductsRelyOn) {
  const DType dtype = GetParam();
  const PackedFormat format = *packed_format_of(dtype, Precision::fast);
  const PackedFormatInfo& info = packed_format_info(format);
  const int lowest = info.code_bits == 4 || info.has_min ? 0
                     : format == PackedFormat::q8        ? -128
                                                         : -32;
  const int highest = info.code_bits == 4 ? 15 : format == PackedFormat::q8 ? 127 : 31;
  const SourceWeight weight = random_weight(dtype, 1, 4096, 22);
  const SourceReader reader = source_reader(dtype);
  for (size_t begin = 0; begin < weight.bytes.size(); begin += reader.block_bytes) {
    RowGroup groups[kGroupsPerBlockMax];
    reader.read(weight.bytes.data() + begin, groups);
    for (size_t g = 0; g < reader.groups_per_block; ++g) {
      for (const int8_t code : groups[g].codes) {
        ASSERT_GE(code, lowest);
        ASSERT_LE(code, highest);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, PackSource, testing::ValuesIn(quantised_types()),
                         [](const auto& test) { return std::string(dtype_name(test.param)); });

// Scales of 2^-20 (d of 2^-24, the smallest binary16) and of 63 * 60000, which binary16 can't hold,
// come out of the product as they went in.
TEST(RowFactors, HoldScalesThatBinary16CannotHold) {
  for (const float scale : {0x1p-24F, 1e-6F, 0.01F, 60000.0F}) {
    SourceWeight weight = random_weight(DType::q4_k, 5, 256, 23, 0.0F);
    for (size_t row = 0; row < weight.n; ++row) {
      const uint16_t d = f32_to_f16(scale);
      std::memcpy(weight.bytes.data() + row * 144, &d, sizeof(d));
    }
    std::vector<float> expected(256);
    auto matrix = PackedMatrix::create(DType::q4_k, 5, 256, Precision::precise, Isa::portable);
    ASSERT_TRUE(matrix.has_value());
    matrix->pack(weight.view(), 0, 1);
    auto x = Activations::create(1, 256, matrix->form(), Isa::portable);
    ASSERT_TRUE(x.has_value());
    for (size_t column = 0; column < 256; column += 37) {
      std::vector<float> unit(256);
      unit[column] = 1.0F;
      x->set(unit.data(), 256, 0, 1);
      float y[5];
      matrix->multiply(*x, 1, y, 5, 0, 1);
      for (size_t row = 0; row < 5; ++row) {
        ops::dequantize_q4_k(weight.bytes.data() + row * 144, expected.data(), 256);
        EXPECT_NEAR(y[row], expected[column], std::abs(expected[column]) * 0x1p-11F)
            << "scale " << scale << ", row " << row << ", column " << column;
      }
    }
  }
}

TEST(PackPanel, LeavesRowsBeyondTheEndZero) {
  const SourceWeight weight = random_weight(DType::q8_0, 3, 64, 24);
  const PackedFormatInfo& info = packed_format_info(PackedFormat::q8);
  std::vector<std::byte> panel(2 * info.block_bytes());
  pack_panel(weight.view(), PackedFormat::q8, 0, panel.data(), nullptr);
  for (size_t block = 0; block < 2; ++block) {
    const std::byte* bytes = panel.data() + block * info.block_bytes();
    for (size_t row = 3; row < kPanelRows; ++row) {
      for (size_t k = 0; k < kBlockColumns; ++k) {
        ASSERT_EQ(bytes[code_index(PackedFormat::q8, row, k)], std::byte{0});
      }
    }
  }
}

}  // namespace
}  // namespace qualia::lanes::cpu
