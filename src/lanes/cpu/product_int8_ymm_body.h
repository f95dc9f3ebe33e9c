// INT8 products on 256-bit registers, two of which hold the 16 rows of a panel. Included inside an
// anonymous namespace and a target region, after the definitions of
//   Dots<kFormat>::prepare(codes)                  a vector of codes as the instruction set takes
//   it Dots<kFormat>::add<kCount, Codes>(...)         integer dots of kCount rows of x with 16 rows
// Sixteen registers hold the dots of four rows of x (8), two vectors of codes, one of activations
// and temporaries; sums and unpacked codes live in a workspace that stays in the L1 cache. Codes
// are unpacked once for up to 16 rows of x. Thread-safety: pure.
#pragma once

#include "lanes/cpu/product_prefetch_body.h"

constexpr size_t kRowsAtOnce = 16;

// Vector `half` of step p: codes k = 4p .. 4p + 3 of rows 8 half .. 8 half + 7.
struct UnpackedCodes {
  QUALIA_INLINE static __m256i load(const std::byte* codes, size_t p, size_t half) noexcept {
    return _mm256_load_si256(
        reinterpret_cast<const __m256i*>(codes + p * kCodeVectorBytes + half * 32));
  }
};

template <PackedFormat kFormat>
struct PackedCodes {
  QUALIA_INLINE static __m256i load(const std::byte* codes, size_t p, size_t half) noexcept {
    constexpr bool kIsNibbles = packed_format_info(kFormat).code_bits == 4;
    const size_t step = kIsNibbles ? p % 4 : p;
    const __m256i bytes = _mm256_loadu_si256(
        reinterpret_cast<const __m256i*>(codes + step * kCodeVectorBytes + half * 32));
    if constexpr (!kIsNibbles) return Dots<kFormat>::prepare(bytes);
    const __m256i low_nibbles = _mm256_set1_epi8(0x0F);
    return _mm256_and_si256(p < 4 ? bytes : _mm256_srli_epi16(bytes, 4), low_nibbles);
  }
};

// Scales and mins of 8 rows as a block stores them, read when they are needed.
template <PackedFormat kFormat>
struct PackedScales {
  static constexpr PackedFormatInfo kInfo = packed_format_info(kFormat);
  const std::byte* block;

  QUALIA_INLINE __m256 scale(size_t s, size_t half) const noexcept {
    return halves(block + kInfo.scales_offset() + s * 2 * kPanelRows + half * 16);
  }
  QUALIA_INLINE __m256 min(size_t s, size_t half) const noexcept {
    return halves(block + kInfo.mins_offset() + s * 2 * kPanelRows + half * 16);
  }

 private:
  QUALIA_INLINE static __m256 halves(const std::byte* source) noexcept {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source)));
  }
};

// The same unpacked once for many rows of x.
template <PackedFormat kFormat>
struct Scales {
  static constexpr PackedFormatInfo kInfo = packed_format_info(kFormat);
  __m256 scales[kInfo.scale_count][2];
  __m256 mins[kInfo.scale_count][2];

  QUALIA_INLINE __m256 scale(size_t s, size_t half) const noexcept { return scales[s][half]; }
  QUALIA_INLINE __m256 min(size_t s, size_t half) const noexcept { return mins[s][half]; }
  QUALIA_INLINE void load(const std::byte* block) noexcept {
    QUALIA_UNROLL
    for (size_t s = 0; s < kInfo.scale_count; ++s) {
      QUALIA_UNROLL
      for (size_t half = 0; half < 2; ++half) {
        scales[s][half] = PackedScales<kFormat>{block}.scale(s, half);
        if constexpr (kInfo.has_min) mins[s][half] = PackedScales<kFormat>{block}.min(s, half);
      }
    }
  }
};

// What a panel's product keeps in memory: 16 rows of sums, one block's codes and scales.
template <PackedFormat kFormat>
struct Workspace {
  __m256 sums[kRowsAtOnce][2];
  alignas(64) std::byte codes[kPanelRows * kBlockColumns];
  Scales<kFormat> scales;

  QUALIA_INLINE void unpack(const std::byte* block) noexcept {
    QUALIA_UNROLL
    for (size_t p = 0; p < 8; ++p) {
      QUALIA_UNROLL
      for (size_t half = 0; half < 2; ++half) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(codes + p * kCodeVectorBytes + half * 32),
                           PackedCodes<kFormat>::load(block, p, half));
      }
    }
    scales.load(block);
  }
};

