#include "lanes/wgpu/weights_loader.h"

#include <algorithm>

#include "base/error.h"
#include "base/thread_pool.h"
#include "lanes/weight_source.h"

namespace qualia::lanes::wgpu {
namespace {

using ops::WeightRole;

class Loading {
 public:
  Loading(Device& device, const ops::DecoderSpec& spec, const ops::WeightMap& map,
          const LoadOptions& options, uint64_t binding_bytes_max)
      : device_(device),
        spec_(spec),
        pool_(options.thread_count),
        source_(map, "wgpu",
                [](DType dtype) { return plane_format(dtype, Precision::fast).has_value(); }),
        matrices_(device, pool_, options.precision, binding_bytes_max,
                  [this](const ops::MatmulWeight& weight, size_t begin, size_t end) {
                    // A tied embedding is read once, like every other matrix.
                    source_.release(weight, begin, end);
                  }),
        progress_(options.progress),
        total_bytes_(map.size_bytes()) {}

  Result<Weights> run() {
    Weights weights;
    if (!spec_.output_is_tied) {
      QUALIA_ASSIGN(weights.embedding, one(WeightRole::token_embedding, ops::kNoLayer, spec_.width,
                                           spec_.vocabulary_size));
      tell();
    }
    for (uint32_t layer = 0; layer < spec_.layers.size(); ++layer) {
      QUALIA_ASSIGN(LayerWeights loaded, load_layer(layer));
      weights.layers.push_back(std::move(loaded));
      tell();
    }
    QUALIA_ASSIGN(weights.output_norm, vector(WeightRole::output_norm, ops::kNoLayer));
    const WeightRole output =
        spec_.output_is_tied ? WeightRole::token_embedding : WeightRole::output;
    QUALIA_ASSIGN(weights.output, one(output, ops::kNoLayer, spec_.width, spec_.vocabulary_size));
    if (progress_) progress_(total_bytes_, total_bytes_);
    weights.held_bytes = matrices_.resident_bytes() + norm_bytes_;
    weights.step_bytes = step_bytes(weights);
    return weights;
  }

 private:
  Result<ops::MatmulWeight> find(WeightRole role, uint32_t layer, uint64_t columns, uint64_t rows) {
    return source_.matrix(role, layer, columns, rows);
  }

  Result<Matrix> one(WeightRole role, uint32_t layer, uint64_t columns, uint64_t rows) {
    QUALIA_ASSIGN(const ops::MatmulWeight found, find(role, layer, columns, rows));
    return matrices_.load({&found, 1}, Arrangement::one_after_the_other);
  }

  Result<Buffer> vector(WeightRole role, uint32_t layer) {
    QUALIA_ASSIGN(const std::vector<float> values, source_.vector(role, layer, spec_.width));
    norm_bytes_ += values.size() * sizeof(float);
    return device_.create_filled(values.size() * sizeof(float), [&](std::byte* to) {
      const auto bytes = std::as_bytes(std::span(values));
      std::copy(bytes.begin(), bytes.end(), to);
    });
  }

  Result<LayerWeights> load_layer(uint32_t layer) {
    const ops::LayerSpec& layer_spec = spec_.layers[layer];
    const uint64_t width = spec_.width;
    const uint64_t head_dim = layer_spec.attention.head_dim;
    const uint64_t q_count = layer_spec.attention.head_count * head_dim;
    const uint64_t kv_count = layer_spec.attention.kv_head_count * head_dim;
    const uint64_t ff = layer_spec.feed_forward.width;
    LayerWeights weights;
    QUALIA_ASSIGN(weights.attention_norm, vector(WeightRole::attention_norm, layer));
    ops::MatmulWeight qkv[3];
    QUALIA_ASSIGN(qkv[0], find(WeightRole::query, layer, width, q_count));
    QUALIA_ASSIGN(qkv[1], find(WeightRole::key, layer, width, kv_count));
    QUALIA_ASSIGN(qkv[2], find(WeightRole::value, layer, width, kv_count));
    QUALIA_ASSIGN(weights.qkv, matrices_.load(qkv, Arrangement::one_after_the_other));
    QUALIA_ASSIGN(weights.attention_output,
                  one(WeightRole::attention_output, layer, q_count, width));
    QUALIA_ASSIGN(weights.feed_forward_norm, vector(WeightRole::feed_forward_norm, layer));
    ops::MatmulWeight gate_up[2];
    QUALIA_ASSIGN(gate_up[0], find(WeightRole::gate, layer, width, ff));
    QUALIA_ASSIGN(gate_up[1], find(WeightRole::up, layer, width, ff));
    QUALIA_ASSIGN(weights.gate_up, matrices_.load(gate_up, Arrangement::in_turns));
    QUALIA_ASSIGN(weights.down, one(WeightRole::down, layer, ff, width));
    return weights;
  }

  void tell() const {
    if (progress_) progress_(std::min(source_.taken_bytes(), total_bytes_), total_bytes_);
  }

  static uint64_t bytes_of(const Matrix& matrix) {
    uint64_t bytes = 0;
    for (const MatrixPart& part : matrix.parts) bytes += part.cost.bytes;
    return bytes;
  }

  // Read by a step of one row: everything, but one row of an embedding of its own.
  uint64_t step_bytes(const Weights& weights) const {
    uint64_t bytes = norm_bytes_ + bytes_of(weights.output);
    bytes += bytes_of(weights.embedding) / spec_.vocabulary_size;
    for (const LayerWeights& layer : weights.layers) {
      bytes += bytes_of(layer.qkv) + bytes_of(layer.attention_output) + bytes_of(layer.gate_up) +
               bytes_of(layer.down);
    }
    return bytes;
  }

  Device& device_;
  const ops::DecoderSpec& spec_;
  ThreadPool pool_;
  WeightSource source_;
  MatrixLoader matrices_;
  const Progress& progress_;
  uint64_t total_bytes_;
  uint64_t norm_bytes_ = 0;
};

}  // namespace

Result<Weights> load_weights(Device& device, const ops::DecoderSpec& spec,
                             const ops::WeightMap& map, const LoadOptions& options,
                             uint64_t binding_bytes_max) {
  return Loading(device, spec, map, options, binding_bytes_max).run();
}

}  // namespace qualia::lanes::wgpu
