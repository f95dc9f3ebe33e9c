#include "ops/argmax.h"

#include <cmath>

namespace qualia::ops {

ArgmaxResult argmax_f32(const float* logits, size_t count) noexcept {
  ArgmaxResult result;
  for (size_t i = 0; i < count; ++i) {
    result.is_finite = result.is_finite && std::isfinite(logits[i]);
    if (logits[i] > logits[result.index]) result.index = static_cast<uint32_t>(i);
  }
  return result;
}

}  // namespace qualia::ops
