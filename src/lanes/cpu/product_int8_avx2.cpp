// INT8 products with AVX2: vpmaddubsw multiplies unsigned codes with signed activations into 16-bit
// sums of two, which are widened as seldom as the codes' size allows.
//   format          codes          steps of 4 k before 16 bits could overflow
//   q4, q4_min      0 .. 15        8: 8 * 2 * 15 * 127 = 30480
//   q8_min          0 .. 31        4: 4 * 2 * 31 * 127 = 31496
//   q8_g16_min      0 .. 3         4 (a group of 16 k)
//   q8_g16          -32 .. 31      4: 4 * 2 * 32 * 127 = 32512
//   q8              -128 .. 127    1: 2 * 128 * 127 = 32512
// Signed codes: |code| is the unsigned factor, and the activation takes over the sign.
#include "lanes/cpu/product_variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "lanes/cpu/product_loops.h"
#include "lanes/cpu/target_region.h"

QUALIA_TARGET_BEGIN("avx2,fma,f16c")

namespace qualia::lanes::cpu {
namespace {

template <PackedFormat kFormat>
struct Dots {
  static constexpr PackedFormatInfo kInfo = packed_format_info(kFormat);
  static constexpr bool kIsSigned = kInfo.code_bits == 8 && !kInfo.has_min;
  // Rows of x whose dots the registers hold: where 16-bit sums and 32-bit dots are live together
  // (two widenings a scale), only half a tile.
  static constexpr size_t kTogether = kFormat == PackedFormat::q8_min ? 2 : kTokenTile;
  static constexpr size_t kDepth = kInfo.code_bits == 4 ? 8 : kFormat == PackedFormat::q8 ? 1 : 4;

  QUALIA_INLINE static __m256i prepare(__m256i codes) noexcept { return codes; }

  // 16-bit sums of two products each.
  QUALIA_INLINE static __m256i pair_sums(__m256i codes, __m256i x) noexcept {
    if constexpr (kIsSigned) {
      return _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(x, codes));
    } else {
      return _mm256_maddubs_epi16(codes, x);
    }
  }

  // words (+)= products of step p.
  template <size_t kCount, typename Codes>
  QUALIA_INLINE static void add_step(const std::byte* codes, const ActivationBlock* x, size_t p,
                                     bool is_first, __m256i (&words)[kCount][2]) noexcept {
    const __m256i low = Codes::load(codes, p, 0);
    const __m256i high = Codes::load(codes, p, 1);
    QUALIA_UNROLL
    for (size_t t = 0; t < kCount; ++t) {
      int32_t four = 0;
      __builtin_memcpy(&four, x[t].values + 4 * p, sizeof(four));
      const __m256i activations = _mm256_set1_epi32(four);
      const __m256i low_sums = pair_sums(low, activations);
      const __m256i high_sums = pair_sums(high, activations);
      words[t][0] = is_first ? low_sums : _mm256_add_epi16(words[t][0], low_sums);
      words[t][1] = is_first ? high_sums : _mm256_add_epi16(words[t][1], high_sums);
      QUALIA_PIN(words[t][0]);
      QUALIA_PIN(words[t][1]);
    }
  }

  template <size_t kCount, typename Codes>
  QUALIA_INLINE static void add(const std::byte* codes, const ActivationBlock* x, size_t s,
                                __m256i (&dots)[kCount][2]) noexcept {
    constexpr size_t kSteps = 8 / kInfo.scale_count;
    if constexpr (kDepth == 1) return add_widening<kCount, Codes>(codes, x, dots);
    QUALIA_UNROLL
    for (size_t begin = 0; begin < kSteps; begin += kDepth) {
      __m256i words[kCount][2];
      QUALIA_UNROLL
      for (size_t p = 0; p < kDepth; ++p) {
        add_step<kCount, Codes>(codes, x, s * kSteps + begin + p, p == 0, words);
      }
      QUALIA_UNROLL
      for (size_t t = 0; t < kCount; ++t) {
        QUALIA_UNROLL
        for (size_t half = 0; half < 2; ++half) {
          const __m256i wide = _mm256_madd_epi16(words[t][half], _mm256_set1_epi16(1));
          dots[t][half] = begin == 0 ? wide : _mm256_add_epi32(dots[t][half], wide);
          QUALIA_PIN(dots[t][half]);
        }
      }
    }
    if constexpr (kFormat == PackedFormat::q4) {
      QUALIA_UNROLL
      for (size_t t = 0; t < kCount; ++t) {
        const __m256i offset = _mm256_set1_epi32(x[t].sum_times_minus_8);
        dots[t][0] = _mm256_add_epi32(dots[t][0], offset);
        dots[t][1] = _mm256_add_epi32(dots[t][1], offset);
      }
    }
  }

 private:
  // Widens the products of every step.
  template <size_t kCount, typename Codes>
  QUALIA_INLINE static void add_widening(const std::byte* codes, const ActivationBlock* x,
                                         __m256i (&dots)[kCount][2]) noexcept {
    QUALIA_UNROLL
    for (size_t p = 0; p < 8; ++p) {
      const __m256i halves[2] = {Codes::load(codes, p, 0), Codes::load(codes, p, 1)};
      QUALIA_UNROLL
      for (size_t t = 0; t < kCount; ++t) {
        int32_t four = 0;
        __builtin_memcpy(&four, x[t].values + 4 * p, sizeof(four));
        QUALIA_UNROLL
        for (size_t half = 0; half < 2; ++half) {
          const __m256i wide = _mm256_madd_epi16(pair_sums(halves[half], _mm256_set1_epi32(four)),
                                                 _mm256_set1_epi16(1));
          dots[t][half] = p == 0 ? wide : _mm256_add_epi32(dots[t][half], wide);
          QUALIA_PIN(dots[t][half]);
        }
      }
    }
  }
};

#include "lanes/cpu/product_int8_ymm_body.h"

}  // namespace

#define QUALIA_PRODUCT(format, form, isa)                                              \
  void product_##format##_##form##_##isa(const ProductArguments& arguments) noexcept { \
    multiply<PackedFormat::format>(arguments);                                         \
  }
QUALIA_INT8_PRODUCTS(QUALIA_PRODUCT, avx2)
#undef QUALIA_PRODUCT

}  // namespace qualia::lanes::cpu

QUALIA_TARGET_END

#endif
