#include "lanes/spec_check.h"

#include "base/error.h"

namespace qualia::lanes {
namespace {

Result<void> check_attention(const ops::AttentionSpec& attention, size_t layer,
                             std::string_view lane, uint32_t head_dim_max) {
  if (attention.kv_head_count == 0 || attention.head_count % attention.kv_head_count != 0) {
    return corrupt_file("Layer {} has {} KV heads, which do not divide its {} query heads.", layer,
                        attention.kv_head_count, attention.head_count);
  }
  if (attention.head_count == 0 || attention.head_dim == 0) {
    return corrupt_file("Layer {} has {} heads of size {} (both are at least 1).", layer,
                        attention.head_count, attention.head_dim);
  }
  if (attention.head_dim > head_dim_max) {
    return unsupported("Layer {} has heads of size {} (the {} lane computes up to {}).", layer,
                       attention.head_dim, lane, head_dim_max);
  }
  if (attention.rope.dims % 2 != 0 || attention.rope.dims > attention.head_dim) {
    return corrupt_file("Layer {} rotates {} values of each head (an even number up to {}).", layer,
                        attention.rope.dims, attention.head_dim);
  }
  return {};
}

}  // namespace

KvType kv_of(const LoadOptions& options) {
  if (options.kv != KvType::automatic) return options.kv;
  switch (options.precision) {
    case Precision::fast:
      return KvType::int8;
    case Precision::precise:
      return KvType::f16;
    default:
      return KvType::f32;
  }
}

std::string_view kv_name(KvType kv) {
  switch (kv) {
    case KvType::int8:
      return "int8";
    case KvType::f16:
      return "f16";
    case KvType::f32:
      return "f32";
    case KvType::automatic:
      return "automatic";
  }
  return "unknown";
}

Result<void> check_spec(const ops::DecoderSpec& spec, std::string_view lane,
                        uint32_t head_dim_max) {
  if (spec.width == 0 || spec.vocabulary_size == 0 || spec.layers.empty()) {
    return corrupt_file("The model has width {}, vocabulary {} and {} layers (all are at least 1).",
                        spec.width, spec.vocabulary_size, spec.layers.size());
  }
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    QUALIA_TRY(check_attention(spec.layers[i].attention, i, lane, head_dim_max));
    if (spec.layers[i].feed_forward.activation != ops::Activation::silu) {
      return unsupported("Layer {} uses activation {}, which the {} lane lacks.", i,
                         static_cast<int>(spec.layers[i].feed_forward.activation), lane);
    }
    if (spec.layers[i].feed_forward.width == 0) {
      return corrupt_file("Layer {} has a feed-forward width of 0 (at least 1).", i);
    }
  }
  return {};
}

}  // namespace qualia::lanes
