// Keys and values: rows G07, G08, G23 of the collected bug reports, and every value type.
#include "gguf/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "gguf/parse_test.h"
#include "support/temp_folder.h"

namespace qualia::gguf {
namespace {

using test::GgufBytes;
using test::GgufWriter;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint32_t kString = 8;
constexpr uint32_t kArray = 9;

// One array value: element type, count and the elements' bytes.
std::string array_bytes(uint32_t type_id, uint64_t count, std::string_view items) {
  return GgufBytes().number(type_id).number(count).raw(items).str();
}

std::string array_file(uint32_t type_id, uint64_t count, std::string_view items) {
  return GgufWriter().kv_raw("k", kArray, array_bytes(type_id, count, items)).bytes();
}

TEST(GgufMetadata, ReadsEveryScalarType) {
  const std::string bytes = GgufWriter()
                                .kv_u8("u8", 255)
                                .kv_i8("i8", -128)
                                .kv_u16("u16", 65535)
                                .kv_i16("i16", -32768)
                                .kv_u32("u32", 4294967295U)
                                .kv_i32("i32", -2147483647 - 1)
                                .kv_f32("f32", 1.5F)
                                .kv_bool("bool", true)
                                .kv_string("string", "h\xc3\xa9llo")
                                .kv_u64("u64", UINT64_MAX)
                                .kv_i64("i64", INT64_MIN)
                                .kv_f64("f64", -0.25)
                                .bytes();
  const auto file = File::parse(test::as_bytes(bytes), kTestName);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->entries().size(), 12U);
  EXPECT_EQ(file->find("u8")->value, Value(uint8_t{255}));
  EXPECT_EQ(file->find("i8")->value, Value(int8_t{-128}));
  EXPECT_EQ(file->find("u16")->value, Value(uint16_t{65535}));
  EXPECT_EQ(file->find("i16")->value, Value(int16_t{-32768}));
  EXPECT_EQ(file->find("u32")->value, Value(uint32_t{4294967295U}));
  EXPECT_EQ(file->find("i32")->value, Value(std::numeric_limits<int32_t>::min()));
  EXPECT_EQ(file->find("f32")->value, Value(1.5F));
  EXPECT_EQ(file->find("bool")->value, Value(true));
  EXPECT_EQ(file->find("string")->value, Value(std::string_view("h\xc3\xa9llo")));
  EXPECT_EQ(file->find("u64")->value, Value(uint64_t{UINT64_MAX}));
  EXPECT_EQ(file->find("i64")->value, Value(int64_t{INT64_MIN}));
  EXPECT_EQ(file->find("f64")->value, Value(-0.25));
}

template <typename T>
void expect_array(ValueType type, T first, T second) {
  const auto type_id = static_cast<uint32_t>(type);
  SCOPED_TRACE(value_type_name(type));
  const std::string bytes = array_file(type_id, 2, GgufBytes().number(first).number(second).str());
  const auto file = File::parse(test::as_bytes(bytes), kTestName);
  ASSERT_TRUE(file) << file.error().message;
  const Array* array = *file->get_array("k");
  ASSERT_NE(array, nullptr);
  EXPECT_EQ(array->type, type);
  EXPECT_EQ(array->size(), 2U);
  EXPECT_THAT(std::get<std::vector<T>>(array->items), ElementsAre(first, second));
}

TEST(GgufMetadata, ReadsArraysOfEveryNumber) {
  expect_array<uint8_t>(ValueType::u8, 1, 255);
  expect_array<int8_t>(ValueType::i8, -1, 127);
  expect_array<uint16_t>(ValueType::u16, 1, 65535);
  expect_array<int16_t>(ValueType::i16, -2, 3);
  expect_array<uint32_t>(ValueType::u32, 1, UINT32_MAX);
  expect_array<int32_t>(ValueType::i32, -2, 3);
  expect_array<float>(ValueType::f32, -2, 3);
  expect_array<uint8_t>(ValueType::boolean, 1, 0);
  expect_array<uint64_t>(ValueType::u64, 1, UINT64_MAX);
  expect_array<int64_t>(ValueType::i64, -2, INT64_MAX);
  expect_array<double>(ValueType::f64, -2, 3);
}

TEST(GgufMetadata, ReadsArraysOfStringsAndEmptyArrays) {
  const std::vector<std::string> words{"a", "", std::string("b\0c", 3)};
  const std::string bytes = GgufWriter().kv_strings("words", words).kv_strings("none", {}).bytes();
  const auto file = File::parse(test::as_bytes(bytes), kTestName);
  ASSERT_TRUE(file) << file.error().message;
  const Array* read = *file->get_array("words");
  EXPECT_THAT(std::get<std::vector<std::string_view>>(read->items),
              ElementsAre(words[0], words[1], words[2]));
  EXPECT_EQ((*file->get_array("none"))->size(), 0U);
}

TEST(GgufMetadata, ReadsNestedArrays) {
  const std::string inner = array_bytes(0, 2, "\x01\x02") + array_bytes(kString, 0, "");
  const std::string bytes = array_file(kArray, 2, inner);
  const auto file = File::parse(test::as_bytes(bytes), kTestName);
  ASSERT_TRUE(file) << file.error().message;
  const auto& arrays =
      std::get<std::vector<std::shared_ptr<const Array>>>((*file->get_array("k"))->items);
  ASSERT_EQ(arrays.size(), 2U);
  EXPECT_THAT(std::get<std::vector<uint8_t>>(arrays[0]->items), ElementsAre(1, 2));
  EXPECT_EQ(arrays[1]->type, ValueType::string);
}

std::string nested_file(int depth) {
  std::string value = array_bytes(0, 1, "\x07");
  for (int i = 1; i < depth; ++i) value = array_bytes(kArray, 1, value);
  return GgufWriter().kv_raw("k", kArray, value).bytes();
}

TEST(GgufMetadata, RefusesArraysNestedTooDeep) {
  EXPECT_EQ(message_of(nested_file(8)), "");
  EXPECT_EQ(message_of(nested_file(9)),
            "The array in Key 'k' of 't.gguf' is nested deeper than 8.");
  EXPECT_NE(message_of(nested_file(1000)), "");
}

TEST(GgufMetadata, RefusesAnEmptyKey) {
  EXPECT_EQ(message_of(GgufWriter().kv_u32("", 1).bytes()), "Key 0 of 't.gguf' is empty.");
}

TEST(GgufMetadata, RefusesAKeyLongerThanTheFormatAllows) {
  EXPECT_EQ(message_of(GgufWriter().kv_u32(std::string(65535, 'k'), 1).bytes()), "");
  EXPECT_EQ(message_of(GgufWriter().kv_u32(std::string(65536, 'k'), 1).bytes()),
            "A string in Key 0 of 't.gguf' claims 65536 bytes (at most 65535).");
}

TEST(GgufMetadata, RefusesADuplicateKeyByName) {
  EXPECT_EQ(message_of(GgufWriter().kv_u32("a.b", 1).kv_u8("c", 1).kv_i32("a.b", 2).bytes()),
            "Key 'a.b' appears twice in 't.gguf'.");
}

TEST(GgufMetadata, RefusesAnUnknownValueType) {
  EXPECT_EQ(message_of(GgufWriter().kv_raw("k", 13, "12345678").bytes()),
            "The value type 13 in Key 'k' of 't.gguf' is unknown (at most 12).");
  EXPECT_NE(message_of(array_file(0xffffffffU, 1, "12345678")), "");
}

TEST(GgufMetadata, RefusesABoolThatIsNeitherZeroNorOne) {
  EXPECT_EQ(message_of(GgufWriter().kv_raw("k", 7, "\x02").bytes()),
            "A bool in Key 'k' of 't.gguf' is 2 (0 or 1).");
  EXPECT_EQ(message_of(array_file(7, 2, "\x01\xff")),
            "A bool in Key 'k' of 't.gguf' is 255 (0 or 1).");
}

TEST(GgufMetadata, RefusesArraysThatTheFileCannotHold) {
  for (const uint64_t count : {uint64_t{3}, uint64_t{1} << 60, uint64_t{1} << 61, UINT64_MAX}) {
    for (const uint32_t type_id : {2U, 4U, 6U, kString, kArray, 10U, 12U}) {
      SCOPED_TRACE(testing::Message() << count << " of type " << type_id);
      EXPECT_THAT(message_of(array_file(type_id, count, "abcd")),
                  AllOf(HasSubstr("t.gguf"), HasSubstr("Key 'k'")));
    }
  }
}

TEST(GgufMetadata, RefusesMoreArrayItemsThanItsBudget) {
  // 9 Mi bytes twice: each array fits the budget of 16 Mi items, both together don't.
  const std::string items(9 << 20, '\x01');
  const std::string one = array_bytes(0, items.size(), items);
  EXPECT_EQ(message_of(GgufWriter().kv_raw("a", kArray, one).bytes()), "");
  EXPECT_EQ(message_of(GgufWriter().kv_raw("a", kArray, one).kv_raw("b", kArray, one).bytes()),
            "The arrays of 't.gguf' exceed 16777216 items in Key 'b'.");
}

TEST(GgufMetadata, RefusesTooManyInnerArrays) {
  const std::string empty = array_bytes(0, 0, "");
  std::string many;
  for (int i = 0; i < 65537; ++i) many += empty;
  EXPECT_EQ(message_of(array_file(kArray, 65536, many)), "");
  EXPECT_EQ(message_of(array_file(kArray, 65537, many)),
            "The arrays of 't.gguf' exceed 65536 items in Key 'k'.");
}

TEST(GgufMetadata, RefusesAStringThatEndsBehindTheFile) {
  for (const uint64_t size : {uint64_t{5}, uint64_t{1} << 27})
    EXPECT_THAT(
        message_of(
            GgufWriter().kv_raw("k", kString, GgufBytes().number(size).raw("abcd").str()).bytes()),
        HasSubstr("'t.gguf' is truncated: Key 'k' needs " + std::to_string(size)));
}

TEST(GgufMetadata, ReadsAVocabularyPieceOfOneMebibyte) {
  const std::vector<std::string> pieces{"a", std::string(1 << 20, 'x')};
  EXPECT_EQ(message_of(GgufWriter().kv_strings("tokenizer.ggml.tokens", pieces).bytes()), "");
}

TEST(GgufMetadata, RefusesAVocabularyPieceBeyondThirtyOneBits) {
  constexpr uint64_t kPieceBytes = (uint64_t{1} << 31) + 8;
  const test::TempFolder folder;
  const auto path = folder / "long piece.gguf";
  GgufWriter writer;
  writer.kv_raw("tokenizer.ggml.tokens", kArray,
                array_bytes(kString, 1, GgufBytes().number(kPieceBytes).str()));
  writer.write(path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) + kPieceBytes);  // sparse
  const auto file = File::open(path);
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, AllOf(HasSubstr(path.string()), HasSubstr("2147483656"),
                                          HasSubstr("tokenizer.ggml.tokens")));
}

TEST(GgufMetadata, FailsInsideTheSecondPairWithoutALeak) {
  const std::vector<std::string> pieces{"one", "two"};
  GgufWriter writer;
  writer.kv_strings("first", pieces).kv_strings("second", pieces);
  const std::string bytes = writer.bytes();
  EXPECT_THAT(message_of(bytes.substr(0, bytes.size() - 5)),
              AllOf(HasSubstr("truncated"), HasSubstr("Key 'second'")));
}

TEST(GgufMetadata, ShowsAHostileKeyEscapedAndShortened) {
  const std::string key = "\x1b]0;title\x07" + std::string(100, 'k');
  EXPECT_THAT(message_of(GgufWriter().kv_raw(key, 99, "").bytes()),
              AllOf(HasSubstr("'\\x1b]0;title\\x07kkk"), HasSubstr("kkk...'")));
}

}  // namespace
}  // namespace qualia::gguf
