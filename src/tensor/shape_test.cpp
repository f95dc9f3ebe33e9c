#include "tensor/shape.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/tensor_view.h"

namespace qualia {
namespace {

constexpr uint64_t kTwoTo32 = uint64_t{1} << 32;

TEST(Shape, PrintsOnlyItsOwnDimensions) {
  EXPECT_EQ(to_string(Shape{.dims = {576, 49152, 1, 1}, .rank = 2}), "[576, 49152]");
  EXPECT_EQ(to_string(Shape{.dims = {7, 1, 1, 1}, .rank = 1}), "[7]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST(Shape, CountsElements) {
  EXPECT_EQ((Shape{.dims = {2, 3, 5, 7}, .rank = 4}.element_count()), 210U);
  EXPECT_EQ((Shape{.dims = {2, 0, 5, 1}, .rank = 3}.element_count()), 0U);
  EXPECT_EQ(Shape{}.element_count(), 1U);
}

TEST(Shape, RefusesElementCountsThatOverflow) {
  EXPECT_EQ((Shape{.dims = {kTwoTo32, kTwoTo32, 1, 1}, .rank = 2}.element_count()), std::nullopt);
  EXPECT_EQ((Shape{.dims = {kTwoTo32, kTwoTo32 - 1, 1, 1}, .rank = 2}.element_count()),
            kTwoTo32 * (kTwoTo32 - 1));
}

TEST(TensorSize, FollowsFromBlocks) {
  EXPECT_EQ(tensor_size_bytes({.dims = {64, 3, 1, 1}, .rank = 2}, DType::q4_1), 3U * 2 * 20);
  EXPECT_EQ(tensor_size_bytes({.dims = {512, 2, 1, 1}, .rank = 2}, DType::q6_k), 2U * 2 * 210);
  EXPECT_EQ(tensor_size_bytes({.dims = {7, 3, 1, 1}, .rank = 2}, DType::f32), 84U);
}

TEST(TensorSize, RefusesRowsThatAreNoWholeBlocks) {
  EXPECT_EQ(tensor_size_bytes({.dims = {33, 32, 1, 1}, .rank = 2}, DType::q4_0), std::nullopt);
  EXPECT_EQ(tensor_size_bytes({.dims = {128, 2, 1, 1}, .rank = 2}, DType::q4_k), std::nullopt);
}

TEST(TensorSize, RefusesBytesThatOverflow) {
  const Shape countable{.dims = {kTwoTo32, kTwoTo32 / 4, 1, 1}, .rank = 2};
  ASSERT_TRUE(countable.element_count().has_value());
  EXPECT_EQ(tensor_size_bytes(countable, DType::f32), std::nullopt);
  EXPECT_TRUE(tensor_size_bytes(countable, DType::i8).has_value());
}

TEST(TensorView, RowsLieOneAfterTheOther) {
  const std::array<std::byte, std::size_t{3} * 2 * 18> bytes{};
  const TensorView view{DType::q4_0, {.dims = {64, 3, 1, 1}, .rank = 2}, bytes};
  EXPECT_EQ(view.row_bytes(), 36U);
  EXPECT_EQ(view.row(2).data(), bytes.data() + 72);
  EXPECT_EQ(view.row(2).size(), 36U);
}

}  // namespace
}  // namespace qualia
