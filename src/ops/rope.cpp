#include "ops/rope.h"

#include <cmath>

namespace qualia::ops {

void rope_angles_f32(const RopeSpec& rope, uint32_t position, float* cosines,
                     float* sines) noexcept {
  const double scaled = static_cast<double>(position) * static_cast<double>(rope.position_scale);
  const auto base = static_cast<double>(rope.frequency_base);
  for (uint32_t i = 0; i < rope.dims / 2; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(rope.dims);
    const double angle = scaled * std::pow(base, exponent);
    cosines[i] = static_cast<float>(std::cos(angle));
    sines[i] = static_cast<float>(std::sin(angle));
  }
}

void rope_f32(const RopeSpec& rope, const float* cosines, const float* sines, float* x,
              size_t head_count, size_t head_dim) noexcept {
  const size_t pairs = rope.dims / 2;
  const bool interleaved = rope.kind == RopeKind::interleaved;
  const size_t step = interleaved ? 2 : 1;
  const size_t distance = interleaved ? 1 : pairs;
  for (size_t head = 0; head < head_count; ++head, x += head_dim) {
    for (size_t i = 0; i < pairs; ++i) {
      float& first = x[i * step];
      float& second = x[i * step + distance];
      const float u = first;
      const float v = second;
      first = u * cosines[i] - v * sines[i];
      second = u * sines[i] + v * cosines[i];
    }
  }
}

}  // namespace qualia::ops
