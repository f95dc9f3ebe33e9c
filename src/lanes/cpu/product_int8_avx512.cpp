// INT8 products with AVX-512 and VNNI: a zmm register holds 4 codes of each of 16 rows, and one
// vpdpbusd multiplies them with 4 activations, broadcast from memory by the instruction itself.
// Registers of a tile of 16 rows of x: 16 sums, 8 of codes, scales, mins and a dot that lives for
// one row of x: 28 of 32. Per block and row of x: 8 vpdpbusd, convert, multiply, FMA.
#include "lanes/cpu/product_loops.h"
#include "lanes/cpu/product_variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "lanes/cpu/target_region.h"

QUALIA_TARGET_BEGIN("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")

namespace qualia::lanes::cpu {
namespace {

#include "lanes/cpu/product_prefetch_body.h"

template <PackedFormat kFormat>
struct Block {
  static constexpr PackedFormatInfo kInfo = packed_format_info(kFormat);
  // vpdpbusd takes unsigned codes: signed ones get 128 added, and the sum of activations takes it
  // out again.
  static constexpr bool kIsSigned = kInfo.code_bits == 8 && !kInfo.has_min;

  __m512i codes[8];
  __m512 scales[kInfo.scale_count];
  __m512 mins[kInfo.scale_count];

  QUALIA_INLINE void load(const std::byte* block) noexcept {
    const __m512i low_nibbles = _mm512_set1_epi8(0x0F);
    const __m512i offset = _mm512_set1_epi8(static_cast<char>(0x80));
    if constexpr (kInfo.code_bits == 4) {
      QUALIA_UNROLL
      for (size_t p = 0; p < 4; ++p) {
        const __m512i both = _mm512_loadu_si512(block + p * kCodeVectorBytes);
        codes[p] = _mm512_and_si512(both, low_nibbles);
        codes[p + 4] = _mm512_and_si512(_mm512_srli_epi16(both, 4), low_nibbles);
      }
    } else {
      QUALIA_UNROLL
      for (size_t p = 0; p < 8; ++p) {
        codes[p] = _mm512_loadu_si512(block + p * kCodeVectorBytes);
        if constexpr (kIsSigned) codes[p] = _mm512_xor_si512(codes[p], offset);
      }
    }
    QUALIA_UNROLL
    for (size_t s = 0; s < kInfo.scale_count; ++s) {
      scales[s] = halves(block + kInfo.scales_offset() + s * 2 * kPanelRows);
      if constexpr (kInfo.has_min)
        mins[s] = halves(block + kInfo.mins_offset() + s * 2 * kPanelRows);
    }
  }

  QUALIA_INLINE static __m512 halves(const std::byte* source) noexcept {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(source)));
  }

  QUALIA_INLINE static __m512i first_dot(const ActivationBlock& x, size_t s) noexcept {
    if constexpr (kInfo.code_bits == 4 && !kInfo.has_min)
      return _mm512_set1_epi32(x.sum_times_minus_8);
    if constexpr (kIsSigned && kInfo.scale_count == 1)
      return _mm512_set1_epi32(x.sum_times_minus_128);
    if constexpr (kIsSigned) return _mm512_set1_epi32(x.half_sums_times_minus_128[s]);
    return _mm512_setzero_si512();
  }

  // Adds the products with 32 activations of each of kCount rows, which go through each step side
  // by side: a row's eight vpdpbusd depend on one another, and neighbours fill the wait.
  template <size_t kCount>
  QUALIA_INLINE void add_products(const ActivationBlock* x, __m512* sums) const noexcept {
    constexpr size_t kSteps = 8 / kInfo.scale_count;
    QUALIA_UNROLL
    for (size_t s = 0; s < kInfo.scale_count; ++s) {
      __m512i dots[kCount];
      QUALIA_UNROLL
      for (size_t t = 0; t < kCount; ++t) dots[t] = first_dot(x[t], s);
      QUALIA_UNROLL
      for (size_t p = s * kSteps; p < (s + 1) * kSteps; ++p) {
        QUALIA_UNROLL
        for (size_t t = 0; t < kCount; ++t) {
          int32_t four = 0;
          __builtin_memcpy(&four, x[t].values + 4 * p, sizeof(four));
          dots[t] = _mm512_dpbusd_epi32(dots[t], codes[p], _mm512_set1_epi32(four));
        }
      }
      QUALIA_UNROLL
      for (size_t t = 0; t < kCount; ++t) {
        const __m512 scale = _mm512_mul_ps(scales[s], _mm512_set1_ps(x[t].scale));
        sums[t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[t]), scale, sums[t]);
        if constexpr (kInfo.has_min) {
          const float scaled_sum =
              kInfo.scale_count == 2 ? x[t].half_scaled_sums[s] : x[t].scaled_sum;
          sums[t] = _mm512_fmadd_ps(mins[s], _mm512_set1_ps(scaled_sum), sums[t]);
        }
      }
    }
  }
};

