// Reading quantised source blocks as codes and float32 scales, before they are packed.
// Thread-safety: pure.
// Codes are: 0 .. 15 for the 4-bit types,
// 0 .. 31 or 0 .. 3 for types with a min, signed for the others. Values are exact.
// Source: the formulas in ops/dequantize.h, block layouts in tensor/quant_blocks.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace qualia::lanes {

// 32 values of a row: value = scale * code + min (4-bit codes without min: scale * (code - 8)).
struct RowGroup {
  int8_t codes[32];
  float scales[2];  // of k < 16 and of k >= 16; types with one scale per 32 set the first
  float mins[2];
};

// Groups of the longest source block.
inline constexpr size_t kGroupsPerBlockMax = 8;

struct SourceReader {
  size_t block_bytes = 0;
  size_t groups_per_block = 0;
  // Reads a whole block into groups_per_block groups.
  void (*read)(const std::byte* block, RowGroup* groups) noexcept = nullptr;
};

// REQUIRES: dtype is quantised in blocks of 32 or 256.
SourceReader source_reader(DType dtype);

// The power of two that brings a row's scales (`scale_count` a group) and, where the format has
// them, mins into binary16's range with 11 bits: the largest becomes 2^14 .. 2^15. 1 for a row of
// zeros, infinities or NaN.
float row_factor(const SourceReader& reader, const std::byte* row, size_t block_count,
                 size_t scale_count, bool has_min);

SourceReader source_reader_k(DType dtype);  // the K types' share of source_reader()

}  // namespace qualia::lanes
