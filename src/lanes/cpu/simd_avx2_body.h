// Simd for AVX2 with FMA and F16C: eight floats. Included inside an anonymous namespace and inside
// a target region (see kernels_body.h). Thread-safety: pure.
#pragma once

struct Simd {
  using F = __m256;
  static constexpr size_t kWidth = 8;
  // 16 registers: sums of 4 queries x 16 positions, or of 3 queries x 32 values, and their inputs.
  static constexpr size_t kScoreQueries = 4;
  static constexpr size_t kScoreBlocks = 1;
  static constexpr size_t kValueQueries = 3;

  static F set(float value) noexcept { return _mm256_set1_ps(value); }
  static F load(const float* source) noexcept { return _mm256_loadu_ps(source); }
  static void store(float* target, F value) noexcept { _mm256_storeu_ps(target, value); }
  static F load_f16(const uint16_t* source) noexcept {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source)));
  }
  static void store_f16(uint16_t* target, F value) noexcept {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target), _mm256_cvtps_ph(value, 0));
  }
  static void store_i8(int8_t* target, F value) noexcept {
    const __m256i whole = _mm256_cvtps_epi32(value);
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(target), _mm_packs_epi16(words, words));
  }
  // Of |value| <= 32767, rounded.
  static void store_i16(int16_t* target, F value) noexcept {
    const __m256i whole = _mm256_cvtps_epi32(value);
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target), words);
  }
  // 32-bit sums, or pairs of 16-bit integers.
  using I = __m256i;
  static I zero() noexcept { return _mm256_setzero_si256(); }
  static I widen(const int8_t* source) noexcept {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source)));
  }
  static I pair(const int16_t* source) noexcept {
    int32_t two = 0;
    __builtin_memcpy(&two, source, sizeof(two));
    return _mm256_set1_epi32(two);
  }
  // vpdpwssd of AVX-VNNI is no faster here: its latency is five times the addition's.
  static I dot(I sum, I a, I b) noexcept { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }
  static F to_float(I x) noexcept { return _mm256_cvtepi32_ps(x); }
  static F add(F a, F b) noexcept { return _mm256_add_ps(a, b); }
  static F sub(F a, F b) noexcept { return _mm256_sub_ps(a, b); }
  static F mul(F a, F b) noexcept { return _mm256_mul_ps(a, b); }
  static F div(F a, F b) noexcept { return _mm256_div_ps(a, b); }
  static F fma(F a, F b, F c) noexcept { return _mm256_fmadd_ps(a, b, c); }
  static F max(F a, F b) noexcept { return _mm256_max_ps(a, b); }
  static F min(F a, F b) noexcept { return _mm256_min_ps(a, b); }
  static F round(F x) noexcept {
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  // x * 2^n for a whole n in [-250, 250]: in two steps, so that the result may be 0 or infinite.
  static F scale(F x, F n) noexcept {
    const __m256i bias = _mm256_set1_epi32(127);
    const __m256i whole = _mm256_cvtps_epi32(n);
    const __m256i half = _mm256_srai_epi32(whole, 1);
    const __m256i low = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    const __m256i high =
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(whole, half), bias), 23);
    return _mm256_mul_ps(_mm256_mul_ps(x, _mm256_castsi256_ps(low)), _mm256_castsi256_ps(high));
  }
  static float sum(F x) noexcept {
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
  }
  static float largest(F x) noexcept {
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
  }
  static double sum_of_squares(const float* x, size_t count) noexcept {
    __m256d low = _mm256_setzero_pd();
    __m256d high = _mm256_setzero_pd();
    size_t i = 0;
    for (; i + kWidth <= count; i += kWidth) {
      const __m256d a = _mm256_cvtps_pd(_mm_loadu_ps(x + i));
      const __m256d b = _mm256_cvtps_pd(_mm_loadu_ps(x + i + 4));
      low = _mm256_fmadd_pd(a, a, low);
      high = _mm256_fmadd_pd(b, b, high);
    }
    double sums[4];
    _mm256_storeu_pd(sums, _mm256_add_pd(low, high));
    for (; i < count; ++i) sums[0] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
  }
};
