#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string_view>

namespace qualia {
namespace {

TEST(DTypeTable, KnowsEachTypeByItsIdUnderOneName) {
  std::set<std::string_view> names;
  for (uint32_t id = 0; id <= 41; ++id) {
    const auto info = find_dtype(id);
    if (!info) continue;
    EXPECT_EQ(static_cast<uint32_t>(info->dtype), id);
    EXPECT_EQ(dtype_name(info->dtype), info->name);
    EXPECT_TRUE(names.insert(info->name).second) << info->name;
  }
  EXPECT_EQ(names.size(), 34U);
}

TEST(DTypeTable, LacksRemovedAndInventedTypes) {
  for (const uint32_t id : {4U, 5U, 31U, 32U, 33U, 36U, 37U, 38U, 42U, 1000U, 0xffffffffU})
    EXPECT_FALSE(find_dtype(id).has_value()) << id;
}

// Bytes a block = elements x bits / 8 + scales, from the block layouts that ggml documents.
TEST(DTypeTable, BlockBytesFollowFromBitsAndScales) {
  struct Row {
    DType dtype;
    uint32_t elements, bits, extra_bytes;
  };
  constexpr std::array kRows{
      Row{DType::f32, 1, 32, 0},
      Row{DType::f16, 1, 16, 0},
      Row{DType::bf16, 1, 16, 0},
      Row{DType::f64, 1, 64, 0},
      Row{DType::i8, 1, 8, 0},
      Row{DType::i16, 1, 16, 0},
      Row{DType::i32, 1, 32, 0},
      Row{DType::i64, 1, 64, 0},
      Row{DType::q4_0, 32, 4, 2},
      Row{DType::q4_1, 32, 4, 4},
      Row{DType::q5_0, 32, 5, 2},
      Row{DType::q5_1, 32, 5, 4},
      Row{DType::q8_0, 32, 8, 2},
      Row{DType::q8_1, 32, 8, 4},
      Row{DType::q2_k, 256, 2, 16 + 4},
      Row{DType::q3_k, 256, 3, 12 + 2},
      Row{DType::q4_k, 256, 4, 12 + 4},
      Row{DType::q5_k, 256, 5, 12 + 4},
      Row{DType::q6_k, 256, 6, 16 + 2},
      Row{DType::q8_k, 256, 8, 4 + 32},
      Row{DType::iq4_nl, 32, 4, 2},
      Row{DType::iq4_xs, 256, 4, 2 + 2 + 4},
      Row{DType::iq2_xxs, 256, 2, 2},
      Row{DType::iq2_xs, 256, 2, 2 + 8},
      Row{DType::iq2_s, 256, 2, 2 + 8 + 8},
      Row{DType::iq3_xxs, 256, 3, 2},
      Row{DType::iq3_s, 256, 3, 2 + 8 + 4},
      Row{DType::tq2_0, 256, 2, 2},
      Row{DType::mxfp4, 32, 4, 1},
      Row{DType::nvfp4, 64, 4, 4},
      Row{DType::q1_0, 128, 1, 2},
  };
  for (const Row& row : kRows) {
    const DTypeInfo& info = dtype_info(row.dtype);
    EXPECT_EQ(info.block_size, row.elements) << info.name;
    EXPECT_EQ(info.block_bytes, row.elements * row.bits / 8 + row.extra_bytes) << info.name;
  }
}

TEST(DTypeTableDeathTest, AForgedEnumeratorIsOurFault) {
  EXPECT_DEATH(dtype_info(static_cast<DType>(4)), "does not hold");
}

}  // namespace
}  // namespace qualia
