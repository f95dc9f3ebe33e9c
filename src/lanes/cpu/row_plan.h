// How the rows of a batch are grouped for attention: tiles of rows of one sequence share a pass
// over its keys and values, long contexts are cut into chunks. Thread-safety: one owner; read by
// all threads of a step. A tile's work comes in units: either one for all its positions, or one for
// each chunk, whose partial results are merged in the order of the chunks. Both give the same bits,
// so the choice may depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lanes/lane.h"

namespace qualia::lanes::cpu {

// Positions that one partial result covers, a multiple of kPagePositions. Fixed, since it sets the
// order of summation. 256: at depth 4096, 16 chunks of each kv head to spread over threads.
inline constexpr uint32_t kChunkPositions = 256;
// Queries of a tile where a sequence has many rows: widening a page once for 64 queries costs a
// twentieth of using it.
inline constexpr size_t kTileQueries = 64;

struct RowTile {
  uint32_t sequence = 0;
  uint32_t first = 0;  // into RowPlan::order
  uint32_t row_count = 0;
  uint32_t end_position = 0;  // positions that its last row sees
  uint32_t first_unit = 0;
  uint32_t unit_count = 0;  // 1, or one for each chunk

  uint32_t chunk_count() const { return (end_position + kChunkPositions - 1) / kChunkPositions; }
};

struct RowPlan {
  std::vector<uint32_t> order;  // row indices, by sequence, then as in the batch
  std::vector<RowTile> tiles;
  std::vector<uint32_t> unit_tiles;  // [units]
  bool is_split = false;             // some tile has more than one unit
  bool one_row_each = true;          // no sequence has two rows

  // `group`: the most query heads of a kv head; `kv_heads`: the fewest, over the layers.
  void make(const Batch& batch, size_t group, size_t kv_heads, size_t thread_count);

 private:
  void order_rows(const Batch& batch);
  void make_tiles(const Batch& batch, size_t rows_per_tile);
  std::vector<uint32_t> starts_;  // [sequences + 1]
};

}  // namespace qualia::lanes::cpu
