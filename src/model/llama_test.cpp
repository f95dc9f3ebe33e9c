#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/architecture.h"
#include "model/llama_file_test.h"
#include "model/metadata.h"

namespace qualia::model {
namespace {

using ops::WeightRole;
using testing::HasSubstr;

Result<Decoder> read(const LlamaFile& llama) {
  const std::string bytes = llama.bytes();
  const auto file = gguf::File::parse(test::as_bytes(bytes), "tiny.gguf");
  if (!file) return tl::unexpected<Error>(file.error());
  return read_decoder(*file);
}

// The file is refused with `code` and a sentence that holds every word of `words`.
void expect_refused(const LlamaFile& llama, ErrorCode code, const std::vector<std::string>& words) {
  const auto decoder = read(llama);
  ASSERT_FALSE(decoder.has_value()) << words.front();
  EXPECT_EQ(decoder.error().code, code) << decoder.error().message;
  for (const std::string& word : words) EXPECT_THAT(decoder.error().message, HasSubstr(word));
}

struct Tiny {
  const char* name;
  uint32_t width, heads, kv_heads, head_dim, feed_forward, vocabulary, layers;
  bool tied;
  float epsilon;
};

// The table of tests/data/tiny/README.md.
constexpr Tiny kTinyModels[] = {
    {"f32", 36, 1, 1, 64, 84, 257, 1, false, 1e-5F},
    {"f16", 40, 4, 1, 80, 56, 263, 1, true, 1e-5F},
    {"bf16", 40, 2, 2, 96, 56, 263, 1, false, 1e-6F},
    {"q4_0", 96, 3, 1, 64, 160, 263, 2, true, 1e-5F},
    {"q4_1", 64, 7, 1, 64, 96, 267, 1, true, 1e-5F},
    {"q5_0", 64, 4, 1, 80, 160, 271, 1, true, 1e-5F},
    {"q5_1", 96, 3, 1, 96, 64, 289, 1, false, 1e-5F},
    {"q8_0", 64, 2, 2, 128, 96, 263, 1, true, 1e-6F},
    {"mix_k", 256, 4, 1, 64, 256, 263, 1, true, 1e-5F},
};

TEST(LlamaReader, ReadsTheSpecOfEveryTinyModel) {
  for (const Tiny& tiny : kTinyModels) {
    SCOPED_TRACE(tiny.name);
    const auto file = gguf::File::open(std::string("tests/data/tiny/") + tiny.name + ".gguf");
    ASSERT_TRUE(file.has_value()) << file.error().message;
    const auto decoder = read_decoder(*file);
    ASSERT_TRUE(decoder.has_value()) << decoder.error().message;
    const ops::DecoderSpec& spec = decoder->spec;
    EXPECT_EQ(spec.architecture, "llama");
    EXPECT_EQ(spec.width, tiny.width);
    EXPECT_EQ(spec.vocabulary_size, tiny.vocabulary);
    EXPECT_EQ(spec.output_is_tied, tiny.tied);
    EXPECT_EQ(spec.norm_epsilon, tiny.epsilon);
    ASSERT_EQ(spec.layers.size(), tiny.layers);
    const ops::LayerSpec& layer = spec.layers.back();
    EXPECT_EQ(layer.attention.head_count, tiny.heads);
    EXPECT_EQ(layer.attention.kv_head_count, tiny.kv_heads);
    EXPECT_EQ(layer.attention.head_dim, tiny.head_dim);
    EXPECT_FLOAT_EQ(layer.attention.score_scale,
                    1.0F / std::sqrt(static_cast<float>(tiny.head_dim)));
    EXPECT_EQ(layer.attention.rope.kind, ops::RopeKind::interleaved);
    EXPECT_EQ(layer.attention.rope.dims, tiny.head_dim);
    EXPECT_EQ(layer.attention.rope.position_scale, 1.0F);
    EXPECT_EQ(layer.feed_forward.width, tiny.feed_forward);
    EXPECT_EQ(decoder->weights.all().size(), 2U + 9U * tiny.layers + (tiny.tied ? 0U : 1U));
  }
}

TEST(LlamaReader, SaysWhereEachWeightLies) {
  const auto file = gguf::File::open("tests/data/tiny/q4_0.gguf");
  ASSERT_TRUE(file.has_value());
  const auto decoder = read_decoder(*file);
  ASSERT_TRUE(decoder.has_value());
  const ops::WeightView* down = decoder->weights.find(WeightRole::down, 1);
  ASSERT_NE(down, nullptr);
  const gguf::TensorInfo* tensor = file->find_tensor("blk.1.ffn_down.weight");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(down->name, "blk.1.ffn_down.weight");
  EXPECT_EQ(down->file, file->paths()[0]);
  EXPECT_EQ(down->file_offset, tensor->file_offset);
  EXPECT_EQ(down->size_bytes, tensor->size_bytes);
  EXPECT_EQ(down->dtype, DType::q4_0);
  EXPECT_EQ(down->shape.dims[0], 160U);
  EXPECT_EQ(down->shape.dims[1], 96U);
}

// Row N11.
TEST(LlamaReader, TakesTheEmbeddingAsOutputWhereTheFileHasNone) {
  const auto tied = read(LlamaFile().without("output.weight"));
  ASSERT_TRUE(tied.has_value()) << tied.error().message;
  EXPECT_TRUE(tied->spec.output_is_tied);
  EXPECT_EQ(tied->weights.find(WeightRole::output), nullptr);
  const auto untied = read(LlamaFile());
  ASSERT_TRUE(untied.has_value()) << untied.error().message;
  EXPECT_FALSE(untied->spec.output_is_tied);
  EXPECT_NE(untied->weights.find(WeightRole::output), nullptr);
}

// Row G20.
TEST(LlamaReader, RefusesZeroAndNamesTheKey) {
  for (const char* key :
       {"llama.attention.head_count", "llama.attention.head_count_kv", "llama.block_count",
        "llama.embedding_length", "llama.context_length", "llama.feed_forward_length"})
    expect_refused(LlamaFile().u32(key, 0), ErrorCode::corrupt_file, {key, " is 0 "});
}

TEST(LlamaReader, RefusesNumbersBeyondAllModelsAndNamesTheKey) {
  for (const char* key :
       {"llama.attention.head_count", "llama.attention.head_count_kv", "llama.block_count",
        "llama.embedding_length", "llama.context_length", "llama.feed_forward_length"})
    expect_refused(LlamaFile().u32(key, 0xFFFFFFFF), ErrorCode::corrupt_file, {key, "4294967295"});
}

TEST(LlamaReader, RefusesAFileWithoutAKeyItNeeds) {
  // Row N14: the epsilon has no default.
  for (const char* key :
       {"llama.attention.head_count", "llama.block_count", "llama.embedding_length",
        "llama.context_length", "llama.feed_forward_length",
        "llama.attention.layer_norm_rms_epsilon", "general.architecture"})
    expect_refused(LlamaFile().without(key), ErrorCode::corrupt_file, {key, "missing"});
}

// Row N14: a LayerNorm's epsilon is another key.
TEST(LlamaReader, DoesNotTakeALayerNormsEpsilonForItsOwn) {
  expect_refused(LlamaFile()
                     .without("llama.attention.layer_norm_rms_epsilon")
                     .f32("llama.attention.layer_norm_epsilon", 1e-5F),
                 ErrorCode::corrupt_file, {"layer_norm_rms_epsilon"});
}

TEST(LlamaReader, RefusesNumbersThatAreNone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const char* key : {"llama.attention.layer_norm_rms_epsilon", "llama.rope.freq_base",
                          "llama.rope.scaling.factor"})
    for (const float value : {0.0F, -1.0F, nan, infinity, 1e-42F})
      expect_refused(LlamaFile().f32(key, value), ErrorCode::corrupt_file, {key});
}

TEST(LlamaReader, RefusesAValueOfAnotherType) {
  expect_refused(LlamaFile().string("llama.attention.head_count", "2"), ErrorCode::corrupt_file,
                 {"llama.attention.head_count"});
  const std::vector<uint32_t> per_layer{2, 2};
  expect_refused(LlamaFile().set("llama.attention.head_count_kv",
                                 [&](test::GgufWriter& to) {
                                   to.kv_u32s("llama.attention.head_count_kv", per_layer);
                                 }),
                 ErrorCode::corrupt_file, {"llama.attention.head_count_kv"});
  expect_refused(LlamaFile().u32("general.architecture", 1), ErrorCode::corrupt_file,
                 {"general.architecture"});
}

// Row N08.
TEST(LlamaReader, RefusesRopeScalingThatItLacksByName) {
  for (const char* type : {"yarn", "longrope", "foo", ""})
    expect_refused(
        LlamaFile().string("llama.rope.scaling.type", type).f32("llama.rope.scaling.factor", 4),
        ErrorCode::unsupported, {std::string("'") + type + "'", "llama.rope.scaling.type"});
}

// Row N08.
TEST(LlamaReader, AppliesLinearRopeScaling) {
  const auto scale = [](const LlamaFile& llama) {
    const auto decoder = read(llama);
    return decoder ? decoder->spec.layers[0].attention.rope.position_scale : -1.0F;
  };
  EXPECT_EQ(scale(LlamaFile()), 1.0F);
  LlamaFile with_factor = LlamaFile().f32("llama.rope.scaling.factor", 4);
  EXPECT_EQ(scale(with_factor), 0.25F);  // a factor alone is linear
  EXPECT_EQ(scale(with_factor.string("llama.rope.scaling.type", "linear")), 0.25F);
  EXPECT_EQ(scale(with_factor.string("llama.rope.scaling.type", "none")), 1.0F);
  EXPECT_EQ(scale(LlamaFile().f32("llama.rope.scale_linear", 2)), 0.5F);
}

TEST(LlamaReader, ReadsRopeDimsAndBase) {
  const auto decoder =
      read(LlamaFile().u32("llama.rope.dimension_count", 2).f32("llama.rope.freq_base", 5e5F));
  ASSERT_TRUE(decoder.has_value()) << decoder.error().message;
  EXPECT_EQ(decoder->spec.layers[0].attention.rope.dims, 2U);
  EXPECT_EQ(decoder->spec.layers[0].attention.rope.frequency_base, 5e5F);
  expect_refused(LlamaFile().u32("llama.rope.dimension_count", 3), ErrorCode::corrupt_file,
                 {"llama.rope.dimension_count", "even"});
  expect_refused(LlamaFile().u32("llama.rope.dimension_count", 6), ErrorCode::corrupt_file,
                 {"llama.rope.dimension_count", "6"});
}

TEST(LlamaReader, RefusesHeadCountsThatDoNotDivide) {
  expect_refused(LlamaFile().u32("llama.attention.head_count", 3), ErrorCode::corrupt_file,
                 {"llama.attention.head_count", "3", "8"});
  expect_refused(
      LlamaFile().u32("llama.attention.head_count", 4).u32("llama.attention.head_count_kv", 3),
      ErrorCode::corrupt_file, {"llama.attention.head_count_kv", "3", "4"});
  expect_refused(LlamaFile().u32("llama.attention.head_count_kv", 4), ErrorCode::corrupt_file,
                 {"llama.attention.head_count_kv"});
}

TEST(LlamaReader, TakesAsManyKvHeadsAsHeadsWhereTheFileDoesNotSay) {
  const auto decoder = read(LlamaFile()
                                .without("llama.attention.head_count_kv")
                                .tensor("blk.0.attn_k.weight", {8, 8})
                                .tensor("blk.0.attn_v.weight", {8, 8}));
  ASSERT_TRUE(decoder.has_value()) << decoder.error().message;
  EXPECT_EQ(decoder->spec.layers[0].attention.kv_head_count, 2U);
}

TEST(LlamaReader, TakesTheHeadSizeThatTheFileNames) {
  LlamaFile llama = LlamaFile()
                        .u32("llama.attention.key_length", 6)
                        .tensor("blk.0.attn_q.weight", {8, 12})
                        .tensor("blk.0.attn_k.weight", {8, 6})
                        .tensor("blk.0.attn_v.weight", {8, 6})
                        .tensor("blk.0.attn_output.weight", {12, 8});
  const auto decoder = read(llama);
  ASSERT_TRUE(decoder.has_value()) << decoder.error().message;
  EXPECT_EQ(decoder->spec.layers[0].attention.head_dim, 6U);
  EXPECT_TRUE(read(llama.u32("llama.attention.value_length", 6)).has_value());
  expect_refused(llama.u32("llama.attention.value_length", 4), ErrorCode::unsupported, {"4", "6"});
  expect_refused(LlamaFile().u32("llama.attention.key_length", 0), ErrorCode::corrupt_file,
                 {"llama.attention.key_length"});
  expect_refused(LlamaFile().u32("llama.attention.key_length", 8), ErrorCode::corrupt_file,
                 {"blk.0.attn_q.weight"});
}

TEST(LlamaReader, RefusesAFileThatLacksATensor) {
  for (const char* name : {"token_embd.weight", "output_norm.weight", "blk.0.attn_norm.weight",
                           "blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight",
                           "blk.0.attn_output.weight", "blk.0.ffn_norm.weight",
                           "blk.0.ffn_gate.weight", "blk.0.ffn_up.weight", "blk.0.ffn_down.weight"})
    expect_refused(LlamaFile().without(name), ErrorCode::corrupt_file, {name, "missing"});
  expect_refused(LlamaFile().u32("llama.block_count", 2), ErrorCode::corrupt_file, {"blk.1."});
}

TEST(LlamaReader, RefusesAWeightOfAnotherShape) {
  for (const auto& [name, dims] : std::initializer_list<std::pair<const char*, LlamaFile::Dims>>{
           {"token_embd.weight", {10, 8}},
           {"output.weight", {8, 11}},
           {"output_norm.weight", {9}},
           {"blk.0.attn_norm.weight", {8, 2}},
           {"blk.0.attn_q.weight", {8, 4}},
           {"blk.0.attn_k.weight", {4, 8}},
           {"blk.0.attn_v.weight", {8, 8}},
           {"blk.0.attn_output.weight", {4, 8}},
           {"blk.0.ffn_gate.weight", {12, 8}},
           {"blk.0.ffn_up.weight", {8, 12, 2}},
           {"blk.0.ffn_down.weight", {8, 12}}})
    expect_refused(LlamaFile().tensor(name, dims), ErrorCode::corrupt_file, {name, "expected"});
}

// Without them replies would be silently wrong: biases, experts, Llama 3.1's RoPE factors.
TEST(LlamaReader, RefusesATensorThatItDoesNotKnow) {
  for (const auto& [name, dims] : std::initializer_list<std::pair<const char*, LlamaFile::Dims>>{
           {"rope_freqs.weight", {2}},
           {"blk.0.attn_q.bias", {8}},
           {"blk.0.attn_q_norm.weight", {4}},
           {"blk.0.ffn_gate_inp.weight", {8, 4}},
           {"blk.1.attn_q.weight", {8, 8}}})
    expect_refused(LlamaFile().tensor(name, dims), ErrorCode::unsupported, {name});
  expect_refused(LlamaFile().u32("llama.expert_count", 8), ErrorCode::unsupported, {"8 experts"});
}

TEST(LlamaReader, RefusesAnArchitectureThatItDoesNotKnowAndNamesThoseItDoes) {
  expect_refused(LlamaFile().string("general.architecture", "mamba"), ErrorCode::unsupported,
                 {"mamba", "llama"});
}

TEST(LlamaReader, RefusesToRunAVocabulary) {
  const std::string bytes = test::GgufWriter().kv_string("general.architecture", "llama").bytes();
  const auto file = gguf::File::parse(test::as_bytes(bytes), "vocabulary.gguf");
  ASSERT_TRUE(file.has_value());
  const auto decoder = read_decoder(*file);
  ASSERT_FALSE(decoder.has_value());
  EXPECT_EQ(decoder.error().code, ErrorCode::unsupported);
  EXPECT_THAT(decoder.error().message, HasSubstr("no weights"));
}

}  // namespace
}  // namespace qualia::model
