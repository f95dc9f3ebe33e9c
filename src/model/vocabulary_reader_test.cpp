#include "model/vocabulary_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/gguf_writer.h"

namespace qualia::model {
namespace {

using test::GgufWriter;
using testing::HasSubstr;

Result<std::optional<tokenizer::Vocabulary>> read(const GgufWriter& writer) {
  const std::string bytes = writer.bytes();
  const auto file = gguf::File::parse(test::as_bytes(bytes), "vocabulary.gguf");
  if (!file) return tl::unexpected<Error>(file.error());
  return read_vocabulary(*file);
}

GgufWriter with_tokens(const std::vector<std::string>& tokens) {
  return GgufWriter()
      .kv_string("tokenizer.ggml.model", "gpt2")
      .kv_strings("tokenizer.ggml.tokens", tokens);
}

void expect_corrupt(const GgufWriter& writer, const std::vector<std::string>& words) {
  const auto vocabulary = read(writer);
  ASSERT_FALSE(vocabulary.has_value()) << words.front();
  EXPECT_EQ(vocabulary.error().code, ErrorCode::corrupt_file);
  for (const std::string& word : words) EXPECT_THAT(vocabulary.error().message, HasSubstr(word));
}

TEST(VocabularyReader, ReadsEveryField) {
  const std::vector<std::string> merges{"a b"};
  const std::vector<int32_t> types{1, 1, 3, 4};
  const std::vector<float> scores{0, -1, -2, -3};
  const auto read_back = read(with_tokens({"a", "b", "<s>", "ab"})
                                  .kv_string("tokenizer.ggml.pre", "qwen2")
                                  .kv_strings("tokenizer.ggml.merges", merges)
                                  .kv_i32s("tokenizer.ggml.token_type", types)
                                  .kv_f32s("tokenizer.ggml.scores", scores)
                                  .kv_u32("tokenizer.ggml.bos_token_id", 2)
                                  .kv_i32("tokenizer.ggml.eos_token_id", 1)
                                  .kv_u64("tokenizer.ggml.eot_token_id", 3)
                                  .kv_u32("tokenizer.ggml.unknown_token_id", 0)
                                  .kv_u32("tokenizer.ggml.padding_token_id", 3)
                                  .kv_bool("tokenizer.ggml.add_bos_token", true)
                                  .kv_bool("tokenizer.ggml.add_eos_token", false)
                                  .kv_bool("tokenizer.ggml.add_space_prefix", false)
                                  .kv_string("tokenizer.chat_template", "{{ x }}"));
  ASSERT_TRUE(read_back.has_value()) << read_back.error().message;
  ASSERT_TRUE(read_back->has_value());
  const tokenizer::Vocabulary& vocabulary = **read_back;
  EXPECT_EQ(vocabulary.model, "gpt2");
  EXPECT_EQ(vocabulary.pre, "qwen2");
  EXPECT_EQ(vocabulary.tokens, (std::vector<std::string>{"a", "b", "<s>", "ab"}));
  EXPECT_EQ(vocabulary.merges, merges);
  EXPECT_EQ(vocabulary.scores, scores);
  EXPECT_EQ(vocabulary.types[2], tokenizer::TokenType::control);
  EXPECT_EQ(vocabulary.bos, 2);
  EXPECT_EQ(vocabulary.eos, 1);
  EXPECT_EQ(vocabulary.eot, 3);
  EXPECT_EQ(vocabulary.unknown, 0);
  EXPECT_EQ(vocabulary.padding, 3);
  EXPECT_EQ(vocabulary.add_bos, true);
  EXPECT_EQ(vocabulary.add_eos, false);
  EXPECT_EQ(vocabulary.add_space_prefix, false);
  EXPECT_EQ(vocabulary.chat_template, "{{ x }}");
}

TEST(VocabularyReader, TellsAFileWithoutATokenizer) {
  for (const GgufWriter& writer :
       {GgufWriter().kv_string("tokenizer.ggml.model", "none"), GgufWriter()}) {
    const auto vocabulary = read(writer);
    ASSERT_TRUE(vocabulary.has_value());
    EXPECT_FALSE(vocabulary->has_value());
  }
}

// Row G19.
TEST(VocabularyReader, RefusesASpecialIdBeyondTheVocabularyAndNamesBoth) {
  for (const char* name : {"bos", "eos", "eot", "unknown", "padding"}) {
    const std::string key = std::string("tokenizer.ggml.") + name + "_token_id";
    for (const uint32_t id : {1U, 2U, 0xFFFFFFFFU})
      expect_corrupt(with_tokens({"a"}).kv_u32(key, id),
                     {key, " " + std::to_string(id) + " ", "1 tokens"});
    expect_corrupt(with_tokens({"a"}).kv_i32(key, -1), {key});
  }
}

TEST(VocabularyReader, RefusesUnknownTokenTypes) {
  for (const int32_t type : {-1, 7, 1 << 30}) {
    const std::vector<int32_t> types{1, type};
    expect_corrupt(with_tokens({"a", "b"}).kv_i32s("tokenizer.ggml.token_type", types),
                   {"tokenizer.ggml.token_type", std::to_string(type)});
  }
}

TEST(VocabularyReader, RefusesArraysOfAnotherType) {
  const std::vector<uint32_t> numbers{1};
  for (const char* key :
       {"tokenizer.ggml.token_type", "tokenizer.ggml.merges", "tokenizer.ggml.scores"})
    expect_corrupt(with_tokens({"a"}).kv_u32s(key, numbers), {key});
  expect_corrupt(GgufWriter()
                     .kv_string("tokenizer.ggml.model", "gpt2")
                     .kv_u32s("tokenizer.ggml.tokens", numbers),
                 {"tokenizer.ggml.tokens"});
  expect_corrupt(with_tokens({"a"}).kv_string("tokenizer.ggml.merges", "a b"),
                 {"tokenizer.ggml.merges"});
}

}  // namespace
}  // namespace qualia::model
