// What the stages of a step read and compute, for the profiler.
#include "lanes/reference/step.h"
#include "lanes/stage_cost.h"

namespace qualia::lanes::reference {
namespace {

profile::Cost product_cost(const ops::MatmulWeight& weight, size_t rows) {
  return {uint64_t{weight.n} * weight.row_bytes, uint64_t{rows} * weight.n * weight.k};
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

}  // namespace

profile::Cost cost_of(const Step& step, Stage stage, uint32_t index) {
  return stage_cost(step, stage, index, output_count(step.batch.rows), kOutputRowsAtOnce,
                    product_cost, [&](uint32_t layer) { return attention_cost(step, layer); });
}

}  // namespace qualia::lanes::reference
