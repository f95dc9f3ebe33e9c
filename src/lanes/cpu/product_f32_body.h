// Float products, for any vector of panel rows. Included inside an anonymous namespace and a target
// region, after
//   Vector         kWidth rows of a panel, and how they are loaded
//   kRowsAtOnce    rows of x, 8 or 16: as many block sums fit the registers
// Thread-safety: pure.
#pragma once

template <PackedFormat kFormat>
struct Weights {
  static constexpr PackedFormatInfo kInfo = packed_format_info(kFormat);
  static constexpr int kOffset = kFormat == PackedFormat::q4 ? 8 : 0;

  typename Vector::F scale[kInfo.scale_count == 0 ? 1 : kInfo.scale_count];
  typename Vector::F min[kInfo.scale_count == 0 ? 1 : kInfo.scale_count];

  // `first_row`: of the panel, the first in the vector.
  QUALIA_INLINE void load_scales(const std::byte* block, size_t first_row) noexcept {
    QUALIA_UNROLL
    for (size_t s = 0; s < kInfo.scale_count; ++s) {
      const size_t offset = (s * kPanelRows + first_row) * kInfo.scale_bytes;
      scale[s] = load_scale(block + kInfo.scales_offset() + offset);
      if constexpr (kInfo.has_min) min[s] = load_scale(block + kInfo.mins_offset() + offset);
    }
  }

  // A row's step within a column: 2 bytes of f16, else 4 (bytes or nibbles of four k, a pair of
  // bf16).
  static constexpr size_t kRowBytes = kFormat == PackedFormat::f16 ? 2 : 4;

  // Column k of the block; `codes` is the place of the vector's first row.
  QUALIA_INLINE typename Vector::F column(const std::byte* codes, size_t k) const noexcept {
    constexpr size_t kColumnBytes = kPanelRows * kRowBytes;
    const auto byte = static_cast<unsigned>(k % 4);
    if constexpr (kFormat == PackedFormat::f32) {
      return Vector::load(reinterpret_cast<const float*>(codes + k * kColumnBytes));
    } else if constexpr (kFormat == PackedFormat::f16) {
      return Vector::load_f16(codes + k * kColumnBytes);
    } else if constexpr (kFormat == PackedFormat::bf16) {
      return Vector::load_bf16(codes + k / 2 * kColumnBytes, k % 2 != 0);
    } else if constexpr (kInfo.code_bits == 4) {
      const std::byte* lanes = codes + k % 16 / 4 * kCodeVectorBytes;
      return scaled(Vector::load_u4(lanes, 2 * byte + (k < 16 ? 0U : 1U), kOffset), k);
    } else {
      return scaled(Vector::load_i8(codes + k / 4 * kCodeVectorBytes, byte), k);
    }
  }

 private:
  QUALIA_INLINE static typename Vector::F load_scale(const std::byte* source) noexcept {
    if constexpr (kInfo.scale_bytes == sizeof(float)) {
      return Vector::load(reinterpret_cast<const float*>(source));
    } else {
      return Vector::load_f16(source);
    }
  }
  QUALIA_INLINE typename Vector::F scaled(typename Vector::F code, size_t k) const noexcept {
    const size_t s = k / kInfo.group_columns();
    if constexpr (kInfo.has_min) return Vector::fma(code, scale[s], min[s]);
    return Vector::mul(code, scale[s]);
  }
};

