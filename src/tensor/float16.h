// Conversions between float32 and the two 16-bit float types that weight files store.
// Thread-safety: pure. Portable integer code: no compiler half type, no instruction-set extension.
// to f32: exact for every bit pattern, subnormals, infinities and NaN payloads included.
// from f32: round to nearest, ties to even; beyond the largest finite value infinity; NaN stays
// NaN. Branch-free where a row of weights passes through, so that compilers vectorise the loops.
// Source: IEEE 754-2019 binary16; bfloat16 is the upper half of binary32.
#pragma once

#include <bit>
#include <cstdint>

namespace qualia {

inline float f16_to_f32(uint16_t half) noexcept {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16U;
  const uint32_t magnitude = half & 0x7FFFU;
  // Exponent bias 127 instead of 15; infinity and NaN (exponent 31) go to exponent 255.
  const uint32_t rebias = magnitude >= 0x7C00U ? (255U - 31U) << 23U : (127U - 15U) << 23U;
  const uint32_t normal = (magnitude << 13U) + rebias;
  // A subnormal counts units of 2^-24, the step of float32 in [0.5 * 2^0, 2^0): put it there
  // exactly and take the 0.5 away, which leaves an exactly representable difference.
  const uint32_t counted = std::bit_cast<uint32_t>(std::bit_cast<float>(0x3F000000U + magnitude) -
                                                   std::bit_cast<float>(0x3F000000U));
  return std::bit_cast<float>(sign | (magnitude < 0x0400U ? counted : normal));
}

inline float bf16_to_f32(uint16_t value) noexcept {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16U);
}

inline uint16_t f32_to_f16(float value) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16U) & 0x8000U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  const auto signed_half = [sign](uint32_t half) { return static_cast<uint16_t>(sign | half); };
  if (magnitude > 0x7F800000U) {
    return signed_half(0x7E00U | ((magnitude >> 13U) & 0x03FFU));  // quiet, payload's top bits
  }
  // 65520 lies halfway between the largest finite half and 2^16; ties round up to infinity.
  if (magnitude >= 0x477FF000U) return signed_half(0x7C00U);
  if (magnitude < 0x38800000U) {  // below 2^-14: a count of 2^-24, rounded by adding 0.5
    const float counted = std::bit_cast<float>(magnitude) + 0.5F;
    return signed_half(std::bit_cast<uint32_t>(counted) - 0x3F000000U);
  }
  const uint32_t rounded = magnitude + 0x0FFFU + ((magnitude >> 13U) & 1U);
  return signed_half((rounded >> 13U) - ((127U - 15U) << 10U));
}

inline uint16_t f32_to_bf16(float value) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<uint16_t>((bits >> 16U) | 0x0040U);
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

}  // namespace qualia
