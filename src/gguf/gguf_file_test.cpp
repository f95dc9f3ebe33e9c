// Whole files: rows G15 and G16 of the collected bug reports, real files, damaged files, typed
// access.
#include "gguf/gguf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "gguf/parse_test.h"
#include "support/temp_folder.h"

namespace qualia::gguf {
namespace {

using test::GgufWriter;
using testing::HasSubstr;

constexpr const char* kModels[] = {"f32",  "f16",  "bf16", "q4_0", "q4_1",
                                   "q5_0", "q5_1", "q8_0", "mix_k"};

std::filesystem::path tiny_path(std::string_view name) {
  return "tests/data/tiny/" + std::string(name) + ".gguf";
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(GgufFile, ReadsWhatAnotherProgramWrote) {
  for (const char* name : kModels) {
    SCOPED_TRACE(name);
    const auto file = File::open(tiny_path(name));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->version(), 3U);
    EXPECT_EQ(file->get_string("general.architecture").value(), "llama");
    const Array* tokens = file->get_array("tokenizer.ggml.tokens").value();
    ASSERT_NE(tokens, nullptr);
    const TensorInfo* embedding = file->find_tensor("token_embd.weight");
    ASSERT_NE(embedding, nullptr);
    EXPECT_EQ(embedding->shape.columns(), file->get_uint("llama.embedding_length").value());
    EXPECT_EQ(embedding->shape.rows(), tokens->size());
    const TensorInfo* norm = file->find_tensor("output_norm.weight");
    ASSERT_NE(norm, nullptr);
    EXPECT_EQ(norm->dtype, DType::f32);
    float first = 0;
    std::memcpy(&first, file->view(*norm).bytes.data(), sizeof first);
    EXPECT_NEAR(first, 1.0, 0.6);  // the generator's norms are 1 with a deviation of 0.1
  }
}

TEST(GgufFile, ReadsTheSameMappedAndUnmapped) {
  const auto mapped = File::open(tiny_path("q4_0"));
  const auto read = File::open(tiny_path("q4_0"), FileMap::Mode::read);
  ASSERT_TRUE(mapped && read);
  EXPECT_FALSE(read->map(0).is_mapped());
  ASSERT_EQ(mapped->tensors().size(), read->tensors().size());
  for (size_t i = 0; i < mapped->tensors().size(); ++i) {
    const auto a = mapped->view(mapped->tensors()[i]).bytes;
    const auto b = read->view(read->tensors()[i]).bytes;
    EXPECT_TRUE(std::ranges::equal(a, b)) << mapped->tensors()[i].name;
  }
}

TEST(GgufFile, StaysValidWhenMoved) {
  for (const auto mode : {FileMap::Mode::map_or_read, FileMap::Mode::read}) {
    auto opened = File::open(tiny_path("f32"), mode);
    ASSERT_TRUE(opened);
    const File moved = std::move(*opened);
    EXPECT_EQ(moved.get_string("general.architecture").value(), "llama");
    EXPECT_NE(moved.find_tensor("output_norm.weight"), nullptr);
  }
}

TEST(GgufFile, OpensPathsWithSpacesAnyScriptAndALeadingDash) {
  const test::TempFolder folder;
  for (const char* name : {"a b.gguf", "-m.gguf", "モデル ü.gguf", "no extension"}) {
    sound_model().write(folder / name);
    EXPECT_TRUE(File::open(folder / name)) << name;
  }
}

TEST(GgufFile, RefusesAPathThatIsNoFile) {
  const test::TempFolder folder;
  EXPECT_EQ(File::open(folder / "absent.gguf").error().code, ErrorCode::not_found);
  EXPECT_EQ(File::open(folder.path()).error().code, ErrorCode::io);
}

TEST(GgufFile, RefusesATruncatedFileBeforeAnyTensorIsRead) {
  const test::TempFolder folder;
  const std::string bytes = contents(tiny_path("q4_0"));
  const uint64_t data_offset = File::open(tiny_path("q4_0"))->tensors()[0].file_offset;
  for (const uint64_t size : {bytes.size() - 1, bytes.size() / 2, size_t{data_offset}}) {
    test::write_file(folder / "cut.gguf", bytes.substr(0, size));
    for (const auto mode : {FileMap::Mode::map_or_read, FileMap::Mode::read}) {
      const auto file = File::open(folder / "cut.gguf", mode);
      ASSERT_FALSE(file) << size;
      EXPECT_EQ(file.error().code, ErrorCode::corrupt_file);
      EXPECT_THAT(file.error().message, HasSubstr("(file has " + std::to_string(size) + ")"));
    }
  }
}

TEST(GgufFile, RefusesEveryPrefixOfAModel) {
  const std::string bytes = sound_model().bytes();
  ASSERT_EQ(message_of(bytes), "");
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Error error = error_of(bytes.substr(0, size));
    EXPECT_EQ(error.code, ErrorCode::corrupt_file) << size;
    EXPECT_THAT(error.message, HasSubstr("t.gguf")) << size;
  }
}

TEST(GgufFile, ReadsAnAcceptedFileOfFlippedBytesOnlyInside) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const std::string sound = sound_model().bytes();
  const uint64_t head_size = sound_model().data_offset();
  size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = sound;
    for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips)
      bytes[random() % head_size] = static_cast<char>(random());
    const auto file = File::parse(test::as_bytes(bytes), kTestName);
    if (!file) {
      ++refused;
      EXPECT_NE(file.error().message, "");
      continue;
    }
    for (const TensorInfo& tensor : file->tensors())
      EXPECT_LE(tensor.file_offset + tensor.size_bytes, bytes.size());
  }
  EXPECT_GT(refused, 0U);
}

