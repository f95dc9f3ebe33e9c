#include "ops/dequantize.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace qualia::ops {
namespace {

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct TypeCase {
  DType dtype;
  std::string name;  // of the fixture
};

const std::vector<TypeCase>& all_cases() {
  static const std::vector<TypeCase> cases = {
      {DType::f32, "f32"},   {DType::f16, "f16"},   {DType::bf16, "bf16"}, {DType::q4_0, "q4_0"},
      {DType::q4_1, "q4_1"}, {DType::q5_0, "q5_0"}, {DType::q5_1, "q5_1"}, {DType::q8_0, "q8_0"},
      {DType::q2_k, "q2_k"}, {DType::q3_k, "q3_k"}, {DType::q4_k, "q4_k"}, {DType::q5_k, "q5_k"},
      {DType::q6_k, "q6_k"}};
  return cases;
}

class Dequantize : public testing::TestWithParam<TypeCase> {};

// The fixtures come from PyPI's gguf: tests/data/tiny/README.md.
TEST_P(Dequantize, GivesTheValuesOfTheGgufPackageBitForBit) {
  const std::string stem = "tests/data/tiny/blocks_" + GetParam().name;
  const std::vector<char> raw = read_file(stem + ".raw");
  const std::vector<char> expected = read_file(stem + ".f32");
  const size_t count = expected.size() / sizeof(float);
  const DTypeInfo& info = dtype_info(GetParam().dtype);
  ASSERT_GT(count, 0U);
  ASSERT_EQ(raw.size(), count / info.block_size * info.block_bytes);

  std::vector<float> values(count, -1.0F);
  find_dequantize(GetParam().dtype)(reinterpret_cast<const std::byte*>(raw.data()), values.data(),
                                    count);
  for (size_t i = 0; i < count; ++i) {
    float wanted = 0.0F;
    std::memcpy(&wanted, expected.data() + i * sizeof(float), sizeof(float));
    ASSERT_EQ(std::memcmp(&values[i], &wanted, sizeof(float)), 0)
        << "value " << i << " is " << values[i] << ", gguf's is " << wanted;
  }
}

TEST_P(Dequantize, ReadsBlocksAtAnyAddress) {
  const std::vector<char> raw = read_file("tests/data/tiny/blocks_" + GetParam().name + ".raw");
  const DTypeInfo& info = dtype_info(GetParam().dtype);
  const size_t count = raw.size() / info.block_bytes * info.block_size;
  std::vector<std::byte> shifted(raw.size() + 1);
  std::memcpy(shifted.data() + 1, raw.data(), raw.size());
  std::vector<float> aligned(count);
  std::vector<float> odd(count);
  const DequantizeFunction dequantize = find_dequantize(GetParam().dtype);
  dequantize(reinterpret_cast<const std::byte*>(raw.data()), aligned.data(), count);
  dequantize(shifted.data() + 1, odd.data(), count);
  EXPECT_EQ(std::memcmp(aligned.data(), odd.data(), count * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Dequantize, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(FindDequantize, KnowsNoTypeWithoutAFormulaHere) {
  EXPECT_EQ(find_dequantize(DType::i32), nullptr);
  EXPECT_EQ(find_dequantize(DType::iq4_xs), nullptr);
  EXPECT_EQ(find_dequantize(DType::q8_1), nullptr);
}

}  // namespace
}  // namespace qualia::ops
