// Split models: row G22 of the collected bug reports.
#include "gguf/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gguf/parse_test.h"
#include "support/temp_folder.h"

namespace qualia::gguf {
namespace {

using test::GgufWriter;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view kFirst = "tiny-00001-of-00003.gguf";
constexpr std::string_view kSecond = "tiny-00002-of-00003.gguf";
constexpr std::string_view kThird = "tiny-00003-of-00003.gguf";

GgufWriter part(uint16_t index, uint16_t count = 3, int32_t tensor_count = 3) {
  GgufWriter writer;
  writer.kv_u16("split.no", index).kv_u16("split.count", count);
  writer.kv_i32("split.tensors.count", tensor_count);
  if (index == 0) writer.kv_string("general.architecture", "llama");
  writer.tensor_f32("blk." + std::to_string(index), {8}, static_cast<float>(index));
  return writer;
}

void write_parts(const test::TempFolder& folder) {
  part(0).write(folder / kFirst);
  part(1).write(folder / kSecond);
  part(2).write(folder / kThird);
}

std::string open_error(const std::filesystem::path& path) {
  const auto file = File::open(path);
  return file ? "" : file.error().message;
}

TEST(GgufSplit, OpensAllFilesWhicheverIsNamed) {
  const test::TempFolder folder;
  write_parts(folder);
  for (const std::string_view name : {kFirst, kSecond, kThird}) {
    const auto file = File::open(folder / name);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->paths().size(), 3U);
    EXPECT_EQ(file->paths()[1], folder / kSecond);
    EXPECT_EQ(file->get_string("general.architecture").value(), "llama");
    ASSERT_EQ(file->tensors().size(), 3U);
    for (uint32_t i = 0; i < 3; ++i) {
      const TensorInfo* tensor = file->find_tensor("blk." + std::to_string(i));
      ASSERT_NE(tensor, nullptr);
      EXPECT_EQ(tensor->file_index, i);
      float first = -1;
      std::memcpy(&first, file->view(*tensor).bytes.data(), sizeof first);
      EXPECT_EQ(first, static_cast<float>(i));
    }
  }
}

TEST(GgufSplit, OpensAPathWithoutAFolder) {
  // Files are found beside the named one; a bare name means the working folder.
  const auto paths = sibling_paths("tiny-00001-of-00002.gguf", SplitInfo{0, 2, {}});
  ASSERT_TRUE(paths);
  EXPECT_EQ((*paths)[1], "tiny-00002-of-00002.gguf");
}

TEST(GgufSplit, NamesTheMissingFile) {
  const test::TempFolder folder;
  part(0).write(folder / kFirst);
  part(2).write(folder / kThird);
  for (const std::string_view named : {kFirst, kThird}) {
    const auto file = File::open(folder / named);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, ErrorCode::not_found);
    EXPECT_EQ(file.error().message, "File '" + (folder / kSecond).string() + "' does not exist ('" +
                                        (folder / named).string() +
                                        "' is one of 3 files of a split model).");
  }
}

TEST(GgufSplit, RefusesOneOfManyFilesThatAreNotThere) {
  const test::TempFolder folder;
  part(0, 65535).write(folder / "m-00001-of-65535.gguf");
  EXPECT_THAT(open_error(folder / "m-00001-of-65535.gguf"),
              AllOf(HasSubstr("m-00002-of-65535.gguf' does not exist")));
}

TEST(GgufSplit, RefusesAnIndexBeyondTheCount) {
  const test::TempFolder folder;
  part(3).write(folder / "tiny-00004-of-00003.gguf");
  EXPECT_THAT(open_error(folder / "tiny-00004-of-00003.gguf"),
              HasSubstr("is 3 ('split.count' is 3)"));
  part(0xffff).write(folder / kFirst);
  EXPECT_THAT(open_error(folder / kFirst), HasSubstr("'split.no'"));
}

TEST(GgufSplit, RefusesACountBeyondTheNames) {
  EXPECT_THAT(message_of(GgufWriter().kv_u32("split.count", 65536).kv_u16("split.no", 0).bytes()),
              HasSubstr("Key 'split.count' of 't.gguf' is 65536 (at most 65535)"));
  EXPECT_THAT(message_of(GgufWriter().kv_i32("split.count", -2).kv_u16("split.no", 0).bytes()),
              HasSubstr("Key 'split.count' of 't.gguf' is -2"));
  EXPECT_THAT(message_of(GgufWriter().kv_string("split.count", "2").bytes()),
              HasSubstr("has the type string (an integer expected)"));
  EXPECT_THAT(message_of(GgufWriter().kv_u16("split.count", 2).bytes()),
              HasSubstr("lacks the key 'split.no'"));
}

TEST(GgufSplit, RefusesAFileWhoseNameIsNotItsPlace) {
  const test::TempFolder folder;
  write_parts(folder);
  const std::string glued = part(0).bytes() + part(1).bytes() + part(2).bytes();
  test::write_file(folder / "glued.gguf", glued);
  EXPECT_THAT(open_error(folder / "glued.gguf"),
              HasSubstr("is file 1 of 3 of a split model, and its name doesn't end in "
                        "'-00001-of-00003.gguf'"));
  part(2).write(folder / kSecond);
  EXPECT_THAT(open_error(folder / kFirst),
              HasSubstr("says that it is file 3 of 3 (its name says 2 of 3)"));
}

TEST(GgufSplit, RefusesASiblingThatIsNoPartOfASplit) {
  const test::TempFolder folder;
  write_parts(folder);
  sound_model().write(folder / kSecond);
  EXPECT_THAT(open_error(folder / kThird), HasSubstr("says that it is file 1 of 1"));
  test::write_file(folder / kSecond, "");
  EXPECT_THAT(open_error(folder / kThird),
              AllOf(HasSubstr(std::string(kSecond)), HasSubstr("too short")));
}

TEST(GgufSplit, RefusesAWrongTotalOfTensors) {
  const test::TempFolder folder;
  write_parts(folder);
  part(0, 3, 4).write(folder / kFirst);
  EXPECT_THAT(open_error(folder / kFirst),
              HasSubstr("have 3 tensors ('split.tensors.count' is 4)"));
}

TEST(GgufSplit, RefusesATensorThatTwoFilesHold) {
  const test::TempFolder folder;
  part(0, 2, 2).write(folder / "a-00001-of-00002.gguf");
  GgufWriter second;
  second.kv_u16("split.no", 1).kv_u16("split.count", 2).tensor_f32("blk.0", {8}, 1);
  second.write(folder / "a-00002-of-00002.gguf");
  EXPECT_THAT(
      open_error(folder / "a-00001-of-00002.gguf"),
      AllOf(HasSubstr("Tensor 'blk.0' appears twice in"), HasSubstr("a-00002-of-00002.gguf'")));
}

TEST(GgufSplit, ReadsASplitOfOneUnderAnyName) {
  EXPECT_EQ(message_of(part(0, 1, 1).bytes()), "");
  EXPECT_EQ(message_of(part(0, 0, 1).bytes()), "");
}

TEST(GgufSplit, RefusesAPartInMemory) {
  EXPECT_THAT(message_of(part(0).bytes()), HasSubstr("can't be read from memory"));
}

}  // namespace
}  // namespace qualia::gguf
