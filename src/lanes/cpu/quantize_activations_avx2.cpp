#include "lanes/cpu/quantize_activations.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "lanes/cpu/target_region.h"

QUALIA_TARGET_BEGIN("avx2,fma,f16c")

namespace qualia::lanes::cpu {
namespace {

// The largest 32-bit integer of 8, in every lane.
__m256i largest_of_8(__m256i x) {
  x = _mm256_max_epi32(x, _mm256_permute2x128_si256(x, x, 1));
  x = _mm256_max_epi32(x, _mm256_shuffle_epi32(x, 0x4E));
  return _mm256_max_epi32(x, _mm256_shuffle_epi32(x, 0xB1));
}

// Sums of the low and of the high 16 signed bytes.
void half_sums(__m256i bytes, int32_t& low, int32_t& high) {
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), bytes);
  const __m256i quads = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  __m128i a = _mm256_castsi256_si128(quads);
  __m128i b = _mm256_extracti128_si256(quads, 1);
  const __m128i both = _mm_hadd_epi32(a, b);
  const __m128i sums = _mm_hadd_epi32(both, both);
  low = _mm_cvtsi128_si32(sums);
  high = _mm_extract_epi32(sums, 1);
}

}  // namespace

void quantize_activations_avx2(const float* values, ActivationBlock& block) noexcept {
  __m256 x[4];
  __m256i largest = _mm256_setzero_si256();
  const __m256i magnitude_bits = _mm256_set1_epi32(0x7FFFFFFF);
  for (int i = 0; i < 4; ++i) {
    x[i] = _mm256_loadu_ps(values + 8 * i);
    largest =
        _mm256_max_epi32(largest, _mm256_and_si256(_mm256_castps_si256(x[i]), magnitude_bits));
  }
  const float maximum = _mm256_cvtss_f32(_mm256_castsi256_ps(largest_of_8(largest)));
  // NaN fails every comparison, so that its codes are 0 and its scale is NaN.
  const bool has_codes = maximum >= kSmallestMaximum && maximum <= 0x1.FFFFFEp127F;
  const __m256 inverse = _mm256_set1_ps(has_codes ? 127.0F / maximum : 0.0F);
  __m256i codes[4];
  for (int i = 0; i < 4; ++i) codes[i] = _mm256_cvtps_epi32(_mm256_mul_ps(x[i], inverse));
  // Both packs work within 128-bit halves; the permutation puts the quarters back in order.
  __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(codes[0], codes[1]),
                                     _mm256_packs_epi32(codes[2], codes[3]));
  bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  if (!has_codes) bytes = _mm256_setzero_si256();
  _mm256_store_si256(reinterpret_cast<__m256i*>(block.values), bytes);
  int32_t low = 0;
  int32_t high = 0;
  half_sums(bytes, low, high);
  const float scale = maximum < kSmallestMaximum ? 0.0F : maximum / 127.0F;
  block.scale = scale;
  block.scaled_sum = scale * static_cast<float>(low + high);
  block.sum_times_minus_8 = -8 * (low + high);
  block.sum_times_minus_128 = -128 * (low + high);
  block.half_sums_times_minus_128[0] = -128 * low;
  block.half_sums_times_minus_128[1] = -128 * high;
  block.half_scaled_sums[0] = scale * static_cast<float>(low);
  block.half_scaled_sums[1] = scale * static_cast<float>(high);
}

}  // namespace qualia::lanes::cpu

QUALIA_TARGET_END

#endif
