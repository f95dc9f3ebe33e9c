// INT8 products on AArch64's 128-bit registers: one holds four codes of four rows of a panel, so
// that a panel's vector of 64 bytes is four of them. Included inside an anonymous namespace and a
// target region. Dots<kFormat, kCount>::compute() makes the integer dots of kCount rows of x with a
// block's 16 rows; they are whole numbers, so every way to make them gives the same bits.
// Sums stay in the L1 cache. Thread-safety: pure.
#pragma once

// Rows of a panel in quarters of four.
constexpr size_t kQuarters = kPanelRows / 4;

template <PackedFormat kFormat>
struct Block {
  static constexpr PackedFormatInfo kInfo = packed_format_info(kFormat);
  static constexpr bool kIsNibbles = kInfo.code_bits == 4;
  const std::byte* bytes;

  // Codes k = 4p .. 4p + 3 of four rows.
  QUALIA_INLINE int8x16_t codes(size_t p, size_t quarter) const noexcept {
    return kIsNibbles ? unpack(bytes_of(p % 4, quarter), p / 4) : unpack(bytes_of(p, quarter), 0);
  }
  QUALIA_INLINE uint8x16_t bytes_of(size_t step, size_t quarter) const noexcept {
    return vld1q_u8(reinterpret_cast<const uint8_t*>(bytes) + step * kCodeVectorBytes +
                    quarter * 16);
  }
  // `part`: of nibbles the low ones (0) or the high ones (1).
  QUALIA_INLINE static int8x16_t unpack(uint8x16_t both, size_t part) noexcept {
    if constexpr (!kIsNibbles) return vreinterpretq_s8_u8(both);
    return vreinterpretq_s8_u8(part == 0 ? vandq_u8(both, vdupq_n_u8(0x0F)) : vshrq_n_u8(both, 4));
  }
  QUALIA_INLINE float32x4_t scale(size_t s, size_t quarter) const noexcept {
    return halves(kInfo.scales_offset() + s * 2 * kPanelRows + quarter * 8);
  }
  QUALIA_INLINE float32x4_t min(size_t s, size_t quarter) const noexcept {
    return halves(kInfo.mins_offset() + s * 2 * kPanelRows + quarter * 8);
  }

 private:
  QUALIA_INLINE float32x4_t halves(size_t offset) const noexcept {
    uint16x4_t bits;
    std::memcpy(&bits, bytes + offset, sizeof(bits));
    return vcvt_f32_f16(vreinterpret_f16_u16(bits));
  }
};

// What dots start from: it takes the offset out of codes that stand for code - 8.
template <PackedFormat kFormat>
QUALIA_INLINE int32_t dot_start(const ActivationBlock& x) noexcept {
  return kFormat == PackedFormat::q4 ? x.sum_times_minus_8 : 0;
}

// Dots by sdot, which adds four products of signed bytes to each of four 32-bit sums. Registers for
// a tile of four rows of x: 16 of dots, 4 of activations, one of codes.
template <PackedFormat kFormat, size_t kCount>
struct VectorDots {
  QUALIA_INLINE static void compute(const Block<kFormat>& block, const ActivationBlock* x, size_t s,
                                    int32x4_t (&dots)[kCount][kQuarters]) noexcept {
    constexpr size_t kSteps = 8 / packed_format_info(kFormat).scale_count;
    QUALIA_UNROLL
    for (size_t t = 0; t < kCount; ++t) {
      QUALIA_UNROLL
      for (size_t j = 0; j < kQuarters; ++j) dots[t][j] = vdupq_n_s32(dot_start<kFormat>(x[t]));
    }
    QUALIA_UNROLL
    for (size_t p = s * kSteps; p < (s + 1) * kSteps; ++p) {
      int8x16_t four[kCount];
      QUALIA_UNROLL
      for (size_t t = 0; t < kCount; ++t) {
        int32_t values = 0;
        std::memcpy(&values, x[t].values + 4 * p, sizeof(values));
        four[t] = vreinterpretq_s8_s32(vdupq_n_s32(values));
      }
      QUALIA_UNROLL
      for (size_t j = 0; j < kQuarters; ++j) {
        const int8x16_t codes = block.codes(p, j);
        QUALIA_UNROLL
        for (size_t t = 0; t < kCount; ++t) {
          dots[t][j] = vdotq_s32(dots[t][j], codes, four[t]);
          QUALIA_PIN(dots[t][j]);
        }
      }
    }
  }
};