// Stores the first `valid` of kRows sums, or the sums of their pairs.
template <size_t kRows>
QUALIA_INLINE void store_rows(const ProductArguments& a, size_t panel, size_t first, size_t valid,
                              const __m512* sums) noexcept {
  const size_t rows = a.rows - panel * kPanelRows;
  const __mmask16 stored =
      rows >= kPanelRows ? __mmask16{0xFFFF} : static_cast<__mmask16>((1U << rows) - 1U);
  const __m512 factors = a.row_factors == nullptr
                             ? _mm512_set1_ps(1.0F)
                             : _mm512_loadu_ps(a.row_factors + panel * kPanelRows);
  float* y = a.y + panel * kPanelRows;
  if (a.is_paired) {
    QUALIA_UNROLL
    for (size_t t = 0; t + 1 < kRows; t += 2) {
      if (t >= valid) continue;
      const __m512 sum = _mm512_mul_ps(_mm512_add_ps(sums[t], sums[t + 1]), factors);
      _mm512_mask_storeu_ps(y + (first + t) / 2 * a.y_stride, stored, sum);
    }
  } else {
    QUALIA_UNROLL
    for (size_t t = 0; t < kRows; ++t) {
      if (t >= valid) continue;
      _mm512_mask_storeu_ps(y + (first + t) * a.y_stride, stored, _mm512_mul_ps(sums[t], factors));
    }
  }
}

// kRows rows of x (1, 2, or whole tiles of four) with one panel; the first `valid` are stored.
template <PackedFormat kFormat, size_t kRows>
[[gnu::noinline]] void multiply_rows(const ProductArguments& a, size_t panel, size_t first,
                                     size_t valid) noexcept {
  const std::byte* block = a.panel + panel * a.panel_bytes;
  const size_t tile_stride = a.blocks * kTokenTile;
  const ActivationBlock* x = a.int8 + first / kTokenTile * tile_stride + first % kTokenTile;
  __m512 sums[kRows];
  QUALIA_UNROLL
  for (size_t t = 0; t < kRows; ++t) sums[t] = _mm512_setzero_ps();
  for (size_t b = 0; b < a.blocks; ++b) {
    prefetch_ahead(block, packed_format_info(kFormat).block_bytes());
    Block<kFormat> weights;
    weights.load(block);
    constexpr size_t kTogether = kRows < kTokenTile ? kRows : kTokenTile;
    QUALIA_UNROLL
    for (size_t t = 0; t < kRows; t += kTogether) {
      weights.template add_products<kTogether>(x + t / kTokenTile * tile_stride, sums + t);
    }
    block += packed_format_info(kFormat).block_bytes();
    x += kTokenTile;
  }
  store_rows<kRows>(a, panel, first, valid, sums);
}

// Rows of x at once: scales and mins take registers from the sums.
constexpr size_t rows_at_once(PackedFormat format) {
  const PackedFormatInfo& info = packed_format_info(format);
  const size_t scale_registers = info.scale_count * (info.has_min ? 2 : 1);
  return scale_registers == 1 ? 16 : scale_registers == 2 ? 12 : 8;
}

template <PackedFormat kFormat>
void multiply(const ProductArguments& a) noexcept {
  constexpr size_t kRowsAtOnce = rows_at_once(kFormat);
  for (size_t panel = 0; panel < a.panel_count; ++panel) {
    for (size_t first = 0; first < a.m; first += kRowsAtOnce) {
      const size_t rows = a.m - first < kRowsAtOnce ? a.m - first : kRowsAtOnce;
      // No more tiles of x than there are.
      if (kRowsAtOnce > 12 && rows > 12) {
        multiply_rows<kFormat, kRowsAtOnce>(a, panel, first, rows);
      } else if (kRowsAtOnce > 8 && rows > 8) {
        multiply_rows < kFormat, kRowsAtOnce<12 ? kRowsAtOnce : 12>(a, panel, first, rows);
      } else if (rows > 4) {
        multiply_rows<kFormat, 8>(a, panel, first, rows);
      } else if (rows > 2) {
        multiply_rows<kFormat, 4>(a, panel, first, rows);
      } else if (rows == 2) {
        multiply_rows<kFormat, 2>(a, panel, first, rows);
      } else {
        multiply_rows<kFormat, 1>(a, panel, first, rows);
      }
    }
  }
}

}  // namespace

#define QUALIA_PRODUCT(format, form, isa)                                              \
  void product_##format##_##form##_##isa(const ProductArguments& arguments) noexcept { \
    multiply<PackedFormat::format>(arguments);                                         \
  }
QUALIA_INT8_PRODUCTS(QUALIA_PRODUCT, avx512)
#undef QUALIA_PRODUCT

}  // namespace qualia::lanes::cpu

QUALIA_TARGET_END

#endif
