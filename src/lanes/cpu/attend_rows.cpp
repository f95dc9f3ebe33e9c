// Attention of a step: rotation, KV writes, tiles of queries, and merging of chunks.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "lanes/cpu/step.h"
#include "ops/rope.h"

namespace qualia::lanes::cpu {
namespace {

PartialAttention partial_at(float* memory, size_t query_count) {
  const size_t padded = round_up(query_count, 16);
  return {memory, memory + padded, memory + 2 * padded};
}

class LayerAttention {
 public:
  LayerAttention(Step& step, size_t thread, size_t layer)
      : step_(step),
        work_(step.work),
        space_(step.work.threads[thread]),
        spec_(step.spec.layers[layer].attention),
        layout_(step.pages.layout(layer)),
        angles_(step.work.angles[step.work.layer_rope[layer]].data()),
        layer_(layer),
        group_(spec_.head_count / spec_.kv_head_count) {}

  size_t kv_heads() const { return spec_.kv_head_count; }

  // Rotates a row's key of one head and writes it and the value to their page.
  void store(size_t row_index, size_t kv_head) {
    const Row& row = step_.batch.rows[row_index];
    const size_t head_dim = spec_.head_dim;
    const size_t at = (row_index * kv_heads() + kv_head) * head_dim;
    std::memcpy(space_.key.data(), work_.key.data() + at, head_dim * sizeof(float));
    rotate(row_index, space_.key.data());
    const PageId page = step_.batch.sequences[row.sequence].pages[row.position / kPagePositions];
    std::byte* const head = step_.pages.page(page) + step_.pages.head_offset(layer_, kv_head);
    step_.kernels.store_kv(layout_, space_.key.data(), work_.value.data() + at,
                           row.position % kPagePositions, head);
  }

  // A unit of a tile for one kv head: all positions, or one chunk of them.
  void attend(size_t unit, size_t kv_head) {
    const RowTile& tile = work_.plan.tiles[work_.plan.unit_tiles[unit]];
    const bool is_whole = tile.unit_count == 1;
    const size_t chunk = unit - tile.first_unit;
    const size_t begin = chunk * kChunkPositions;
    const size_t end =
        is_whole ? tile.end_position : std::min<size_t>(tile.end_position, begin + kChunkPositions);
    if (work_.plan.one_row_each && end == tile.end_position) {
      store(work_.plan.order[tile.first], kv_head);
    }
    if (tile.first != gathered_tile_ || kv_head != gathered_head_) gather(tile, kv_head);
    const AttentionTile& queries = queries_;
    if (!is_whole) {
      const PartialAttention part = unit_partial(unit, kv_head, queries.query_count);
      return step_.kernels.attend(queries, begin, end, part);
    }
    write_out(tile, kv_head, attend_whole(queries, end));
  }

  // Puts the chunks of a tile together.
  void merge(const RowTile& tile, size_t kv_head) {
    if (tile.unit_count == 1) return;
    const size_t queries = tile.row_count * group_;
    const PartialAttention total = unit_partial(tile.first_unit, kv_head, queries);
    for (size_t chunk = 1; chunk < tile.unit_count; ++chunk) {
      step_.kernels.merge(queries, layout_.padded_dim,
                          unit_partial(tile.first_unit + chunk, kv_head, queries), total);
    }
    write_out(tile, kv_head, total);
  }

 private:
  void rotate(size_t row_index, float* head) const {
    const size_t dims = spec_.rope.dims;
    const float* const angles = angles_ + row_index * dims;
    ops::rope_f32(spec_.rope, angles, angles + dims / 2, head, 1, spec_.head_dim);
  }

