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
        source_(spec, map, "wgpu",
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
      QUALIA_ASSIGN(weights.embedding, one(WeightRole::token_embedding));
      tell();
    }
    for (uint32_t layer = 0; layer < spec_.layers.size(); ++layer) {
      QUALIA_ASSIGN(LayerWeights loaded, load_layer(layer));
      weights.layers.push_back(std::move(loaded));
      tell();
    }
    QUALIA_ASSIGN(weights.output_norm, vector(WeightRole::output_norm));
    const WeightRole output =
        spec_.output_is_tied ? WeightRole::token_embedding : WeightRole::output;
    QUALIA_ASSIGN(weights.output, one(output));
    if (progress_) progress_(total_bytes_, total_bytes_);
    weights.held_bytes = matrices_.resident_bytes() + norm_bytes_;
    weights.step_bytes = step_bytes(weights);
    return weights;
  }

 private:
  Result<Matrix> one(WeightRole role, uint32_t layer = ops::kNoLayer) {
    QUALIA_ASSIGN(const ops::MatmulWeight found, source_.matrix(role, layer));
    return matrices_.load({&found, 1}, Arrangement::one_after_the_other);
  }

  template <size_t kCount>
  Result<Matrix> several(const WeightRole (&roles)[kCount], uint32_t layer,
                         Arrangement arrangement) {
    ops::MatmulWeight found[kCount];
    for (size_t i = 0; i < kCount; ++i) {
      QUALIA_ASSIGN(found[i], source_.matrix(roles[i], layer));
    }
    return matrices_.load(found, arrangement);
  }

  Result<Buffer> vector(WeightRole role, uint32_t layer = ops::kNoLayer) {
    QUALIA_ASSIGN(const std::vector<float> values, source_.vector(role, layer));
    norm_bytes_ += values.size() * sizeof(float);
    return device_.create_filled(values.size() * sizeof(float), [&](std::byte* to) {
      const auto bytes = std::as_bytes(std::span(values));
      std::copy(bytes.begin(), bytes.end(), to);
    });
  }

  Result<LayerWeights> load_layer(uint32_t layer) {
    LayerWeights weights;
    QUALIA_ASSIGN(weights.attention_norm, vector(WeightRole::attention_norm, layer));
    QUALIA_ASSIGN(weights.qkv, several({WeightRole::query, WeightRole::key, WeightRole::value},
                                       layer, Arrangement::one_after_the_other));
    QUALIA_ASSIGN(weights.attention_output, one(WeightRole::attention_output, layer));
    QUALIA_ASSIGN(weights.feed_forward_norm, vector(WeightRole::feed_forward_norm, layer));
    QUALIA_ASSIGN(weights.gate_up,
                  several({WeightRole::gate, WeightRole::up}, layer, Arrangement::in_turns));
    QUALIA_ASSIGN(weights.down, one(WeightRole::down, layer));
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