// sums += products of kCount rows of x with a block.
template <PackedFormat kFormat, size_t kCount, template <PackedFormat, size_t> typename Dots>
QUALIA_INLINE void add_products(const Block<kFormat>& block, const ActivationBlock* x,
                                float32x4_t (*sums)[kQuarters]) noexcept {
  constexpr PackedFormatInfo kInfo = packed_format_info(kFormat);
  QUALIA_UNROLL
  for (size_t s = 0; s < kInfo.scale_count; ++s) {
    int32x4_t dots[kCount][kQuarters];
    Dots<kFormat, kCount>::compute(block, x, s, dots);
    QUALIA_UNROLL
    for (size_t t = 0; t < kCount; ++t) {
      QUALIA_UNROLL
      for (size_t j = 0; j < kQuarters; ++j) {
        const float32x4_t scale = vmulq_n_f32(block.scale(s, j), x[t].scale);
        float32x4_t sum = vfmaq_f32(sums[t][j], vcvtq_f32_s32(dots[t][j]), scale);
        if constexpr (kInfo.has_min) {
          const float scaled_sum =
              kInfo.scale_count == 2 ? x[t].half_scaled_sums[s] : x[t].scaled_sum;
          sum = vfmaq_f32(sum, block.min(s, j), vdupq_n_f32(scaled_sum));
        }
        sums[t][j] = sum;
      }
    }
  }
}

// Stores `count` sums, or the sums of their pairs.
inline void store_rows(const ProductArguments& a, size_t panel, size_t first, size_t count,
                       const float32x4_t (*sums)[kQuarters]) noexcept {
  const size_t x_rows = a.is_paired ? 2 : 1;
  const float* factors = a.row_factors == nullptr ? nullptr : a.row_factors + panel * kPanelRows;
  const size_t left = a.rows - panel * kPanelRows;
  const size_t stored = left < kPanelRows ? left : kPanelRows;
  for (size_t t = 0; t < count; t += x_rows) {
    float out[kPanelRows];
    for (size_t j = 0; j < kQuarters; ++j) {
      float32x4_t sum = sums[t][j];
      if (a.is_paired) sum = vaddq_f32(sum, sums[t + x_rows - 1][j]);
      if (factors != nullptr) sum = vmulq_f32(sum, vld1q_f32(factors + 4 * j));
      vst1q_f32(out + 4 * j, sum);
    }
    float* const y = a.y + (first + t) / x_rows * a.y_stride + panel * kPanelRows;
    std::memcpy(y, out, stored * sizeof(float));
  }
}

// kCount rows of x with one panel; the first `valid` are stored.
template <PackedFormat kFormat, size_t kCount, template <PackedFormat, size_t> typename Dots>
[[gnu::noinline]] void multiply_rows(const ProductArguments& a, size_t panel, size_t first,
                                     size_t valid) noexcept {
  Block<kFormat> block{a.panel + panel * a.panel_bytes};
  const ActivationBlock* x =
      a.int8 + first / kTokenTile * a.blocks * kTokenTile + first % kTokenTile;
  float32x4_t sums[kCount][kQuarters];
  for (auto& row : sums) {
    for (float32x4_t& sum : row) sum = vdupq_n_f32(0.0F);
  }
  for (size_t b = 0; b < a.blocks; ++b) {
    add_products<kFormat, kCount, Dots>(block, x, sums);
    block.bytes += packed_format_info(kFormat).block_bytes();
    x += kTokenTile;
  }
  store_rows(a, panel, first, valid, sums);
}

template <PackedFormat kFormat, template <PackedFormat, size_t> typename Dots>
void multiply(const ProductArguments& a) noexcept {
  for (size_t panel = 0; panel < a.panel_count; ++panel) {
    for (size_t first = 0; first < a.m; first += kTokenTile) {
      const size_t rows = a.m - first < kTokenTile ? a.m - first : kTokenTile;
      if (rows > 2) {
        multiply_rows<kFormat, kTokenTile, Dots>(a, panel, first, rows);
      } else if (rows == 2) {
        multiply_rows<kFormat, 2, Dots>(a, panel, first, rows);
      } else {
        multiply_rows<kFormat, 1, Dots>(a, panel, first, rows);
      }
    }
  }
}
