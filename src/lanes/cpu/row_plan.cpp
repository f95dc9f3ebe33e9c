#include "lanes/cpu/row_plan.h"

#include <algorithm>

namespace qualia::lanes::cpu {

// A counting sort: stable, and linear in rows and sequences.
void RowPlan::order_rows(const Batch& batch) {
  starts_.assign(batch.sequences.size() + 1, 0);
  for (const Row& row : batch.rows) ++starts_[row.sequence + 1];
  one_row_each = std::all_of(starts_.begin(), starts_.end(), [](uint32_t n) { return n <= 1; });
  for (size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  order.resize(batch.rows.size());
  std::vector<uint32_t> next(starts_.begin(), starts_.end() - 1);
  for (uint32_t i = 0; i < batch.rows.size(); ++i) order[next[batch.rows[i].sequence]++] = i;
}

void RowPlan::make_tiles(const Batch& batch, size_t rows_per_tile) {
  tiles.clear();
  for (uint32_t sequence = 0; sequence < batch.sequences.size(); ++sequence) {
    const uint32_t end = starts_[sequence + 1];
    for (uint32_t first = starts_[sequence]; first < end;) {
      const auto count = static_cast<uint32_t>(std::min<size_t>(rows_per_tile, end - first));
      const uint32_t last_position = batch.rows[order[first + count - 1]].position;
      tiles.push_back({sequence, first, count, last_position + 1, 0, 1});
      first += count;
    }
  }
}

void RowPlan::make(const Batch& batch, size_t group, size_t kv_heads, size_t thread_count) {
  order_rows(batch);
  make_tiles(batch, std::max<size_t>(1, kTileQueries / group));
  // With four units a thread, one that ends late holds up the others little.
  const bool may_split = tiles.size() * kv_heads < 4 * thread_count;
  is_split = false;
  unit_tiles.clear();
  for (uint32_t i = 0; i < tiles.size(); ++i) {
    RowTile& tile = tiles[i];
    tile.first_unit = static_cast<uint32_t>(unit_tiles.size());
    tile.unit_count = may_split ? tile.chunk_count() : 1;
    is_split = is_split || tile.unit_count > 1;
    unit_tiles.insert(unit_tiles.end(), tile.unit_count, i);
  }
}

}  // namespace qualia::lanes::cpu
