#include "lanes/cpu/quantize_activations.h"

#include <bit>
#include <cmath>

namespace qualia::lanes::cpu {
namespace {

// Largest magnitude; as integers, since NaN must win.
float largest_magnitude(const float* values) {
  uint32_t largest = 0;
  for (size_t i = 0; i < kBlockColumns; ++i) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(values[i]) & 0x7FFFFFFFU;
    if (magnitude > largest) largest = magnitude;
  }
  return std::bit_cast<float>(largest);
}

}  // namespace

void quantize_activations_portable(const float* values, ActivationBlock& block) noexcept {
  const float largest = largest_magnitude(values);
  const bool is_zero = largest < kSmallestMaximum;
  const bool is_finite = std::isfinite(largest);
  const float inverse = is_zero || !is_finite ? 0.0F : 127.0F / largest;
  int32_t half_sums[2] = {0, 0};
  for (size_t i = 0; i < kBlockColumns; ++i) {
    const int32_t value = is_finite ? static_cast<int32_t>(std::nearbyint(values[i] * inverse)) : 0;
    block.values[i] = static_cast<int8_t>(value);
    half_sums[i / 16] += value;
  }
  // NaN and infinity must reach the result: codes are 0 then, and NaN * 0 is NaN.
  block.scale = is_zero ? 0.0F : largest / 127.0F;
  const int32_t sum = half_sums[0] + half_sums[1];
  block.scaled_sum = block.scale * static_cast<float>(sum);
  block.sum_times_minus_8 = -8 * sum;
  block.sum_times_minus_128 = -128 * sum;
  for (size_t half = 0; half < 2; ++half) {
    block.half_sums_times_minus_128[half] = -128 * half_sums[half];
    block.half_scaled_sums[half] = block.scale * static_cast<float>(half_sums[half]);
  }
}

QuantizeFunction find_quantize(Isa isa) {
#if defined(__x86_64__)
  if (isa != Isa::portable) return quantize_activations_avx2;
#endif
  static_cast<void>(isa);
  return quantize_activations_portable;
}

}  // namespace qualia::lanes::cpu