// sums += products of kCount rows of x with a block.
template <PackedFormat kFormat, size_t kCount, typename Codes, typename ScaleSource>
QUALIA_INLINE void add_products(const std::byte* codes, const ScaleSource& scales,
                                const ActivationBlock* x, __m256 (*sums)[2]) noexcept {
  constexpr PackedFormatInfo kInfo = packed_format_info(kFormat);
  QUALIA_UNROLL
  for (size_t s = 0; s < kInfo.scale_count; ++s) {
    __m256i dots[kCount][2];
    // The sums so far are in memory while the second half's dots fill the registers.
    if (s != 0 && kCount > 2) QUALIA_RELOAD();
    Dots<kFormat>::template add<kCount, Codes>(codes, x, s, dots);
    QUALIA_UNROLL
    for (size_t t = 0; t < kCount; ++t) {
      const __m256 x_scale = _mm256_set1_ps(x[t].scale);
      QUALIA_UNROLL
      for (size_t half = 0; half < 2; ++half) {
        const __m256 scale = _mm256_mul_ps(scales.scale(s, half), x_scale);
        __m256 sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots[t][half]), scale, sums[t][half]);
        if constexpr (kInfo.has_min) {
          const float scaled_sum =
              kInfo.scale_count == 2 ? x[t].half_scaled_sums[s] : x[t].scaled_sum;
          sum = _mm256_fmadd_ps(scales.min(s, half), _mm256_set1_ps(scaled_sum), sum);
        }
        sums[t][half] = sum;
      }
    }
  }
}

// Stores `count` sums, or the sums of their pairs.
inline void store_rows(const ProductArguments& a, size_t panel, size_t first, size_t count,
                       const __m256 (*sums)[2]) noexcept {
  const size_t x_rows = a.is_paired ? 2 : 1;
  const float* factors = a.row_factors == nullptr ? nullptr : a.row_factors + panel * kPanelRows;
  const size_t rows = a.rows - panel * kPanelRows;
  for (size_t t = 0; t < count; t += x_rows) {
    float* y = a.y + (first + t) / x_rows * a.y_stride + panel * kPanelRows;
    alignas(32) float out[kPanelRows];
    for (size_t half = 0; half < 2; ++half) {
      const __m256 factor =
          factors == nullptr ? _mm256_set1_ps(1.0F) : _mm256_loadu_ps(factors + 8 * half);
      const __m256 sum =
          a.is_paired ? _mm256_add_ps(sums[t][half], sums[t + x_rows - 1][half]) : sums[t][half];
      _mm256_store_ps(out + 8 * half, _mm256_mul_ps(sum, factor));
    }
    if (rows >= kPanelRows) {
      _mm256_storeu_ps(y, _mm256_load_ps(out));
      _mm256_storeu_ps(y + 8, _mm256_load_ps(out + 8));
    } else {
      for (size_t r = 0; r < rows; ++r) y[r] = out[r];
    }
  }
}

// One or two rows of x: codes go from the panel to registers.
template <PackedFormat kFormat, size_t kCount>
[[gnu::noinline]] void multiply_few(const ProductArguments& a, size_t panel,
                                    size_t first) noexcept {
  const std::byte* block = a.panel + panel * a.panel_bytes;
  const ActivationBlock* x =
      a.int8 + first / kTokenTile * a.blocks * kTokenTile + first % kTokenTile;
  __m256 sums[kCount][2];
  QUALIA_UNROLL
  for (size_t t = 0; t < kCount; ++t) sums[t][0] = sums[t][1] = _mm256_setzero_ps();
  for (size_t b = 0; b < a.blocks; ++b) {
    prefetch_ahead(block, packed_format_info(kFormat).block_bytes());
    add_products<kFormat, kCount, PackedCodes<kFormat>>(block, PackedScales<kFormat>{block}, x,
                                                        sums);
    block += packed_format_info(kFormat).block_bytes();
    x += kTokenTile;
  }
  store_rows(a, panel, first, kCount, sums);
}

// The products of one panel with up to 16 rows of x, in tiles of four, into work.sums.
template <PackedFormat kFormat>
[[gnu::noinline]] void add_panel(const std::byte* block, size_t blocks, const ActivationBlock* x,
                                 size_t tiles, Workspace<kFormat>& work) noexcept {
  constexpr size_t kTogether = Dots<kFormat>::kTogether;
  for (size_t b = 0; b < blocks; ++b) {
    prefetch_ahead(block, packed_format_info(kFormat).block_bytes());
    work.unpack(block);
    QUALIA_RELOAD();
    for (size_t tile = 0; tile < tiles; ++tile) {
      const ActivationBlock* tile_x = x + tile * blocks * kTokenTile;
      for (size_t t = 0; t < kTokenTile; t += kTogether) {
        add_products<kFormat, kTogether, UnpackedCodes>(work.codes, work.scales, tile_x + t,
                                                        work.sums + tile * kTokenTile + t);
      }
    }
    block += packed_format_info(kFormat).block_bytes();
    x += kTokenTile;
  }
}

template <PackedFormat kFormat>
void multiply(const ProductArguments& a) noexcept {
  Workspace<kFormat> work;
  for (size_t panel = 0; panel < a.panel_count; ++panel) {
    for (size_t first = 0; first < a.m; first += kRowsAtOnce) {
      const size_t count = a.m - first < kRowsAtOnce ? a.m - first : kRowsAtOnce;
      if (count == 1) {
        multiply_few<kFormat, 1>(a, panel, first);
        continue;
      }
      if (count == 2) {
        multiply_few<kFormat, 2>(a, panel, first);
        continue;
      }
      for (auto& sum : work.sums) sum[0] = sum[1] = _mm256_setzero_ps();
      add_panel<kFormat>(a.panel + panel * a.panel_bytes, a.blocks, a.int8 + first * a.blocks,
                         (count + kTokenTile - 1) / kTokenTile, work);
      store_rows(a, panel, first, count, work.sums);
    }
  }
}
