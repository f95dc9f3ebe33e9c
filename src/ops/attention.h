// attention: one query head of one row over the paged keys and values of its sequence.
// Thread-safety: pure; distinct outputs may run in parallel.
// Formula: s_p = score_scale * (query . key_p); out = sum_p softmax(s)_p value_p, for the positions
// 0 .. position_count - 1 (causal: up to the row's own). With grouped heads query head h reads the
// keys of kv head h / (heads / kv_heads): the caller's offsets say where.
// Shapes: query, out [head_dim] f32; page p / page_positions holds position p; in a page, from
// key_offset and value_offset floats on, [page_positions][head_dim] f32.
// Bound: |out - exact| <= (head_dim / 8 + 16) * eps(f32) * max|s| * max|value|. Scores are taken
// against the running maximum (never overflows); the denominator is double, values are summed in
// float32 over one page and in double over pages, so that long contexts lose nothing. Errors: none;
// a NaN score makes the row NaN.   Source: Vaswani et al. 2017, eq. 1; online softmax: Milakov and
// Gimelshein 2018, algorithm 3.
#pragma once

#include <cstddef>

namespace qualia::ops {

// Bounds the kernel's stack: 512 doubles of sums and 512 floats of a page's part.
inline constexpr size_t kAttentionHeadDimMax = 512;
inline constexpr size_t kAttentionPagePositionsMax = 64;

struct PagedKv {
  const float* const* pages = nullptr;  // of the sequence, in order
  size_t page_positions = 0;            // at most kAttentionPagePositionsMax
  size_t key_offset = 0;                // floats from a page's start to this kv head's keys
  size_t value_offset = 0;
};

// REQUIRES: head_dim <= kAttentionHeadDimMax, position_count >= 1.
void attention_f32(const float* query, const PagedKv& kv, size_t position_count, size_t head_dim,
                   float score_scale, float* out) noexcept;

}  // namespace qualia::ops
