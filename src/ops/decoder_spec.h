// DecoderSpec: a decoder-only transformer as data. model/ makes it from a file, lanes execute it.
// Thread-safety: value.
// A layer is x += attention(norm(x)); x += feed_forward(norm(x)). A lane that lacks something a
// spec asks for refuses it by name at load. New architectures add fields here only when they need
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace qualia::ops {

// Which elements RoPE rotates together within a head of `dims` rotated values:
// interleaved: (2i, 2i+1), llama's order in GGUF; halves: (i, i + dims/2), NeoX's order.
enum class RopeKind { interleaved, halves };

struct RopeSpec {
  RopeKind kind = RopeKind::interleaved;
  uint32_t dims = 0;  // rotated values at the start of each head, even
  float frequency_base = 10000.0F;
  float position_scale = 1.0F;  // position * scale before rotation ("linear" scaling: 1 / factor)
};

struct AttentionSpec {
  uint32_t head_count = 0;
  uint32_t kv_head_count = 0;  // divides head_count
  uint32_t head_dim = 0;       // of q, k and v alike
  float score_scale = 0.0F;    // usually 1 / sqrt(head_dim)
  RopeSpec rope;
};

enum class Activation { silu };

// down(activation(gate(x)) * up(x))
struct FeedForwardSpec {
  uint32_t width = 0;
  Activation activation = Activation::silu;
};

struct LayerSpec {
  AttentionSpec attention;
  FeedForwardSpec feed_forward;
};

struct DecoderSpec {
  std::string architecture{};    // as the file names it: "llama"
  uint32_t vocabulary_size = 0;  // rows of the output matrix
  uint32_t width = 0;            // of the residual stream
  uint32_t context_length = 0;   // positions the model was trained for
  float norm_epsilon = 0.0F;     // of every RMS norm
  bool output_is_tied = false;   // the token embedding serves as the output matrix
  std::vector<LayerSpec> layers{};
};

}  // namespace qualia::ops
