// argmax: the index of the largest logit, and whether all of them are finite.
// Thread-safety: pure.
// Shapes: logits [count] f32, count >= 1.
// Ties: the lowest index. A row with a NaN or an infinity is reported as not finite, and its index
// is then some index below count. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qualia::ops {

struct ArgmaxResult {
  uint32_t index = 0;
  bool is_finite = true;
};

ArgmaxResult argmax_f32(const float* logits, size_t count) noexcept;

}  // namespace qualia::ops
