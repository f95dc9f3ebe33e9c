// The llama architecture: pre-norm decoder, RMS norm, grouped-query attention with RoPE over
// interleaved pairs, SwiGLU. Source: Touvron et al. 2023; keys and tensor names of ggml's gguf.md.

#include <cmath>
#include <optional>
#include <string>

#include "base/error.h"
#include "model/architecture.h"
#include "model/metadata.h"
#include "model/weight_reader.h"

namespace qualia::model {
namespace {

using ops::WeightRole;

// Sanity limits, far above any published model, so that products of them fit 64 bits.
constexpr uint32_t kLayersMax = 4096;
constexpr uint32_t kWidthMax = 1U << 20;
constexpr uint32_t kHeadsMax = 1U << 16;
constexpr uint32_t kHeadDimMax = 1U << 12;
// Positions are int32 in many tools; 2^31 - 1 is the most that makes sense.
constexpr uint32_t kContextMax = 0x7FFFFFFF;

Result<ops::RopeSpec> read_rope(const Metadata& metadata, uint32_t head_dim) {
  ops::RopeSpec rope{.kind = ops::RopeKind::interleaved};
  QUALIA_ASSIGN(rope.dims, metadata.with_default("rope.dimension_count", 2, head_dim, head_dim));
  if (rope.dims % 2 != 0)
    return corrupt_file(
        "RoPE rotates {} values of each head (metadata '{}'; an even number is needed).", rope.dims,
        metadata.key("rope.dimension_count"));
  QUALIA_ASSIGN(rope.frequency_base, metadata.positive_with_default("rope.freq_base", 10000.0F));

  const std::string type_key = metadata.key("rope.scaling.type");
  QUALIA_ASSIGN(const std::optional<std::string_view> type, metadata.file().get_string(type_key));
  // Before rope.scaling.type existed, linear scaling was written as rope.scale_linear.
  QUALIA_ASSIGN(const float old_factor, metadata.positive_with_default("rope.scale_linear", 1.0F));
  QUALIA_ASSIGN(const float factor,
                metadata.positive_with_default("rope.scaling.factor", old_factor));
  if (type && *type != "none" && *type != "linear")
    return unsupported("RoPE scaling '{}' (metadata '{}') is unknown to this build (none, linear).",
                       *type, type_key);
  if (!type || *type == "linear") rope.position_scale = 1.0F / factor;
  return rope;
}

// What the file says, else an even share of the width.
Result<uint32_t> read_head_dim(const Metadata& metadata, uint32_t width, uint32_t head_count) {
  constexpr std::string_view kName = "attention.key_length";
  if (!metadata.has(kName) && width % head_count != 0)
    return corrupt_file("Metadata '{}' is {}, which does not divide the width of {}.",
                        metadata.key("attention.head_count"), head_count, width);
  return metadata.with_default(kName, 2, kHeadDimMax, width / head_count);
}

Result<ops::AttentionSpec> read_attention(const Metadata& metadata, uint32_t width) {
  ops::AttentionSpec attention;
  QUALIA_ASSIGN(attention.head_count, metadata.required("attention.head_count", 1, kHeadsMax));
  QUALIA_ASSIGN(attention.kv_head_count, metadata.with_default("attention.head_count_kv", 1,
                                                               kHeadsMax, attention.head_count));
  if (attention.head_count % attention.kv_head_count != 0)
    return corrupt_file("Metadata '{}' is {}, which does not divide the {} heads.",
                        metadata.key("attention.head_count_kv"), attention.kv_head_count,
                        attention.head_count);
  QUALIA_ASSIGN(attention.head_dim, read_head_dim(metadata, width, attention.head_count));
  QUALIA_ASSIGN(const uint32_t value_dim, metadata.with_default("attention.value_length", 2,
                                                                kHeadDimMax, attention.head_dim));
  if (value_dim != attention.head_dim)
    return unsupported("Value heads of {} beside key heads of {} are unknown to this build.",
                       value_dim, attention.head_dim);
  attention.score_scale = 1.0F / std::sqrt(static_cast<float>(attention.head_dim));
  QUALIA_ASSIGN(attention.rope, read_rope(metadata, attention.head_dim));
  return attention;
}

Result<ops::DecoderSpec> read_spec(const Metadata& metadata, std::string_view architecture) {
  ops::DecoderSpec spec{.architecture = std::string(architecture)};
  QUALIA_ASSIGN(const uint32_t layer_count, metadata.required("block_count", 1, kLayersMax));
  QUALIA_ASSIGN(spec.width, metadata.required("embedding_length", 1, kWidthMax));
  QUALIA_ASSIGN(spec.context_length, metadata.required("context_length", 1, kContextMax));
  QUALIA_ASSIGN(spec.norm_epsilon, metadata.required_positive("attention.layer_norm_rms_epsilon"));
  ops::LayerSpec layer;
  QUALIA_ASSIGN(layer.attention, read_attention(metadata, spec.width));
  QUALIA_ASSIGN(layer.feed_forward.width, metadata.required("feed_forward_length", 1, kWidthMax));
  QUALIA_ASSIGN(const uint32_t experts, metadata.with_default("expert_count", 0, kHeadsMax, 0));
  if (experts > 0) return unsupported("A mixture of {} experts is unknown to this build.", experts);
  spec.layers.assign(layer_count, layer);
  return spec;
}

Result<void> take_layer(WeightReader& reader, const ops::DecoderSpec& spec, uint32_t index) {
  const ops::LayerSpec& layer = spec.layers[index];
  const uint64_t width = spec.width;
  const uint64_t q_rows = uint64_t{layer.attention.head_count} * layer.attention.head_dim;
  const uint64_t kv_rows = uint64_t{layer.attention.kv_head_count} * layer.attention.head_dim;
  const uint64_t ff = layer.feed_forward.width;
  const auto name = [index](const char* part) {
    return fmt::format("blk.{}.{}.weight", index, part);
  };
  QUALIA_TRY(reader.take(WeightRole::attention_norm, index, name("attn_norm"), {width}));
  QUALIA_TRY(reader.take(WeightRole::query, index, name("attn_q"), {width, q_rows}));
  QUALIA_TRY(reader.take(WeightRole::key, index, name("attn_k"), {width, kv_rows}));
  QUALIA_TRY(reader.take(WeightRole::value, index, name("attn_v"), {width, kv_rows}));
  QUALIA_TRY(
      reader.take(WeightRole::attention_output, index, name("attn_output"), {q_rows, width}));
  QUALIA_TRY(reader.take(WeightRole::feed_forward_norm, index, name("ffn_norm"), {width}));
  QUALIA_TRY(reader.take(WeightRole::gate, index, name("ffn_gate"), {width, ff}));
  QUALIA_TRY(reader.take(WeightRole::up, index, name("ffn_up"), {width, ff}));
  return reader.take(WeightRole::down, index, name("ffn_down"), {ff, width});
}

}  // namespace

Result<Decoder> read_llama(const gguf::File& file, std::string_view architecture) {
  const Metadata metadata(file, architecture);
  Decoder decoder;
  QUALIA_ASSIGN(decoder.spec, read_spec(metadata, architecture));
  ops::DecoderSpec& spec = decoder.spec;

  WeightReader reader(file);
  // The embedding's rows are the vocabulary, whatever vocab_size says.
  const gguf::TensorInfo* embedding = file.find_tensor("token_embd.weight");
  if (!embedding) return corrupt_file("Tensor 'token_embd.weight' is missing.");
  const uint64_t vocabulary = embedding->shape.rows();
  if (vocabulary == 0 || vocabulary > kContextMax)
    return corrupt_file("Tensor 'token_embd.weight' has {} rows (allowed 1 to {}).", vocabulary,
                        kContextMax);
  spec.vocabulary_size = static_cast<uint32_t>(vocabulary);
  QUALIA_TRY(reader.take(WeightRole::token_embedding, ops::kNoLayer, "token_embd.weight",
                         {spec.width, vocabulary}));
  QUALIA_TRY(
      reader.take(WeightRole::output_norm, ops::kNoLayer, "output_norm.weight", {spec.width}));
  spec.output_is_tied = !reader.has("output.weight");
  if (!spec.output_is_tied)
    QUALIA_TRY(
        reader.take(WeightRole::output, ops::kNoLayer, "output.weight", {spec.width, vocabulary}));
  for (uint32_t i = 0; i < spec.layers.size(); ++i) QUALIA_TRY(take_layer(reader, spec, i));
  // Biases, expert routers, Llama 3.1's RoPE factors: without them the model would be silently
  // wrong.
  if (const auto unknown = reader.first_not_taken())
    return unsupported("Tensor '{}' is unknown to this build's reader of '{}' models.", *unknown,
                       architecture);
  decoder.weights = std::move(reader).finish();
  return decoder;
}

}  // namespace qualia::model
