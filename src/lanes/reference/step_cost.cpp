// What the stages of a step read and compute, for the profiler.
#include <algorithm>
#include <initializer_list>

#include "lanes/reference/step.h"

namespace qualia::lanes::reference {
namespace {

profile::Cost product_cost(std::initializer_list<const ops::MatmulWeight*> weights, size_t rows) {
  profile::Cost cost;
  for (const ops::MatmulWeight* weight : weights) {
    cost.bytes += uint64_t{weight->n} * weight->row_bytes;
    cost.multiply_adds += uint64_t{rows} * weight->n * weight->k;
  }
  return cost;
}

profile::Cost attention_cost(const Step& step, size_t layer) {
  const ops::AttentionSpec& attention = step.spec.layers[layer].attention;
  uint64_t seen = 0;
  for (const Row& row : step.batch.rows) seen += uint64_t{row.position} + 1;
  const uint64_t position_bytes =
      2 * sizeof(float) * uint64_t{attention.kv_head_count} * attention.head_dim;
  // Read and, of the rows' own positions, written; a score and a weighted value for each head.
  return {(seen + step.row_count()) * position_bytes,
          2 * seen * attention.head_count * attention.head_dim};
}

size_t output_row_count(const Step& step) {
  const auto wants_output = [](const Row& row) { return row.output != RowOutputKind::none; };
  return static_cast<size_t>(std::ranges::count_if(step.batch.rows, wants_output));
}

}  // namespace

profile::Cost cost_of(const Step& step, Stage stage, uint32_t index) {
  const size_t rows = step.row_count();
  if (stage == Stage::embedding) return {rows * step.weights.embedding.row_bytes, 0};
  if (stage == Stage::attend) return attention_cost(step, index);
  if (stage == Stage::output) {
    const size_t left = output_row_count(step) - index * kOutputRowsAtOnce;
    return product_cost({&step.weights.output}, std::min(left, kOutputRowsAtOnce));
  }
  const LayerWeights& weights = step.weights.layers[index];
  if (stage == Stage::qkv)
    return product_cost({&weights.query, &weights.key, &weights.value}, rows);
  if (stage == Stage::attention_output) return product_cost({&weights.attention_output}, rows);
  if (stage == Stage::gate_up) return product_cost({&weights.gate, &weights.up}, rows);
  return product_cost({&weights.down}, rows);
}

}  // namespace qualia::lanes::reference
