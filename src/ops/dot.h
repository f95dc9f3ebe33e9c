// Dot products in one fixed order of summation, shared by matmul and attention.
// Thread-safety: pure.
// Order: product i goes to partial sum i % 8; the eight partial sums are added as
// ((0+4)+(2+6)) + ((1+5)+(3+7)). So a result depends on its two vectors alone: not on the tile it
// was computed in, the batch or the thread. Bound: |dot - exact| <= (k / 8 + 4) * eps(f32) * sum
// |a_i b_i|. Eight sums hide the latency of an add (4 cycles, two a cycle on x86-64) with the four
// accumulators of a 2 x 1 tile; the vector type is the compilers' generic one, which is plain SSE2
// or NEON code.
#pragma once

#include <cstddef>
#include <cstring>

namespace qualia::ops {

inline constexpr size_t kDotLanes = 8;

typedef float FloatQuad __attribute__((vector_size(16)));

inline FloatQuad load_quad(const float* source) noexcept {
  FloatQuad quad;
  std::memcpy(&quad, source, sizeof(quad));
  return quad;
}

// Dots of kLeft rows of `left` with kRight rows of `right`, `k` long, rows `..._stride` floats
// apart: out[r * out_stride + l] = left_l . right_r.
template <size_t kLeft, size_t kRight>
inline void dot_tile(const float* left, size_t left_stride, const float* right, size_t right_stride,
                     size_t k, float* out, size_t out_stride) noexcept {
  FloatQuad low[kRight][kLeft] = {};
  FloatQuad high[kRight][kLeft] = {};
  const size_t whole = k / kDotLanes * kDotLanes;
  for (size_t i = 0; i < whole; i += kDotLanes) {
    for (size_t l = 0; l < kLeft; ++l) {
      const FloatQuad left_low = load_quad(left + l * left_stride + i);
      const FloatQuad left_high = load_quad(left + l * left_stride + i + 4);
      for (size_t r = 0; r < kRight; ++r) {
        low[r][l] += left_low * load_quad(right + r * right_stride + i);
        high[r][l] += left_high * load_quad(right + r * right_stride + i + 4);
      }
    }
  }
  for (size_t r = 0; r < kRight; ++r) {
    for (size_t l = 0; l < kLeft; ++l) {
      float sums[kDotLanes];
      std::memcpy(sums, &low[r][l], sizeof(FloatQuad));
      std::memcpy(sums + 4, &high[r][l], sizeof(FloatQuad));
      for (size_t i = whole; i < k; ++i) {
        sums[i - whole] += left[l * left_stride + i] * right[r * right_stride + i];
      }
      out[r * out_stride + l] =
          ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
    }
  }
}

inline float dot_f32(const float* a, const float* b, size_t k) noexcept {
  float result = 0.0F;
  dot_tile<1, 1>(a, 0, b, 0, k, &result, 1);
  return result;
}

}  // namespace qualia::ops
