// Simd for AVX-512 (F, BW, DQ, VL, VNNI): sixteen floats. Included inside an anonymous namespace
// and inside a target region (see kernels_body.h). Thread-safety: pure.
#pragma once

struct Simd {
  using F = __m512;
  static constexpr size_t kWidth = 16;
  // 32 registers: sums of 8 queries x 32 positions, or of 8 queries x 32 values, and their inputs.
  static constexpr size_t kScoreQueries = 8;
  static constexpr size_t kScoreBlocks = 2;
  static constexpr size_t kValueQueries = 8;

  static F set(float value) noexcept { return _mm512_set1_ps(value); }
  static F load(const float* source) noexcept { return _mm512_loadu_ps(source); }
  static void store(float* target, F value) noexcept { _mm512_storeu_ps(target, value); }
  static F load_f16(const uint16_t* source) noexcept {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(source)));
  }
  static void store_f16(uint16_t* target, F value) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), _mm512_cvtps_ph(value, 0));
  }
  static void store_i8(int8_t* target, F value) noexcept {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target),
                     _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(value)));
  }
  // Of |value| <= 32767, rounded.
  static void store_i16(int16_t* target, F value) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target),
                        _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32(value)));
  }
  // 32-bit sums, or pairs of 16-bit integers.
  using I = __m512i;
  static I zero() noexcept { return _mm512_setzero_si512(); }
  static I widen(const int8_t* source) noexcept {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(source)));
  }
  static I pair(const int16_t* source) noexcept {
    int32_t two = 0;
    __builtin_memcpy(&two, source, sizeof(two));
    return _mm512_set1_epi32(two);
  }
  static I dot(I sum, I a, I b) noexcept {
    sum = _mm512_dpwssd_epi32(sum, a, b);
    QUALIA_PIN(sum);
    return sum;
  }
  static F to_float(I x) noexcept { return _mm512_cvtepi32_ps(x); }
  static F add(F a, F b) noexcept { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) noexcept { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) noexcept { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) noexcept { return _mm512_div_ps(a, b); }
  static F fma(F a, F b, F c) noexcept { return _mm512_fmadd_ps(a, b, c); }
  static F max(F a, F b) noexcept { return _mm512_max_ps(a, b); }
  static F min(F a, F b) noexcept { return _mm512_min_ps(a, b); }
  static F round(F x) noexcept {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static F scale(F x, F n) noexcept { return _mm512_scalef_ps(x, n); }
  static float sum(F x) noexcept { return _mm512_reduce_add_ps(x); }
  static float largest(F x) noexcept { return _mm512_reduce_max_ps(x); }
  static double sum_of_squares(const float* x, size_t count) noexcept {
    __m512d low = _mm512_setzero_pd();
    __m512d high = _mm512_setzero_pd();
    size_t i = 0;
    for (; i + kWidth <= count; i += kWidth) {
      const __m512d a = _mm512_cvtps_pd(_mm256_loadu_ps(x + i));
      const __m512d b = _mm512_cvtps_pd(_mm256_loadu_ps(x + i + 8));
      low = _mm512_fmadd_pd(a, a, low);
      high = _mm512_fmadd_pd(b, b, high);
    }
    double sum = _mm512_reduce_add_pd(_mm512_add_pd(low, high));
    for (; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return sum;
  }
};
