// INT8 products with AVX2 and AVX-VNNI: vpdpbusd adds four products of unsigned codes and signed
// activations to a 32-bit sum. Signed codes get 128 added; the sum of activations, in the dots from
// the start, takes it out again.
#include "lanes/cpu/product_variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "lanes/cpu/product_loops.h"
#include "lanes/cpu/target_region.h"

QUALIA_TARGET_BEGIN("avx2,fma,f16c,avxvnni")

namespace qualia::lanes::cpu {
namespace {

template <PackedFormat kFormat>
struct Dots {
  static constexpr PackedFormatInfo kInfo = packed_format_info(kFormat);
  static constexpr bool kIsSigned = kInfo.code_bits == 8 && !kInfo.has_min;

  static constexpr size_t kTogether = kTokenTile;

  QUALIA_INLINE static __m256i prepare(__m256i codes) noexcept {
    if constexpr (!kIsSigned) return codes;
    return _mm256_xor_si256(codes, _mm256_set1_epi8(static_cast<char>(0x80)));
  }

  QUALIA_INLINE static __m256i start(const ActivationBlock& x, size_t s) noexcept {
    if constexpr (kFormat == PackedFormat::q4) return _mm256_set1_epi32(x.sum_times_minus_8);
    if constexpr (!kIsSigned) return _mm256_setzero_si256();
    return _mm256_set1_epi32(kInfo.scale_count == 1 ? x.sum_times_minus_128
                                                    : x.half_sums_times_minus_128[s]);
  }

  template <size_t kCount, typename Codes>
  QUALIA_INLINE static void add(const std::byte* codes, const ActivationBlock* x, size_t s,
                                __m256i (&dots)[kCount][2]) noexcept {
    constexpr size_t kSteps = 8 / kInfo.scale_count;
    QUALIA_UNROLL
    for (size_t t = 0; t < kCount; ++t) dots[t][0] = dots[t][1] = start(x[t], s);
    QUALIA_UNROLL
    for (size_t p = s * kSteps; p < (s + 1) * kSteps; ++p) {
      const __m256i low = Codes::load(codes, p, 0);
      const __m256i high = Codes::load(codes, p, 1);
      QUALIA_UNROLL
      for (size_t t = 0; t < kCount; ++t) {
        int32_t four = 0;
        __builtin_memcpy(&four, x[t].values + 4 * p, sizeof(four));
        const __m256i activations = _mm256_set1_epi32(four);
        dots[t][0] = _mm256_dpbusd_avx_epi32(dots[t][0], low, activations);
        dots[t][1] = _mm256_dpbusd_avx_epi32(dots[t][1], high, activations);
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
QUALIA_INT8_PRODUCTS(QUALIA_PRODUCT, avx_vnni)
#undef QUALIA_PRODUCT

}  // namespace qualia::lanes::cpu

QUALIA_TARGET_END

#endif
