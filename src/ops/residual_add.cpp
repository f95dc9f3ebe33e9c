#include "ops/residual_add.h"

namespace qualia::ops {

void residual_add_f32(float* x, const float* y, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) x[i] += y[i];
}

}  // namespace qualia::ops
