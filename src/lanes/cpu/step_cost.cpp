// What the stages of a step read and compute, for the profiler.
#include <algorithm>
#include <initializer_list>

#include "lanes/cpu/step.h"

namespace qualia::lanes::cpu {
namespace {

profile::Cost product_cost(std::initializer_list<const PackedMatrix*> weights, size_t rows) {
  profile::Cost cost;
  for (const PackedMatrix* weight : weights) {
    cost.bytes += weight->size_bytes();
    cost.multiply_adds += uint64_t{rows} * weight->rows() * weight->columns();
  }
  return cost;
}

profile::Cost attention_cost(const Step& step, size_t layer) {
  const ops::AttentionSpec& attention = step.spec.layers[layer].attention;
  uint64_t positions = step.row_count();  // written
  for (const RowTile& tile : step.work.plan.tiles) positions += tile.end_position;
  uint64_t seen = 0;
  for (const Row& row : step.batch.rows) seen += uint64_t{row.position} + 1;
  const uint64_t page_bytes = step.pages.layout(layer).head_bytes * attention.kv_head_count;
  // A score and a weighted value of each position seen, for each head.
  return {positions * page_bytes / kPagePositions,
          2 * seen * attention.head_count * attention.head_dim};
}

}  // namespace

profile::Cost cost_of(const Step& step, Stage stage, uint32_t index) {
  const size_t rows = step.row_count();
  if (stage == Stage::embedding) return {rows * step.weights.embedding.row_bytes, 0};
  if (stage == Stage::attend) return attention_cost(step, index);
  if (stage == Stage::output) {
    const size_t left = step.work.output_rows.size() - index * kOutputRowsAtOnce;
    return product_cost({&step.weights.output}, std::min(left, kOutputRowsAtOnce));
  }
  const LayerWeights& weights = step.weights.layers[index];
  if (stage == Stage::qkv)
    return product_cost({&weights.query, &weights.key, &weights.value}, rows);
  if (stage == Stage::attention_output) return product_cost({&weights.attention_output}, rows);
  if (stage == Stage::gate_up) return product_cost({&weights.gate, &weights.up}, rows);
  return product_cost({&weights.down}, rows);
}

}  // namespace qualia::lanes::cpu
