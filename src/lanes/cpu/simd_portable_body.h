// Simd for any machine: four floats, the compilers' generic vectors. Included inside an anonymous
// namespace by kernels_portable.cpp alone (see kernels_body.h).
// Thread-safety: pure.
#pragma once

struct Simd {
  typedef float F __attribute__((vector_size(16)));
  typedef int32_t I __attribute__((vector_size(16)));
  static constexpr size_t kWidth = 4;
  // 16 registers: sums of 2 queries x 16 positions, or of 1 query x 32 values, and their inputs.
  static constexpr size_t kScoreQueries = 2;
  static constexpr size_t kScoreBlocks = 1;
  static constexpr size_t kValueQueries = 1;

  static F set(float value) noexcept { return F{value, value, value, value}; }
  static F load(const float* source) noexcept {
    F value;
    std::memcpy(&value, source, sizeof(value));
    return value;
  }
  static void store(float* target, F value) noexcept { std::memcpy(target, &value, sizeof(value)); }
  static F load_f16(const uint16_t* source) noexcept {
    return F{f16_to_f32(source[0]), f16_to_f32(source[1]), f16_to_f32(source[2]),
             f16_to_f32(source[3])};
  }
  static void store_f16(uint16_t* target, F value) noexcept {
    for (size_t i = 0; i < kWidth; ++i) target[i] = f32_to_f16(value[i]);
  }
  // Of values in [-127, 127], rounded.
  static void store_i8(int8_t* target, F value) noexcept {
    const I rounded = __builtin_convertvector(round(value), I);
    for (size_t i = 0; i < kWidth; ++i) target[i] = static_cast<int8_t>(rounded[i]);
  }
  // Of |value| <= 32767, rounded.
  static void store_i16(int16_t* target, F value) noexcept {
    const I rounded = __builtin_convertvector(round(value), I);
    for (size_t i = 0; i < kWidth; ++i) target[i] = static_cast<int16_t>(rounded[i]);
  }
  // Pairs of 16-bit integers lie in the halves of 32-bit ones.
  static I zero() noexcept { return I{0, 0, 0, 0}; }
  static I widen(const int8_t* source) noexcept {
    int16_t words[2 * kWidth];
    for (size_t i = 0; i < 2 * kWidth; ++i) words[i] = source[i];
    I pairs;
    std::memcpy(&pairs, words, sizeof(pairs));
    return pairs;
  }
  static I pair(const int16_t* source) noexcept {
    int32_t two = 0;
    std::memcpy(&two, source, sizeof(two));
    return I{two, two, two, two};
  }
  static I dot(I sum, I a, I b) noexcept {
    // Shifting left would overflow as signed.
    typedef uint32_t U __attribute__((vector_size(16)));
    const I low_a = reinterpret_cast<I>(reinterpret_cast<U>(a) << 16) >> 16;
    const I low_b = reinterpret_cast<I>(reinterpret_cast<U>(b) << 16) >> 16;
    return sum + low_a * low_b + (a >> 16) * (b >> 16);
  }
  static F to_float(I x) noexcept { return __builtin_convertvector(x, F); }
  static F add(F a, F b) noexcept { return a + b; }
  static F sub(F a, F b) noexcept { return a - b; }
  static F mul(F a, F b) noexcept { return a * b; }
  static F div(F a, F b) noexcept { return a / b; }
  static F fma(F a, F b, F c) noexcept { return a * b + c; }
  // b where either is NaN.
  static F max(F a, F b) noexcept { return a > b ? a : b; }
  static F min(F a, F b) noexcept { return a < b ? a : b; }
  // Of |x| < 2^22: adding 1.5 * 2^23 leaves no bits below the point.
  static F round(F x) noexcept {
    const F magic = set(12582912.0F);
    return (x + magic) - magic;
  }
  // x * 2^n for a whole n in [-250, 250]: in two steps, so that the result may be 0 or infinite.
  static F scale(F x, F n) noexcept {
    const I whole = __builtin_convertvector(n, I);
    const I half = whole >> 1;
    const I low = (half + 127) << 23;
    const I high = (whole - half + 127) << 23;
    return x * reinterpret_cast<F>(low) * reinterpret_cast<F>(high);
  }
  static float sum(F x) noexcept { return (x[0] + x[2]) + (x[1] + x[3]); }
  static float largest(F x) noexcept {
    return std::max(std::max(x[0], x[2]), std::max(x[1], x[3]));
  }
  static double sum_of_squares(const float* x, size_t count) noexcept {
    double sums[4] = {};
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
      for (size_t j = 0; j < 4; ++j) {
        sums[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
      }
    }
    for (; i < count; ++i) sums[0] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
  }
};