  void gather(const RowTile& tile, size_t kv_head) {
    gathered_tile_ = tile.first;
    gathered_head_ = kv_head;
    const size_t head_dim = spec_.head_dim;
    for (size_t r = 0; r < tile.row_count; ++r) {
      const size_t row = work_.plan.order[tile.first + r];
      for (size_t h = 0; h < group_; ++h) {
        const size_t query = r * group_ + h;
        float* const target = space_.queries.data() + query * layout_.padded_dim;
        const size_t head = kv_head * group_ + h;
        std::memcpy(target, work_.query.data() + (row * spec_.head_count + head) * head_dim,
                    head_dim * sizeof(float));
        rotate(row, target);
        for (size_t d = 0; d < head_dim; ++d) target[d] *= spec_.score_scale;
        std::fill(target + head_dim, target + layout_.padded_dim, 0.0F);
        space_.visible[query] = step_.batch.rows[row].position + 1;
      }
    }
    AttentionTile& queries = queries_;
    queries.layout = &layout_;
    queries.pages = work_.pages.data() + work_.first_page[tile.sequence];
    queries.page_count = step_.batch.sequences[tile.sequence].pages.size();
    queries.head_offset = step_.pages.head_offset(layer_, kv_head);
    queries.query_count = tile.row_count * group_;
    queries.queries = space_.queries.data();
    queries.visible = space_.visible.data();
    queries.scratch = space_.scratch.data();
  }

  // In the same chunks as if they were spread over threads.
  PartialAttention attend_whole(const AttentionTile& queries, size_t end) {
    const size_t count = queries.query_count;
    const PartialAttention total = partial_at(space_.parts.data(), count);
    const PartialAttention part =
        partial_at(space_.parts.data() + partial_floats(count, layout_.padded_dim), count);
    step_.kernels.attend(queries, 0, std::min<size_t>(end, kChunkPositions), total);
    for (size_t begin = kChunkPositions; begin < end; begin += kChunkPositions) {
      step_.kernels.attend(queries, begin, std::min<size_t>(end, begin + kChunkPositions), part);
      step_.kernels.merge(count, layout_.padded_dim, part, total);
    }
    return total;
  }

  PartialAttention unit_partial(size_t unit, size_t kv_head, size_t query_count) const {
    float* const memory =
        work_.partials.data() + (unit * work_.widths.kv_heads_max + kv_head) * work_.partial_stride;
    return partial_at(memory, query_count);
  }

  void write_out(const RowTile& tile, size_t kv_head, const PartialAttention& total) {
    const size_t head_dim = spec_.head_dim;
    for (size_t query = 0; query < tile.row_count * group_; ++query) {
      const size_t row = work_.plan.order[tile.first + query / group_];
      const size_t head = kv_head * group_ + query % group_;
      float* const target = work_.attended.data() + (row * spec_.head_count + head) * head_dim;
      const float* const sums = total.sums + query * layout_.padded_dim;
      const float inverse = 1.0F / total.denominator[query];
      for (size_t d = 0; d < head_dim; ++d) target[d] = sums[d] * inverse;
    }
  }

  Step& step_;
  Workspace& work_;
  ThreadSpace& space_;
  const ops::AttentionSpec& spec_;
  const KvLayout& layout_;
  const float* angles_;
  size_t layer_;
  size_t group_;
  AttentionTile queries_;  // of the tile and kv head below
  size_t gathered_tile_ = SIZE_MAX;
  size_t gathered_head_ = SIZE_MAX;
};

}  // namespace

void attend_rows(Step& step, size_t thread, size_t layer) {
  LayerAttention attention(step, thread, layer);
  const RowPlan& plan = step.work.plan;
  const size_t kv_heads = attention.kv_heads();
  if (!plan.one_row_each) {
    const Range mine = step.my_part(step.row_count(), thread);
    for (size_t row = mine.begin; row < mine.end; ++row) {
      for (size_t head = 0; head < kv_heads; ++head) attention.store(row, head);
    }
    step.team.barrier();
  }
  const size_t units = plan.unit_tiles.size();
  if (plan.is_split) {
    // Neighbours: a thread prepares its queries once and reads pages in order.
    const Range mine = step.my_part(units * kv_heads, thread);
    for (size_t i = mine.begin; i < mine.end; ++i) attention.attend(i % units, i / units);
  } else {
    // By turns: later tiles of a prompt see more.
    for (size_t i = thread; i < units * kv_heads; i += step.team.size()) {
      attention.attend(i / kv_heads, i % kv_heads);
    }
  }
  step.team.barrier();
  if (!plan.is_split) return;
  for (size_t i = thread; i < plan.tiles.size() * kv_heads; i += step.team.size()) {
    attention.merge(plan.tiles[i / kv_heads], i % kv_heads);
  }
  step.team.barrier();
}

}  // namespace qualia::lanes::cpu
