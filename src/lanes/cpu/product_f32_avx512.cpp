// Float products with AVX-512: 16 rows of a panel in a zmm register, an activation broadcast from
// memory by the FMA itself. Weights become float32 one k at a time, once for up to 16 rows of x.
// Each block's 32 products are summed before they are added to the row's sum: with 16 rows of x
// that is 16 registers of block sums, and the rows' sums live in memory.
#include "lanes/cpu/product_variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "lanes/cpu/product_loops.h"
#include "lanes/cpu/target_region.h"

QUALIA_TARGET_BEGIN("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")

namespace qualia::lanes::cpu {
namespace {

#include "lanes/cpu/product_prefetch_body.h"

struct Vector {
  using F = __m512;
  static constexpr size_t kWidth = 16;

  QUALIA_INLINE static F zero() noexcept { return _mm512_setzero_ps(); }
  QUALIA_INLINE static F set(float value) noexcept { return _mm512_set1_ps(value); }
  QUALIA_INLINE static F load(const float* source) noexcept { return _mm512_loadu_ps(source); }
  QUALIA_INLINE static void store(float* target, F x) noexcept { _mm512_storeu_ps(target, x); }
  QUALIA_INLINE static F fma(F a, F b, F c) noexcept { return _mm512_fmadd_ps(a, b, c); }
  QUALIA_INLINE static F mul(F a, F b) noexcept { return _mm512_mul_ps(a, b); }
  QUALIA_INLINE static F add(F a, F b) noexcept { return _mm512_add_ps(a, b); }
  QUALIA_INLINE static F load_f16(const std::byte* source) noexcept {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(source)));
  }
  // Pairs of bf16: the even ones are the low halves of 32-bit lanes.
  QUALIA_INLINE static F load_bf16(const std::byte* source, bool is_odd) noexcept {
    const __m512i pairs = _mm512_loadu_si512(source);
    const __m512i high_halves = _mm512_set1_epi32(static_cast<int>(0xFFFF0000U));
    return _mm512_castsi512_ps(is_odd ? _mm512_and_si512(pairs, high_halves)
                                      : _mm512_slli_epi32(pairs, 16));
  }
  // Byte `index` of each 32-bit lane as a signed number.
  QUALIA_INLINE static F load_i8(const std::byte* source, unsigned index) noexcept {
    const __m512i lanes = _mm512_loadu_si512(source);
    const __m512i top = index == 3 ? lanes : _mm512_slli_epi32(lanes, 24 - 8 * index);
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(top, 24));
  }
  // Nibble `index` of each 32-bit lane.
  QUALIA_INLINE static F load_u4(const std::byte* source, unsigned index, int offset) noexcept {
    const __m512i lanes = _mm512_loadu_si512(source);
    const __m512i code =
        _mm512_and_si512(_mm512_srli_epi32(lanes, 4 * index), _mm512_set1_epi32(0x0F));
    return _mm512_cvtepi32_ps(offset == 0 ? code
                                          : _mm512_sub_epi32(code, _mm512_set1_epi32(offset)));
  }
};

constexpr size_t kRowsAtOnce = 16;

#include "lanes/cpu/product_f32_body.h"

}  // namespace

#define QUALIA_PRODUCT(format, form, isa)                                              \
  void product_##format##_##form##_##isa(const ProductArguments& arguments) noexcept { \
    multiply<PackedFormat::format>(arguments);                                         \
  }
QUALIA_F32_PRODUCTS(QUALIA_PRODUCT, avx512)
#undef QUALIA_PRODUCT

}  // namespace qualia::lanes::cpu

QUALIA_TARGET_END

#endif
