// Float products with AVX2 and FMA: a panel is worked on in two halves of 8 rows, each with up to 8
// rows of x: 8 registers of block sums, a weight, an activation and what dequantising takes.
#include "lanes/cpu/product_variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "lanes/cpu/product_loops.h"
#include "lanes/cpu/target_region.h"

QUALIA_TARGET_BEGIN("avx2,fma,f16c")

namespace qualia::lanes::cpu {
namespace {

#include "lanes/cpu/product_prefetch_body.h"

struct Vector {
  using F = __m256;
  static constexpr size_t kWidth = 8;

  QUALIA_INLINE static F zero() noexcept { return _mm256_setzero_ps(); }
  QUALIA_INLINE static F set(float value) noexcept { return _mm256_set1_ps(value); }
  QUALIA_INLINE static F load(const float* source) noexcept { return _mm256_loadu_ps(source); }
  QUALIA_INLINE static void store(float* target, F x) noexcept { _mm256_storeu_ps(target, x); }
  QUALIA_INLINE static F fma(F a, F b, F c) noexcept { return _mm256_fmadd_ps(a, b, c); }
  QUALIA_INLINE static F mul(F a, F b) noexcept { return _mm256_mul_ps(a, b); }
  QUALIA_INLINE static F add(F a, F b) noexcept { return _mm256_add_ps(a, b); }
  QUALIA_INLINE static __m256i bits(const std::byte* source) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
  }
  QUALIA_INLINE static F load_f16(const std::byte* source) noexcept {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source)));
  }
  // Pairs of bf16: the even ones are the low halves of 32-bit lanes.
  QUALIA_INLINE static F load_bf16(const std::byte* source, bool is_odd) noexcept {
    const __m256i high_halves = _mm256_set1_epi32(static_cast<int>(0xFFFF0000U));
    return _mm256_castsi256_ps(is_odd ? _mm256_and_si256(bits(source), high_halves)
                                      : _mm256_slli_epi32(bits(source), 16));
  }
  // Byte `index` of each 32-bit lane as a signed number.
  QUALIA_INLINE static F load_i8(const std::byte* source, unsigned index) noexcept {
    const __m256i lanes = bits(source);
    const __m256i top =
        index == 3 ? lanes : _mm256_slli_epi32(lanes, static_cast<int>(24 - 8 * index));
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(top, 24));
  }
  // Nibble `index` of each 32-bit lane.
  QUALIA_INLINE static F load_u4(const std::byte* source, unsigned index, int offset) noexcept {
    const __m256i code = _mm256_and_si256(
        _mm256_srli_epi32(bits(source), static_cast<int>(4 * index)), _mm256_set1_epi32(0x0F));
    return _mm256_cvtepi32_ps(offset == 0 ? code
                                          : _mm256_sub_epi32(code, _mm256_set1_epi32(offset)));
  }
};

constexpr size_t kRowsAtOnce = 8;

#include "lanes/cpu/product_f32_body.h"

}  // namespace

#define QUALIA_PRODUCT(format, form, isa)                                              \
  void product_##format##_##form##_##isa(const ProductArguments& arguments) noexcept { \
    multiply<PackedFormat::format>(arguments);                                         \
  }
QUALIA_F32_PRODUCTS(QUALIA_PRODUCT, avx2)
#undef QUALIA_PRODUCT

}  // namespace qualia::lanes::cpu

QUALIA_TARGET_END

#endif
