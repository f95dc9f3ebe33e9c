// matmul: y[m, n] = x[m, k] W[n, k]^T by weight type, activations in float32.
// Thread-safety: pure; ranges of n of one product may run in parallel, each with its own scratch.
// Shapes: W n rows of k values, as a file stores them (any alignment); x m rows of k f32, packed;
// y m rows of n f32, packed; a call computes columns [n_begin, n_end) of y.
// Bound: |y - exact| <= (k / 8 + 4) * eps(f32) * sum |x_i w_i|, w the dequantised weight. A row of
// y is bit-equal whatever the batch, the range and the thread it is computed in (order: ops/dot.h).
// Errors: none; callers prove shapes and that find_dequantize knows the type.
#pragma once

#include <cstddef>

#include "tensor/dtype.h"

namespace qualia::ops {

struct MatmulWeight {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  size_t n = 0;          // outputs
  size_t k = 0;          // inputs, a multiple of the type's block
  size_t row_bytes = 0;  // of one output's k weights
};

// Weight rows that are dequantised at a time: 4 rows of 1536 values are 24 KiB, half of an L1
// cache.
inline constexpr size_t kMatmulRowsAtOnce = 4;

// Floats of scratch that a call needs.
constexpr size_t matmul_scratch_count(size_t k) { return kMatmulRowsAtOnce * k; }

void matmul_f32(const MatmulWeight& weight, const float* x, size_t m, float* y, size_t n_begin,
                size_t n_end, float* scratch) noexcept;

}  // namespace qualia::ops
