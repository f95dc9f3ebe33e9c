// rms_norm: out_i = x_i / sqrt(mean(x^2) + epsilon) * gain_i, one row.
// Thread-safety: pure; distinct outputs may run in parallel. `out` may be `x`.
// Shapes: x, gain, out [dim] f32.
// Bound: |out - exact| <= 4 * eps(f32) * |exact|; the sum of squares is double, so that it neither
// overflows (|x| up to the largest float) nor loses small values beside large ones.
// Errors: none; NaN in x makes the row NaN.   Source: Zhang and Sennrich 2019, eq. 4.
#pragma once

#include <cstddef>

namespace qualia::ops {

void rms_norm_f32(const float* x, const float* gain, float* out, size_t dim,
                  float epsilon) noexcept;

}  // namespace qualia::ops
