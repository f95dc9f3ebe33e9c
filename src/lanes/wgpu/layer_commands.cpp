// The commands of a step: which kernels run, in which order, over how many workgroups.
#include "lanes/wgpu/layers.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "lanes/wgpu/layer_sizes.h"

namespace qualia::lanes::wgpu {
namespace {

constexpr uint32_t kNoMap = 0xFFFFFFFF;  // norm.wgsl: all rows, in order
constexpr size_t kTileKernel = 4;        // BoundProduct::Part::kernels

}  // namespace

Result<void> Layers::add_block(BoundBlock& block, uint32_t rows, std::vector<Command>& commands) {
  size_t slot = 0;
  while (kProductRows[slot] < rows) ++slot;
  for (size_t i = 0; i < block.parts.size(); ++i) {
    BoundBlock::Part& bound = block.parts[i];
    const MatrixPart& part = block.matrix->parts[i];
    if (!bound.kernels[slot]) {
      QUALIA_ASSIGN(bound.kernels[slot], block_kernel(block, i, kProductRows[slot]));
    }
    const uint32_t turns = block.is_activate ? 2 : 1;
    Dispatch dispatch;
    dispatch.kernel = bound.kernels[slot];
    dispatch.group = bound.group.get();
    dispatch.immediates = {part.rows,
                           part.first_out / turns,
                           block.width,
                           block.matrix->groups(),
                           rows,
                           0,
                           std::bit_cast<uint32_t>(spec_->norm_epsilon)};
    dispatch.x = divide_up(part.rows, toggles_.block_outputs * turns);
    dispatch.op = block.op;
    dispatch.cost = {part.cost.bytes, part.cost.multiply_adds * rows};
    commands.emplace_back(dispatch);
  }
  return {};
}

Result<void> Layers::add_product_part(BoundProduct& product, size_t index, uint32_t first_x,
                                      uint32_t rows, bool is_tile, std::vector<Command>& commands) {
  BoundProduct::Part& bound = product.parts[index];
  const MatrixPart& part = product.matrix->parts[index];
  size_t slot = kTileKernel;
  if (!is_tile) {
    slot = 0;
    while (kProductRows[slot] < rows) ++slot;
  }
  if (!bound.kernels[slot]) {
    const uint32_t compiled_rows = is_tile ? 0 : kProductRows[slot];
    QUALIA_ASSIGN(bound.kernels[slot], product_kernel(product, index, compiled_rows, is_tile));
  }
  Dispatch dispatch;
  dispatch.kernel = bound.kernels[slot];
  dispatch.group = bound.group.get();
  dispatch.immediates = {part.rows,
                         part.first_out,
                         product.out_stride,
                         product.matrix->groups(),
                         rows,
                         part.out_step,
                         first_x,
                         std::bit_cast<uint32_t>(spec_->norm_epsilon)};
  if (is_tile) {
    dispatch.x = divide_up(part.rows, kTileRows);
    dispatch.y = divide_up(rows, kTileInputs);
  } else {
    const uint32_t w_rows =
        kProductRows[slot] >= 4 ? std::min(toggles_.product_rows, 4U) : toggles_.product_rows;
    const uint32_t groups = divide_up(part.rows, w_rows);
    dispatch.x = std::min(groups, kRowGroupsX);
    dispatch.y = divide_up(groups, kRowGroupsX);
  }
  dispatch.op = product.op;
  dispatch.cost = {part.cost.bytes, part.cost.multiply_adds * rows};
  commands.emplace_back(dispatch);
  return {};
}

Result<void> Layers::add_product(BoundProduct& product, uint32_t rows,
                                 std::vector<Command>& commands) {
  for (size_t i = 0; i < product.parts.size(); ++i) {
    const PlaneFormat& format = product.matrix->parts[i].format;
    const bool can_tile = format.is_integer() && precision_ != Precision::exact &&
                          !(format.scale_count == 2 && format.has_min) &&
                          product.epilogue != Epilogue::activate;
    if (can_tile && uses_tile(rows)) {
      QUALIA_TRY(add_product_part(product, i, 0, rows, true, commands));
      continue;
    }
    for (uint32_t first = 0; first < rows; first += 8) {
      QUALIA_TRY(add_product_part(product, i, first, std::min(rows - first, 8U), false, commands));
    }
  }
  return {};
}

void Layers::add_norm(const BoundKernel& norm, uint32_t op, uint32_t rows, uint32_t map,
                      std::vector<Command>& commands) const {
  Dispatch dispatch;
  dispatch.kernel = norm.kernel;
  dispatch.group = norm.group.get();
  dispatch.immediates = {(spec_->width + 31) / 32, spec_->width, map,
                         std::bit_cast<uint32_t>(spec_->norm_epsilon)};
  dispatch.x = rows;
  dispatch.op = op;
  dispatch.cost = {uint64_t{rows} * spec_->width * 4, 0};
  commands.emplace_back(dispatch);
}

void Layers::add_attention(const Layer& layer, size_t index, const StepShape& shape,
                           std::vector<Command>& commands) const {
  const ops::AttentionSpec& attention = spec_->layers[index].attention;
  const bool stores_itself = is_fused(shape) && shape.has_one_row_a_sequence;
  Dispatch rope;
  rope.kernel = layer.rope_store.kernel;
  rope.group = layer.rope_store.group.get();
  rope.immediates = {0, shape.angles_at[index], std::bit_cast<uint32_t>(attention.score_scale)};
  rope.x = attention.head_count + attention.kv_head_count;
  rope.y = shape.rows;
  rope.op = ops_.rope_store;
  if (!stores_itself) commands.emplace_back(rope);
  for (uint32_t first = 0; first < shape.rows;) {
    // As many rows as their chunks have room for.
    uint32_t chunks = chunk_count(shape.positions[first]);
    uint32_t count = 1;
    while (first + count < shape.rows) {
      const uint32_t next = std::max(chunks, chunk_count(shape.positions[first + count]));
      if (next * (count + 1) > kPartialsMax) break;
      chunks = next;
      ++count;
    }
    Dispatch attend;
    const bool is_direct = stores_itself && chunks == 1 && layer.attend_direct.kernel;
    const BoundKernel& bound = is_direct       ? layer.attend_direct
                               : stores_itself ? layer.attend_fused
                                               : layer.attend;
    attend.kernel = bound.kernel;
    attend.group = bound.group.get();
    const uint32_t groups = divide_up(attention.head_count * attention.head_dim, 32);
    attend.immediates = {first,
                         first,
                         chunks,
                         shape.angles_at[index],
                         std::bit_cast<uint32_t>(attention.score_scale),
                         groups,
                         shape.rows == 1 ? shape.positions[0] + 1 : 0,
                         shape.first_table};
    attend.x = chunks;
    attend.y = attention.head_count / layer.tile_heads;
    attend.z = count;
    attend.op = ops_.attend;
    const uint64_t kv_values = 2 * uint64_t{attention.kv_head_count} * attention.head_dim;
    for (uint32_t row = first; row < first + count; ++row) {
      attend.cost.bytes += (shape.positions[row] + 1) * kv_values;
      attend.cost.multiply_adds +=
          2 * (uint64_t{shape.positions[row]} + 1) * attention.head_count * attention.head_dim;
    }
    commands.emplace_back(attend);
    first += count;
    if (is_direct) continue;
    Dispatch merge;
    merge.kernel = layer.attend_merge.kernel;
    merge.group = layer.attend_merge.group.get();
    merge.immediates = {first - count, first - count, chunks, groups};
    merge.x = divide_up(groups * 8, kFormThreads);
    merge.y = count;
    merge.op = ops_.attend_merge;
    commands.emplace_back(merge);
  }
}

Result<void> Layers::add_layers(const StepShape& shape, uint32_t parity,
                                std::vector<Command>& commands) {
  const Matrix& table = embedding_table();
  for (size_t i = 0; i < table.parts.size(); ++i) {
    const MatrixPart& part = table.parts[i];
    Dispatch embed;
    embed.kernel = embedding_[parity][i].kernel;
    embed.group = embedding_[parity][i].group.get();
    embed.immediates = {table.groups(), spec_->width, part.first_out, part.rows};
    embed.x = shape.rows;
    embed.op = ops_.embedding;
    commands.emplace_back(embed);
  }
  if (!is_fused(shape)) {
    for (size_t i = 0; i < layers_.size(); ++i) QUALIA_TRY(add_layer(i, shape, commands));
    return {};
  }
  Dispatch prepare;
  prepare.kernel = prepare_.kernel;
  prepare.group = prepare_.group.get();
  const uint32_t groups = divide_up(spec_->width, 32);
  prepare.immediates = {groups, spec_->width};
  prepare.x = divide_up(groups * 8, kFormThreads);
  prepare.y = shape.rows;
  prepare.op = ops_.attention_norm;
  commands.emplace_back(prepare);
  for (size_t i = 0; i < layers_.size(); ++i) QUALIA_TRY(add_fused_layer(i, shape, commands));
  return {};
}

Result<void> Layers::add_layer(size_t index, const StepShape& shape,
                               std::vector<Command>& commands) {
  Layer& layer = layers_[index];
  add_norm(layer.attention_norm, ops_.attention_norm, shape.rows, kNoMap, commands);
  QUALIA_TRY(add_product(layer.qkv, shape.rows, commands));
  add_attention(layer, index, shape, commands);
  QUALIA_TRY(add_product(layer.attention_output, shape.rows, commands));
  add_norm(layer.feed_forward_norm, ops_.feed_forward_norm, shape.rows, kNoMap, commands);
  QUALIA_TRY(
      add_feed_forward(layer, spec_->layers[index].feed_forward.width, shape.rows, commands));
  return add_product(layer.down, shape.rows, commands);
}

Result<void> Layers::add_fused_layer(size_t index, const StepShape& shape,
                                     std::vector<Command>& commands) {
  Layer& layer = layers_[index];
  QUALIA_TRY(add_product(layer.qkv_pending, shape.rows, commands));
  add_attention(layer, index, shape, commands);
  QUALIA_TRY(add_block(layer.attention_output_block, shape.rows, commands));
  QUALIA_TRY(add_block(layer.gate_up_block, shape.rows, commands));
  return add_block(layer.down_block, shape.rows, commands);
}

// Gate, up and activation: the input of the down projection.
Result<void> Layers::add_feed_forward(Layer& layer, uint32_t hidden, uint32_t rows,
                                      std::vector<Command>& commands) {
  const bool is_fused = layer.activate_fused.kernel && !uses_tile(rows);
  QUALIA_TRY(add_product(is_fused ? layer.gate_up_fused : layer.gate_up, rows, commands));
  const BoundKernel& bound = is_fused ? layer.activate_fused : layer.activate;
  Dispatch activate;
  activate.kernel = bound.kernel;
  activate.group = bound.group.get();
  activate.immediates = {divide_up(hidden, 32), hidden};
  activate.x = divide_up(divide_up(hidden, 32) * 8, kFormThreads);
  activate.y = rows;
  activate.op = ops_.activate;
  activate.cost = {uint64_t{rows} * hidden * (is_fused ? 4 : 8), 0};
  commands.emplace_back(activate);
  return {};
}

Result<void> Layers::add_outputs(const StepShape& shape, uint32_t first, uint32_t count,
                                 uint32_t first_result, uint32_t parity,
                                 std::vector<Command>& commands) {
  if (is_fused(shape) && shape.outputs == shape.rows) {
    QUALIA_TRY(add_product(output_pending_, count, commands));
  } else {
    add_norm(output_norm_, ops_.output_norm, count, shape.map_at + first, commands);
    QUALIA_TRY(add_product(output_, count, commands));
  }
  const uint32_t vocabulary = spec_->vocabulary_size;
  const uint32_t slices = divide_up(vocabulary, kArgmaxSlice);
  Dispatch slice;
  slice.kernel = argmax_[parity].kernel;
  slice.group = argmax_[parity].group.get();
  slice.immediates = {vocabulary, kArgmaxSlice, slices, first_result};
  slice.x = slices;
  slice.y = count;
  slice.op = ops_.argmax;
  slice.cost = {uint64_t{count} * vocabulary * 4, 0};
  commands.emplace_back(slice);
  Dispatch merge;
  merge.kernel = argmax_merge_[parity].kernel;
  merge.group = argmax_merge_[parity].group.get();
  merge.immediates = {slices, slices, slices, first_result};
  merge.y = count;
  merge.op = ops_.argmax;
  commands.emplace_back(merge);
  return {};
}

Result<uint32_t> Layers::add_top_k(uint32_t count, uint32_t k, std::vector<Command>& commands) {
  if (!top_k_first_.kernel) QUALIA_TRY(bind_top_k());
  uint32_t candidates = spec_->vocabulary_size;
  uint32_t target = 0;
  const BoundKernel* bound = &top_k_first_;
  while (true) {
    const uint32_t blocks = divide_up(candidates, kTopKBlock);
    Dispatch dispatch;
    dispatch.kernel = bound->kernel;
    dispatch.group = bound->group.get();
    dispatch.immediates = {candidates, k, blocks};
    dispatch.x = blocks;
    dispatch.y = count;
    dispatch.op = ops_.top_k;
    commands.emplace_back(dispatch);
    if (blocks == 1) return target;
    candidates = blocks * k;
    target = 1 - target;
    bound = &top_k_next_[target];
  }
}

}  // namespace qualia::lanes::wgpu
