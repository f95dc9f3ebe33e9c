#include "base/file_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

namespace qualia {
namespace {

using ::testing::HasSubstr;

std::string text_of(const FileMap& map) {
  return {reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size()};
}

class FileMapTest : public ::testing::Test {
 protected:
  FileMapTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("qualia_file_map_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~FileMapTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  std::filesystem::path folder_;
};

TEST_F(FileMapTest, ShowsTheSameBytesMappedAndRead) {
  std::string text(100'000, 'a');
  text[4096] = '\0';
  text.back() = 'z';
  const auto path = write("file", text);
  const Result<FileMap> mapped = FileMap::open(path);
  const Result<FileMap> read = FileMap::open(path, FileMap::Mode::read);
  ASSERT_TRUE(mapped && read);
  EXPECT_TRUE(mapped->is_mapped());
  EXPECT_FALSE(read->is_mapped());
  EXPECT_EQ(text_of(*mapped), text);
  EXPECT_EQ(text_of(*read), text);
}

TEST_F(FileMapTest, AnEmptyFileHasNoBytes) {
  for (const FileMap::Mode mode : {FileMap::Mode::map_or_read, FileMap::Mode::read}) {
    const Result<FileMap> map = FileMap::open(write("empty", ""), mode);
    ASSERT_TRUE(map.has_value());
    EXPECT_TRUE(map->bytes().empty());
  }
}

TEST_F(FileMapTest, OpensNamesInAnyScriptWithSpacesAndALeadingDash) {
  for (const char* const name : {"two words", "\u043c\u043e\u0434\u0435\u043b\u044c \u6a21\u578b",
                                 "-m", "quote'd \"name\""}) {
    const Result<FileMap> map = FileMap::open(write(name, "x"));
    ASSERT_TRUE(map.has_value()) << name;
    EXPECT_EQ(text_of(*map), "x");
  }
}

TEST_F(FileMapTest, AMissingFileIsNotFoundByItsName) {
  const Result<FileMap> map = FileMap::open(folder_ / "absent.gguf");
  ASSERT_FALSE(map.has_value());
  EXPECT_EQ(map.error().code, ErrorCode::not_found);
  EXPECT_THAT(map.error().message, HasSubstr("absent.gguf"));
}

TEST_F(FileMapTest, RefusesAFolder) {
  const Result<FileMap> map = FileMap::open(folder_);
  ASSERT_FALSE(map.has_value());
  EXPECT_EQ(map.error().code, ErrorCode::io);
  EXPECT_THAT(map.error().message, HasSubstr("not a regular file"));
}

TEST_F(FileMapTest, RefusesAPipeWithoutWaitingForItsWriter) {
  const auto path = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const Result<FileMap> map = FileMap::open(path);
  ASSERT_FALSE(map.has_value());
  EXPECT_THAT(map.error().message, HasSubstr("not a regular file"));
}

TEST_F(FileMapTest, MovingHandsTheBytesOver) {
  for (const FileMap::Mode mode : {FileMap::Mode::map_or_read, FileMap::Mode::read}) {
    Result<FileMap> first = FileMap::open(write("first", "first"), mode);
    Result<FileMap> second = FileMap::open(write("second", "second"), mode);
    ASSERT_TRUE(first && second);
    FileMap moved(std::move(*first));
    EXPECT_EQ(text_of(moved), "first");
    moved = std::move(*second);
    EXPECT_EQ(text_of(moved), "second");
    FileMap& same = moved;
    moved = std::move(same);
    EXPECT_EQ(text_of(moved), "second");
  }
}

TEST_F(FileMapTest, ReleasedBytesCanStillBeRead) {
  const std::string text(50'000, 'q');
  const Result<FileMap> map = FileMap::open(write("file", text));
  ASSERT_TRUE(map.has_value());
  map->release(0, text.size());
  map->release(10, 5);
  map->release(49'999, SIZE_MAX);
  map->release(SIZE_MAX, SIZE_MAX);
  EXPECT_EQ(text_of(*map), text);
}

TEST_F(FileMapTest, BorrowedBytesAreNotCopied) {
  const std::string text = "owned elsewhere";
  const auto bytes = std::as_bytes(std::span(text));
  const FileMap map = FileMap::borrow(bytes);
  EXPECT_EQ(map.bytes().data(), bytes.data());
  EXPECT_EQ(text_of(map), text);
  EXPECT_FALSE(map.is_mapped());
}

}  // namespace
}  // namespace qualia
