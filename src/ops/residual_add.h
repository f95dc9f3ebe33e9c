// residual_add: x_i += y_i.
// Thread-safety: pure; distinct x may run in parallel.
// Shapes: x, y [count] f32. The residual stream stays float32 in every lane: sums beyond 65504, the
// largest binary16, occur in real models.
// Bound: exact to the rounding of one float32 addition.
// Errors: none.
#pragma once

#include <cstddef>

namespace qualia::ops {

void residual_add_f32(float* x, const float* y, size_t count) noexcept;

}  // namespace qualia::ops
