// The CPU lane's kernels apart from matrix products: one table per instruction set, chosen at load.
// Thread-safety: pure; distinct outputs may run in parallel.
// Every variant is one line of kernel_variants.h, which feeds the choice, the parity test and the
// benchmark. Bounds: rms_norm, swiglu, residual_add, argmax and attention as their headers in ops/
// say, over INT8 pages those of queries and weights rounded to 16 bits; a row's result depends on
// its own inputs alone, not on the tile it is computed in. Errors: none; NaN passes through.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lanes/cpu/kv_layout.h"
#include "ops/argmax.h"

namespace qualia::lanes::cpu {

// Softmax-weighted sums over some positions, not yet divided by their denominator:
// maximum, denominator [query_count], sums [query_count][padded_dim].
struct PartialAttention {
  float* maximum;
  float* denominator;
  float* sums;
};

// Query heads of one kv head, of one or more rows of a sequence.
struct AttentionTile {
  const KvLayout* layout = nullptr;
  const std::byte* const* pages = nullptr;  // of the sequence, in order
  size_t page_count = 0;                    // of the sequence: they are read ahead
  size_t head_offset = 0;                   // bytes from a page's start to this kv head
  size_t query_count = 0;
  const float* queries = nullptr;     // [query_count][padded_dim], times the score scale; 0 beyond
  const uint32_t* visible = nullptr;  // [query_count]: a query sees positions 0 .. visible - 1
  float* scratch = nullptr;           // attention_scratch_count floats, aligned to 64 bytes
};

// Scores of a page, and one page of keys and values as float32 or, over INT8 pages, the queries as
// 16-bit integers with a scale per 32.
constexpr size_t attention_scratch_count(size_t query_count, size_t padded_dim) {
  const size_t words = query_count * (padded_dim / 2 + padded_dim / kKvGroup);
  return query_count * kPagePositions + std::max(2 * kPagePositions * padded_dim, words);
}

struct Kernels {
  std::string_view name;
  void (*rms_norm)(const float* x, const float* gain, float* out, size_t dim,
                   float epsilon) noexcept;
  void (*swiglu)(const float* gate, const float* up, float* out, size_t count) noexcept;
  void (*residual_add)(float* x, const float* y, size_t count) noexcept;
  ops::ArgmaxResult (*argmax)(const float* logits, size_t count) noexcept;
  // Writes one position's rotated key and its value [head_dim] to `head`, its kv head's place.
  void (*store_kv)(const KvLayout& layout, const float* key, const float* value,
                   size_t position_in_page, std::byte* head) noexcept;
  // The positions [begin, end) of a tile; begin is a multiple of kPagePositions. A query that sees
  // none of them gets maximum -infinity, denominator 0 and sums 0.
  void (*attend)(const AttentionTile& tile, size_t begin, size_t end,
                 const PartialAttention& out) noexcept;
  // total += part, both of `query_count` queries. The order of merging is the caller's.
  void (*merge)(size_t query_count, size_t padded_dim, const PartialAttention& part,
                const PartialAttention& total) noexcept;
};

}  // namespace qualia::lanes::cpu
