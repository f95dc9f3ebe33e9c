// swiglu: out_i = silu(gate_i) * up_i with silu(g) = g / (1 + exp(-g)).
// Thread-safety: pure; distinct outputs may run in parallel. `out` may be `gate` or `up`.
// Shapes: gate, up, out [count] f32.
// Bound: |out - exact| <= 8 * eps(f32) * |exact|; below gate = -88, where |silu| < 6e-37, it may be
// 0. Errors: none; NaN passes through.   Source: Shazeer 2020, eq. 6; Hendrycks and Gimpel 2016.
#pragma once

#include <cstddef>

namespace qualia::ops {

void swiglu_f32(const float* gate, const float* up, float* out, size_t count) noexcept;

}  // namespace qualia::ops