TEST(GgufFile, ConvertsIntegersThatFit) {
  const std::string bytes =
      GgufWriter().kv_i8("small", 7).kv_i64("negative", -1).kv_u64("large", UINT64_MAX).bytes();
  const File file = File::parse(test::as_bytes(bytes), kTestName).value();
  EXPECT_EQ(file.get_uint("small").value(), 7U);
  EXPECT_EQ(file.get_uint("large").value(), UINT64_MAX);
  EXPECT_EQ(file.get_uint("absent").value(), std::nullopt);
  EXPECT_EQ(file.get_uint("negative").error().message,
            "Key 'negative' of 't.gguf' is -1 (a count is at least 0).");
  EXPECT_EQ(file.get_float("negative").value(), -1.0);
}

TEST(GgufFile, RefusesAValueOfAnotherKind) {
  const std::string bytes = GgufWriter()
                                .kv_f32("f", 0.5F)
                                .kv_string("s", "text")
                                .kv_bool("b", true)
                                .kv_strings("a", std::vector<std::string>{"x"})
                                .bytes();
  const File file = File::parse(test::as_bytes(bytes), kTestName).value();
  EXPECT_EQ(file.get_uint("f").error().message,
            "Key 'f' of 't.gguf' has the type f32 (an integer expected).");
  EXPECT_EQ(file.get_uint("b").error().code, ErrorCode::corrupt_file);
  EXPECT_EQ(file.get_float("s").error().message,
            "Key 's' of 't.gguf' has the type string (a number expected).");
  EXPECT_EQ(file.get_bool("f").error().message,
            "Key 'f' of 't.gguf' has the type f32 (a bool expected).");
  EXPECT_EQ(file.get_string("a").error().message,
            "Key 'a' of 't.gguf' has the type array (a string expected).");
  EXPECT_EQ(file.get_array("s").error().message,
            "Key 's' of 't.gguf' has the type string (an array expected).");
  EXPECT_EQ(file.get_bool("b").value(), true);
  EXPECT_EQ(file.get_float("f").value(), 0.5);
  EXPECT_EQ(file.get_array("absent").value(), nullptr);
  EXPECT_EQ(file.get_bool("absent").value(), std::nullopt);
  EXPECT_EQ(file.get_string("absent").value(), std::nullopt);
}

}  // namespace
}  // namespace qualia::gguf
