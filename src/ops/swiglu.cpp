#include "ops/swiglu.h"

#include <cmath>

namespace qualia::ops {

void swiglu_f32(const float* gate, const float* up, float* out, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) {
    out[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
  }
}

}  // namespace qualia::ops
