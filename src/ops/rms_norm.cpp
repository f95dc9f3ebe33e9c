#include "ops/rms_norm.h"

#include <cmath>

namespace qualia::ops {

void rms_norm_f32(const float* x, const float* gain, float* out, size_t dim,
                  float epsilon) noexcept {
  double sum = 0.0;
  for (size_t i = 0; i < dim; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  const double mean = sum / static_cast<double>(dim);
  const double scale = 1.0 / std::sqrt(mean + static_cast<double>(epsilon));
  for (size_t i = 0; i < dim; ++i) {
    out[i] = static_cast<float>(static_cast<double>(x[i]) * scale) * gain[i];
  }
}

}  // namespace qualia::ops
