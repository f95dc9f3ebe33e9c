// How keys and values of one kv head lie in a KV page of the CPU lane.
// Thread-safety: value.
// A page holds, per layer and kv head, in this order:
//   f16, f32: keys    [kPagePositions / 16][head_dim][16 positions]
//             values  [kPagePositions][padded_dim], zero beyond head_dim
//   INT8: keys          [kPagePositions / 16][padded_dim / 2][16 positions][2 dimensions]
//         values        [kPagePositions / 2][padded_dim][2 positions]
//         key scales    [padded_dim / 32][kPagePositions]  binary16
//         value scales  [padded_dim / 32][kPagePositions]  binary16
// Keys are transposed in blocks of 16 positions, so that one vector holds the same dimensions of 16
// positions and a score needs no sum across a vector; values are rows, so that a position's weight
// multiplies whole vectors. INT8 interleaves two of what is summed over, as instructions that
// multiply pairs of 16-bit integers take them, and has one scale per 32 values of a position
// (design, section 3). INT8 codes beyond head_dim are undefined: queries are zero there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lanes/lane.h"

namespace qualia::lanes::cpu {

inline constexpr size_t kKvGroup = 32;  // values that share a scale
inline constexpr size_t kKeyBlock = 16;
// Scratch and stack of the attention kernels are sized by it.
inline constexpr uint32_t kHeadDimMax = 512;

constexpr size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

struct KvLayout {
  KvLayout(KvType kv_type, size_t head_size)
      : type(kv_type), head_dim(head_size), padded_dim(round_up(head_size, kKvGroup)) {
    const size_t element = kv_type == KvType::int8 ? 1 : kv_type == KvType::f16 ? 2 : 4;
    const size_t scales = kv_type == KvType::int8 ? padded_dim / kKvGroup * kPagePositions * 2 : 0;
    const size_t key_dims = kv_type == KvType::int8 ? padded_dim : head_dim;
    values_offset = round_up(kPagePositions * key_dims * element, 64);
    key_scales_offset = values_offset + kPagePositions * padded_dim * element;
    value_scales_offset = key_scales_offset + scales;
    head_bytes = value_scales_offset + scales;
  }

  // Index of an element among the keys or the values.
  size_t key_index(size_t position, size_t dim) const {
    if (type != KvType::int8) {
      return (position / kKeyBlock * head_dim + dim) * kKeyBlock + position % kKeyBlock;
    }
    const size_t pairs = position / kKeyBlock * (padded_dim / 2) + dim / 2;
    return (pairs * kKeyBlock + position % kKeyBlock) * 2 + dim % 2;
  }
  size_t value_index(size_t position, size_t dim) const {
    if (type != KvType::int8) return position * padded_dim + dim;
    return (position / 2 * padded_dim + dim) * 2 + position % 2;
  }

  KvType type;  // never automatic
  size_t head_dim;
  size_t padded_dim;
  size_t values_offset;  // bytes from the kv head's place in a page
  size_t key_scales_offset;
  size_t value_scales_offset;
  size_t head_bytes;
};

}  // namespace qualia::lanes::cpu