// sums[t] += the products of kRows rows of x with kWidth rows of a block.
template <PackedFormat kFormat, size_t kRows>
QUALIA_INLINE void add_block(const std::byte* block, size_t first_row, const float* x,
                             size_t tile_stride, typename Vector::F* sums) noexcept {
  constexpr size_t kTiles = (kRows + kTokenTile - 1) / kTokenTile;
  const float* tiles[kTiles];
  QUALIA_UNROLL
  for (size_t tile = 0; tile < kTiles; ++tile) {
    tiles[tile] = x + tile * tile_stride;
    QUALIA_OPAQUE(tiles[tile]);
  }
  Weights<kFormat> weights;
  weights.load_scales(block, first_row);
  const std::byte* codes = block + first_row * Weights<kFormat>::kRowBytes;
  QUALIA_OPAQUE(codes);
  typename Vector::F block_sums[kRows];
  QUALIA_UNROLL
  for (size_t k = 0; k < kBlockColumns; ++k) {
    if (k % 4 == 0) QUALIA_RELOAD();
    const typename Vector::F w = weights.column(codes, k);
    QUALIA_UNROLL
    for (size_t t = 0; t < kRows; ++t) {
      const float value = tiles[t / kTokenTile][t % kTokenTile * kBlockColumns + k];
      block_sums[t] = k == 0 ? Vector::mul(w, Vector::set(value))
                             : Vector::fma(w, Vector::set(value), block_sums[t]);
    }
  }
  QUALIA_UNROLL
  for (size_t t = 0; t < kRows; ++t) sums[t] = Vector::add(sums[t], block_sums[t]);
}

// kWidth rows of a panel with kRows rows of x (1, or whole tiles of four), into sums.
template <PackedFormat kFormat, size_t kRows>
[[gnu::noinline]] void add_panel(const std::byte* panel, size_t first_row, size_t blocks,
                                 const float* x, typename Vector::F* sums) noexcept {
  constexpr size_t kBlockBytes = packed_format_info(kFormat).block_bytes();
  const size_t tile_stride = blocks * kTokenTile * kBlockColumns;
  const std::byte* block = panel;
  for (size_t b = 0; b < blocks; ++b) {
    QUALIA_OPAQUE(block);
    if (first_row == 0) prefetch_ahead(block, kBlockBytes);
    add_block<kFormat, kRows>(block, first_row, x, tile_stride, sums);
    block += kBlockBytes;
    x += kTokenTile * kBlockColumns;
  }
}

template <PackedFormat kFormat>
QUALIA_INLINE void add_rows(const std::byte* panel, size_t first_row, size_t blocks, const float* x,
                            size_t count, typename Vector::F* sums) noexcept {
  // No more tiles of x than there are.
  if (kRowsAtOnce > 8 && count > 12) {
    add_panel<kFormat, kRowsAtOnce>(panel, first_row, blocks, x, sums);
  } else if (kRowsAtOnce > 8 && count > 8) {
    add_panel<kFormat, 12 < kRowsAtOnce ? 12 : kRowsAtOnce>(panel, first_row, blocks, x, sums);
  } else if (count > 4) {
    add_panel<kFormat, 8>(panel, first_row, blocks, x, sums);
  } else if (count > 1) {
    add_panel<kFormat, 4>(panel, first_row, blocks, x, sums);
  } else {
    add_panel<kFormat, 1>(panel, first_row, blocks, x, sums);
  }
}

inline void store_row(const ProductArguments& a, size_t panel, size_t first_row, size_t row,
                      typename Vector::F sum) noexcept {
  const size_t begin = panel * kPanelRows + first_row;
  if (begin >= a.rows) return;
  if (a.row_factors != nullptr) sum = Vector::mul(sum, Vector::load(a.row_factors + begin));
  float* y = a.y + row * a.y_stride + begin;
  const size_t rows = a.rows - begin;
  if (rows >= Vector::kWidth) return Vector::store(y, sum);
  float out[Vector::kWidth];
  Vector::store(out, sum);
  for (size_t r = 0; r < rows; ++r) y[r] = out[r];
}

template <PackedFormat kFormat>
void multiply(const ProductArguments& a) noexcept {
  for (size_t panel = 0; panel < a.panel_count; ++panel) {
    const std::byte* bytes = a.panel + panel * a.panel_bytes;
    for (size_t first = 0; first < a.m; first += kRowsAtOnce) {
      const size_t count = a.m - first < kRowsAtOnce ? a.m - first : kRowsAtOnce;
      const float* x = a.f32 + first * a.blocks * kBlockColumns;
      for (size_t row = 0; row < kPanelRows; row += Vector::kWidth) {
        typename Vector::F sums[kRowsAtOnce];
        for (auto& sum : sums) sum = Vector::zero();
        add_rows<kFormat>(bytes, row, a.blocks, x, count, sums);
        for (size_t t = 0; t < count; ++t) store_row(a, panel, row, first + t, sums[t]);
      }
    }
  }
}
