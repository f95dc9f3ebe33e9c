// INT8 products with AMX, for sixteen rows of x and more: a tile product makes the dots of a block
// of 32 k of 16 rows of x with the 16 rows of a panel at once, as whole numbers in memory, from
// where AVX-512 scales and adds them.
// Codes are signed bytes (4-bit ones are unpacked, and centred where they have no min), so dots are
// those of product_int8_avx512.cpp, and so are the steps that follow, in the same order: the bits
// of an output are the same, and fewer rows go there.
// Cycles for 16 rows of x, a panel and a block, found by leaving parts out (q4): 72, of which a
// tile's loads, product and store take 38, scaling 35, and copying x and unpacking codes 13; tiles
// and scaling overlap little. AVX-512 alone takes 88. No faster were tiles of 8 rows, which need no
// copies but cost as much to store, and tiles two and three blocks ahead of the scaling.
#include "lanes/cpu/product_loops.h"
#include "lanes/cpu/product_variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <utility>

#include "lanes/cpu/target_region.h"

QUALIA_TARGET_BEGIN("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,gfni,amx-tile,amx-int8")

namespace qualia::lanes::cpu {
namespace {

#include "lanes/cpu/amx_tiles_body.h"

struct Lanes {
  using F = __m512;
  static F load(const float* source) noexcept { return _mm512_load_ps(source); }
  static void store(float* target, F value) noexcept { _mm512_store_ps(target, value); }
  static F floats(const int32_t* source) noexcept {
    return _mm512_cvtepi32_ps(_mm512_load_si512(source));
  }
  static F halves(const std::byte* source) noexcept {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(source)));
  }
  static F add(F a, F b) noexcept { return _mm512_add_ps(a, b); }
  static F mul(F a, F b) noexcept { return _mm512_mul_ps(a, b); }
  static F mul(F a, float b) noexcept { return _mm512_mul_ps(a, _mm512_set1_ps(b)); }
  static F fma(F a, F b, F c) noexcept { return _mm512_fmadd_ps(a, b, c); }
  static F fma(F a, float b, F c) noexcept { return _mm512_fmadd_ps(a, _mm512_set1_ps(b), c); }
  // The first `count` of sixteen, or all where it is more.
  static void store_first(float* target, size_t count, F value) noexcept {
    const __mmask16 stored =
        count >= kPanelRows ? __mmask16{0xFFFF} : static_cast<__mmask16>((1U << count) - 1U);
    _mm512_mask_storeu_ps(target, stored, value);
  }
  // The codes of a block as signed bytes; 4-bit ones less 8 where they have no min: each bit of a
  // result is the parity of some bits of the source, and subtracting 8 turns bit 3 over and copies
  // it upwards.
  template <PackedFormat kFormat>
  static void unpack(const std::byte* block, std::byte* codes) noexcept {
    constexpr PackedFormatInfo kInfo = packed_format_info(kFormat);
    // Row i of a matrix, its byte 7 - i, names the bits of the source that make bit i.
    constexpr int64_t kLow = kInfo.has_min ? 0x0102040800000000 : 0x0102040808080808;
    constexpr int64_t kHigh = kLow << 4;
    constexpr int kFlipped = kInfo.has_min ? 0 : 0xF8;
    QUALIA_UNROLL
    for (size_t p = 0; p < kInfo.code_bits; ++p) {
      const __m512i source = _mm512_loadu_si512(block + p * kCodeVectorBytes);
      std::byte* target = codes + p * kCodeVectorBytes;
      if constexpr (kInfo.code_bits == 4) {
        const __m512i low =
            _mm512_gf2p8affine_epi64_epi8(source, _mm512_set1_epi64(kLow), kFlipped);
        const __m512i high =
            _mm512_gf2p8affine_epi64_epi8(source, _mm512_set1_epi64(kHigh), kFlipped);
        _mm512_store_si512(target, low);
        _mm512_store_si512(target + 4 * kCodeVectorBytes, high);
      } else {
        _mm512_store_si512(target, source);
      }
    }
  }
};

#include "lanes/cpu/product_int8_amx_body.h"

}  // namespace

#define QUALIA_PRODUCT(format, form, isa)                                                   \
  void product_##format##_##form##_##isa(const ProductArguments& arguments) noexcept {      \
    multiply_in_tiles<PackedFormat::format>(arguments, product_##format##_##form##_avx512); \
  }
QUALIA_TILE_PRODUCTS(QUALIA_PRODUCT, amx)
#undef QUALIA_PRODUCT

}  // namespace qualia::lanes::cpu

QUALIA_TARGET_END

#endif
