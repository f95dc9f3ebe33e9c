#include "lanes/reference/weights.h"

#include <string>

#include "lanes/weight_source.h"

namespace qualia::lanes::reference {
namespace {

using ops::WeightRole;

Result<LayerWeights> load_layer(WeightSource& source, uint32_t layer) {
  LayerWeights weights;
  QUALIA_ASSIGN(weights.attention_norm, source.vector(WeightRole::attention_norm, layer));
  QUALIA_ASSIGN(weights.query, source.matrix(WeightRole::query, layer));
  QUALIA_ASSIGN(weights.key, source.matrix(WeightRole::key, layer));
  QUALIA_ASSIGN(weights.value, source.matrix(WeightRole::value, layer));
  QUALIA_ASSIGN(weights.attention_output, source.matrix(WeightRole::attention_output, layer));
  QUALIA_ASSIGN(weights.feed_forward_norm, source.vector(WeightRole::feed_forward_norm, layer));
  QUALIA_ASSIGN(weights.gate, source.matrix(WeightRole::gate, layer));
  QUALIA_ASSIGN(weights.up, source.matrix(WeightRole::up, layer));
  QUALIA_ASSIGN(weights.down, source.matrix(WeightRole::down, layer));
  return weights;
}

}  // namespace

Result<Weights> load_weights(const ops::DecoderSpec& spec, const ops::WeightMap& map,
                             const Progress& progress) {
  WeightSource source(spec, map, "reference", [](DType) { return true; });
  Weights weights;
  QUALIA_ASSIGN(const ops::MatmulWeight embedding, source.matrix(WeightRole::token_embedding));
  weights.embedding = {embedding.data, embedding.dtype, embedding.k, embedding.row_bytes};
  weights.output = embedding;
  if (!spec.output_is_tied) {
    QUALIA_ASSIGN(weights.output, source.matrix(WeightRole::output));
  }
  QUALIA_ASSIGN(weights.output_norm, source.vector(WeightRole::output_norm));
  for (uint32_t layer = 0; layer < spec.layers.size(); ++layer) {
    QUALIA_ASSIGN(LayerWeights loaded, load_layer(source, layer));
    weights.layers.push_back(std::move(loaded));
    if (progress) progress(source.taken_bytes(), map.size_bytes());
  }
  // A tied embedding is read whole as the output matrix; otherwise one row of it is looked up.
  weights.step_bytes = source.taken_bytes();
  if (!spec.output_is_tied) weights.step_bytes -= embedding.row_bytes * (embedding.n - 1);
  weights.held_bytes = source.held_bytes();
  weights.files = std::move(source).take_files();
  return weights;
}

}  // namespace qualia::lanes::reference
