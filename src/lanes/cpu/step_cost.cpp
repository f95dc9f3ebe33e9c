// What the stages of a step read and compute, for the profiler.
#include "lanes/cpu/step.h"
#include "lanes/stage_cost.h"

namespace qualia::lanes::cpu {
namespace {

profile::Cost product_cost(const PackedMatrix& weight, size_t rows) {
  return {weight.size_bytes(), uint64_t{rows} * weight.rows() * weight.columns()};
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
  return stage_cost(step, stage, index, step.work.output_rows.size(), kOutputRowsAtOnce,
                    product_cost, [&](uint32_t layer) { return attention_cost(step, layer); });
}

}  // namespace qualia::lanes::cpu
