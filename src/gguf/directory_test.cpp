// The tensor directory: rows G08, G11, G12, G14, G15, G24 of the collected bug reports.
#include "gguf/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gguf/parse_test.h"

namespace qualia::gguf {
namespace {

using test::GgufBytes;
using test::GgufWriter;
using testing::AllOf;
using testing::HasSubstr;

constexpr uint32_t kF32 = 0;
constexpr uint32_t kQ4_0 = 2;
constexpr uint32_t kQ6K = 14;
constexpr uint32_t kI8 = 24;

TEST(GgufDirectory, DescribesEachTensor) {
  GgufWriter writer;
  writer.tensor_f32("f", {3, 2}, 1.0F).tensor("q", {64, 2, 2}, kQ4_0, std::string(144, '\x11'));
  const std::string bytes = writer.bytes();
  const auto file = File::parse(test::as_bytes(bytes), kTestName);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->tensors().size(), 2U);
  const TensorInfo& f = file->tensors()[0];
  EXPECT_EQ(f.name, "f");
  EXPECT_EQ(f.dtype, DType::f32);
  EXPECT_EQ(f.shape, (Shape{{3, 2, 1, 1}, 2}));
  EXPECT_EQ(f.file_offset, writer.data_offset());
  EXPECT_EQ(f.size_bytes, 24U);
  const TensorInfo* q = file->find_tensor("q");
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(q->file_offset, writer.data_offset() + 32);
  EXPECT_EQ(q->size_bytes, 144U);
  EXPECT_EQ(file->view(*q).bytes.size(), 144U);
  EXPECT_EQ(file->view(*q).bytes[143], std::byte{0x11});
  EXPECT_EQ(file->find_tensor("r"), nullptr);
}

TEST(GgufDirectory, RefusesADuplicateTensorByName) {
  EXPECT_EQ(message_of(GgufWriter().tensor_f32("w", {8}, 1).tensor_f32("w", {8}, 2).bytes()),
            "Tensor 'w' appears twice in 't.gguf'.");
}

TEST(GgufDirectory, RefusesSizesWhoseSumWraps) {
  constexpr uint64_t kHuge = 0x7FFFFFFFFFFFFFC0;
  EXPECT_THAT(message_of(GgufWriter()
                             .tensor_entry("a", {kHuge}, kI8, 0)
                             .tensor_entry("b", {kHuge}, kI8, kHuge)
                             .bytes()),
              AllOf(HasSubstr("Tensor 'a' of 't.gguf'"), HasSubstr("9223372036854775744")));
}

TEST(GgufDirectory, RefusesDimensionsWhoseProductWraps) {
  constexpr uint64_t kBig = uint64_t{1} << 32;
  for (const auto& dims : {std::vector<uint64_t>{kBig, kBig},
                           {kBig, kBig, kBig, kBig},
                           {uint64_t{1} << 62, 4},
                           {UINT64_MAX, 1},
                           {UINT64_MAX, UINT64_MAX}})
    EXPECT_THAT(message_of(GgufWriter().tensor_entry("a", dims, kF32, 0).bytes()),
                AllOf(HasSubstr("Tensor 'a' of 't.gguf'"), HasSubstr("beyond 64 bits")));
}

TEST(GgufDirectory, RefusesMoreThanFourDimensions) {
  for (const uint32_t rank : {5U, 9U, 1000000U, 0xffffffffU}) {
    GgufBytes entry;
    entry.string("a").number(rank);
    for (int i = 0; i < 9; ++i) entry.number<uint64_t>(1);
    EXPECT_EQ(message_of(GgufWriter().tensor_raw(entry.str()).bytes()),
              "Tensor 'a' of 't.gguf' has " + std::to_string(rank) + " dimensions (at most 4).");
  }
}

TEST(GgufDirectory, RefusesADimensionOfZero) {
  EXPECT_EQ(message_of(GgufWriter().tensor_entry("a", {4, 0, 1}, kF32, 0).bytes()),
            "Dimension 1 of Tensor 'a' of 't.gguf' is 0.");
}

TEST(GgufDirectory, ReadsATensorWithoutDimensionsAsOneElement) {
  EXPECT_EQ(message_of(GgufWriter().tensor("a", {}, kF32, "abcd").bytes()), "");
}

TEST(GgufDirectory, RefusesAnAlignmentOfAnotherType) {
  const auto refused = [](GgufWriter& writer, std::string_view type) {
    EXPECT_EQ(message_of(writer.tensor_f32("a", {8}, 1).bytes()),
              "Key 'general.alignment' of 't.gguf' has the type " + std::string(type) +
                  " (u32 expected).");
  };
  const std::string_view key = "general.alignment";
  refused(GgufWriter().kv_i32(key, 32), "i32");
  refused(GgufWriter().kv_u64(key, 32), "u64");
  refused(GgufWriter().kv_f32(key, 32), "f32");
  refused(GgufWriter().kv_bool(key, true), "bool");
  refused(GgufWriter().kv_string(key, "32"), "string");
  refused(GgufWriter().kv_u32s(key, std::vector<uint32_t>{32}), "array");
}

TEST(GgufDirectory, RefusesAnAlignmentThatIsNoPowerOfTwo) {
  for (const uint32_t alignment : {0U, 3U, 48U, 0xffffffffU})
    EXPECT_EQ(message_of(GgufWriter().kv_u32("general.alignment", alignment).bytes()),
              "Key 'general.alignment' of 't.gguf' is " + std::to_string(alignment) +
                  " (a power of two expected).");
}

TEST(GgufDirectory, PlacesDataByTheFilesAlignment) {
  for (const uint32_t alignment : {1U, 8U, 64U, 4096U}) {
    GgufWriter writer;
    writer.alignment(alignment).kv_u32("general.alignment", alignment);
    writer.tensor_f32("a", {3}, 1).tensor_f32("b", {3}, 2);
    const std::string bytes = writer.bytes();
    const auto file = File::parse(test::as_bytes(bytes), kTestName);
    ASSERT_TRUE(file) << file.error().message;
    for (const TensorInfo& tensor : file->tensors()) {
      float first = 0;
      std::memcpy(&first, file->view(tensor).bytes.data(), sizeof first);
      EXPECT_EQ(first, tensor.name == "a" ? 1.0F : 2.0F);
      EXPECT_EQ(tensor.file_offset % alignment, 0U);
    }
  }
}

TEST(GgufDirectory, RefusesAnAlignmentThatPutsTheDataBehindTheFile) {
  GgufWriter writer;
  writer.kv_u32("general.alignment", 0x80000000U).tensor_f32("a", {8}, 1);
  EXPECT_THAT(message_of(writer.bytes()), HasSubstr("32 bytes at 2147483648 + 0 (file has"));
}

TEST(GgufDirectory, RefusesAnOffsetOffTheAlignment) {
  EXPECT_EQ(message_of(GgufWriter().tensor_entry("a", {1}, kF32, 4).bytes()),
            "Tensor 'a' of 't.gguf' has the offset 4 (a multiple of 32 expected).");
}

TEST(GgufDirectory, RefusesTensorPastEndOfFile) {
  const std::string tail(64, '\0');
  const uint64_t file_size = GgufWriter().tensor("a", {16}, kF32, tail).bytes().size();
  for (const uint64_t offset : {file_size / 32 * 32, uint64_t{0} - 32, uint64_t{1} << 63}) {
    GgufWriter writer;
    writer.tensor_entry("a", {16}, kF32, offset);
    EXPECT_THAT(message_of(writer.bytes() + tail),
                AllOf(HasSubstr("Tensor 'a' of 't.gguf' has 64 bytes at"),
                      HasSubstr(" + " + std::to_string(offset)), HasSubstr("(file has ")));
  }
}

TEST(GgufDirectory, ReadsATensorThatEndsWithTheFileAndNoByteLess) {
  const std::string bytes = sound_model().bytes();
  EXPECT_EQ(message_of(bytes), "");
  EXPECT_THAT(message_of(bytes.substr(0, bytes.size() - 1)), HasSubstr("Tensor 'b'"));
}

TEST(GgufDirectory, RefusesUnknownAndRemovedTypesByTheirId) {
  for (const uint32_t type_id : {4U, 5U, 36U, 200U, 0xffffffffU}) {
    const Error error =
        error_of(GgufWriter().tensor("a", {32, 32}, type_id, std::string(4096, '\0')).bytes());
    EXPECT_EQ(error.code, ErrorCode::unsupported);
    EXPECT_EQ(error.message,
              "The type id " + std::to_string(type_id) + " of Tensor 'a' of 't.gguf' is unknown.");
  }
}

TEST(GgufDirectory, RefusesRowsThatAreNoWholeBlocks) {
  EXPECT_EQ(message_of(GgufWriter().tensor("a", {48, 2}, kQ4_0, std::string(54, 0)).bytes()),
            "Tensor 'a' of 't.gguf' has rows of 48 elements (Q4_0 takes blocks of 32).");
  EXPECT_EQ(message_of(GgufWriter().tensor("a", {128, 2}, kQ6K, std::string(210, 0)).bytes()),
            "Tensor 'a' of 't.gguf' has rows of 128 elements (Q6_K takes blocks of 256).");
}

TEST(GgufDirectory, RefusesTensorsThatOverlap) {
  GgufWriter writer;
  writer.tensor("a", {16}, kF32, std::string(64, 0)).tensor_entry("b", {8}, kF32, 32);
  EXPECT_THAT(message_of(writer.bytes()),
              HasSubstr("Tensors 'a' and 'b' of 't.gguf' overlap at offset"));
}

TEST(GgufDirectory, ReadsTensorsInAnyOrderAndWithGaps) {
  GgufWriter writer;
  writer.tensor_entry("last", {8}, kF32, 96).tensor("first", {8}, kF32, std::string(128, 0));
  EXPECT_EQ(message_of(writer.bytes()), "");
}

TEST(GgufDirectory, ReadsANameBeyondTheFormatsSixtyFourBytes) {
  EXPECT_EQ(message_of(GgufWriter().tensor_f32(std::string(200, 'n'), {8}, 1).bytes()), "");
  EXPECT_THAT(message_of(GgufWriter().tensor_f32(std::string(1025, 'n'), {8}, 1).bytes()),
              HasSubstr("claims 1025 bytes (at most 1024)"));
  EXPECT_EQ(message_of(GgufWriter().tensor_f32("", {8}, 1).bytes()),
            "Tensor 0 of 't.gguf' has no name.");
}

}  // namespace
}  // namespace qualia::gguf
