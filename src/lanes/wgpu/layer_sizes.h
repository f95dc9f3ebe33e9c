// Sizes of dispatches that binding kernels and making commands agree on.
// Thread-safety: pure.
#pragma once

#include <cstdint>

#include "lanes/wgpu/workspace.h"

namespace qualia::lanes::wgpu {

inline constexpr uint32_t kFormThreads = 128;  // of kernels that only make forms
inline constexpr uint32_t kNormThreads = 256;
// product.wgsl: workgroups of rows before y counts on.
inline constexpr uint32_t kRowGroupsX = 32768;
// Rows of x that products of few rows are compiled for.
inline constexpr uint32_t kProductRows[] = {1, 2, 4, 8};
// product_tile.wgsl.
inline constexpr uint32_t kTileRows = 128;   // of W
inline constexpr uint32_t kTileInputs = 64;  // rows of x

constexpr uint32_t divide_up(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

// Chunks of a row's attention, as chunks.wgsl counts them.
constexpr uint32_t chunk_count(uint32_t position) {
  const uint32_t pages = position / kPagePositions + 1;
  return pages <= kDirectPages ? 1 : divide_up(pages, divide_up(pages, kChunksMax));
}

}  // namespace qualia::lanes::wgpu
