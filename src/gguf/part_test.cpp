// The header: rows G01, G02, G04 of the collected bug reports.
#include "gguf/part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gguf/parse_test.h"

namespace qualia::gguf {
namespace {

using test::GgufWriter;
using testing::AllOf;
using testing::HasSubstr;

TEST(GgufHeader, RefusesAFileShorterThanTheHeader) {
  const std::string sound = sound_model().bytes();
  for (const size_t size : {0U, 4U, 8U, 23U}) {
    SCOPED_TRACE(size);
    const Error error = error_of(sound.substr(0, size));
    EXPECT_EQ(error.code, ErrorCode::corrupt_file);
    EXPECT_THAT(error.message, AllOf(HasSubstr("'t.gguf' is too short for a GGUF header"),
                                     HasSubstr(std::to_string(size) + " bytes (24 at least)")));
  }
}

TEST(GgufHeader, RefusesAFileThatEndsAfterTheHeader) {
  EXPECT_THAT(message_of(sound_model().bytes().substr(0, 24)),
              AllOf(HasSubstr("'t.gguf' claims 2 items in the list of keys"),
                    HasSubstr("(0 bytes are left)")));
}

TEST(GgufHeader, RefusesAnotherMagic) {
  EXPECT_EQ(message_of(sound_model().magic("FUGG").bytes()),
            "'t.gguf' starts with 'FUGG', not with 'GGUF'.");
  EXPECT_EQ(message_of("<!DOCTYPE html>"), "'t.gguf' starts with '<!DO', not with 'GGUF'.");
  EXPECT_EQ(message_of("\x1b[2J and more text that follows it"),
            "'t.gguf' starts with '\\x1b[2J', not with 'GGUF'.");
  EXPECT_EQ(message_of("GGx"), "'t.gguf' starts with 'GGx', not with 'GGUF'.");
}

TEST(GgufHeader, RefusesOtherVersionsThanTwoAndThree) {
  for (const uint32_t version : {0U, 1U, 4U, 65535U, 0xffffffffU}) {
    const Error error = error_of(sound_model().version(version).bytes());
    EXPECT_EQ(error.code, ErrorCode::unsupported);
    EXPECT_EQ(error.message,
              "'t.gguf' has the GGUF version " + std::to_string(version) + " (2 and 3 are read).");
  }
}

TEST(GgufHeader, ReadsVersionsTwoAndThree) {
  for (const uint32_t version : {2U, 3U}) {
    const std::string bytes = sound_model().version(version).bytes();
    const auto file = File::parse(test::as_bytes(bytes), kTestName);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->version(), version);
  }
}

TEST(GgufHeader, TellsABigEndianFile) {
  EXPECT_THAT(message_of(sound_model().version(0x03000000).bytes()),
              HasSubstr("is a big-endian GGUF file (version 3)"));
}

TEST(GgufHeader, RefusesCountsThatTheFileCannotHold) {
  struct Counts {
    uint64_t tensors, keys;
    std::string_view place;
  };
  constexpr uint64_t kMax = UINT64_MAX;
  constexpr uint64_t kHalf = uint64_t{1} << 63;
  for (const auto& [tensors, keys, place] :
       {Counts{kMax, 0, "the list of tensors"}, Counts{0, kMax, "the list of keys"},
        Counts{kHalf, kHalf, "the list of keys"}, Counts{1, 0, "the list of tensors"},
        Counts{0, 1, "the list of keys"}}) {
    const std::string bytes = GgufWriter().tensor_count(tensors).pair_count(keys).bytes();
    EXPECT_EQ(bytes.size(), 24U);
    EXPECT_THAT(message_of(bytes), AllOf(HasSubstr("t.gguf"), HasSubstr(place)));
  }
}

TEST(GgufHeader, RefusesOneKeyOrTensorMoreThanThereIs) {
  EXPECT_NE(message_of(sound_model().pair_count(3).bytes()), "");
  EXPECT_NE(message_of(sound_model().tensor_count(3).bytes()), "");
  // One less key moves the directory to a key; whatever it reads as, it is no tensor.
  EXPECT_NE(message_of(sound_model().pair_count(1).bytes()), "");
}

TEST(GgufHeader, ReadsAFileWithoutKeysAndTensors) {
  EXPECT_EQ(message_of(GgufWriter().bytes()), "");
}

}  // namespace
}  // namespace qualia::gguf
