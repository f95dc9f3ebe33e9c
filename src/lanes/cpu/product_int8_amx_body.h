// INT8 products in tiles, for many rows of x: see product_int8_amx.cpp for the idea. Included
// inside an anonymous namespace and a target region, after the types
//   Tiles: the tile registers (amx_tiles.h, or amx_tiles_shim.h in tests);
//   Lanes: sixteen float32, one for each row of a panel.
// Thread-safety: pure; all scratch is on the stack (about 22 KiB).
#pragma once

// Rows of x from which tiles pay.
constexpr size_t kTileProductRows = 16;
// Sums that stay in registers while blocks pass: rows of x in one pass.
constexpr size_t kSumRows = 16;
// Dots of so many blocks are under way in tiles while those before are scaled.
constexpr size_t kStepBlocks = 2;
// A piece's activations (8 KiB for 32 rows) stay in the L1 cache while kPanelsAtOnce panels pass,
// beside their sums (2 KiB each), a piece's codes and the dots.
constexpr size_t kPieceBlocks = 4;
constexpr size_t kPanelsAtOnce = 4;
static_assert(kStepBlocks % 2 == 0 && kPieceBlocks % kStepBlocks == 0);

// Products of kTiles tiles of x, 4 or 8, with all panels. Rows of x in one AMX tile are those with
// the same place in each tile of x: they lie one distance apart, so that nothing is copied.
template <PackedFormat kFormat, size_t kTiles>
class TileProduct {
 public:
  TileProduct(const ProductArguments& a, size_t first_tile) noexcept
      : a_(a),
        x_(a.int8 + first_tile * a.blocks * kTokenTile),
        first_row_(first_tile * kTokenTile) {}

  void run(Tiles& tiles) noexcept {
    configure(tiles);
    for (size_t panel = 0; panel < a_.panel_count; panel += kPanelsAtOnce) {
      const size_t left = a_.panel_count - panel;
      const size_t count = left < kPanelsAtOnce ? left : kPanelsAtOnce;
      multiply_panels(tiles, panel, count);
      for (size_t p = 0; p < count; ++p) store_rows(panel + p, sums_[p]);
    }
  }

 private:
  using F = typename Lanes::F;
  static constexpr PackedFormatInfo kInfo = packed_format_info(kFormat);
  static constexpr bool kIsNibbles = kInfo.code_bits == 4;
  static constexpr size_t kGroups = kInfo.scale_count;  // slices of a block
  static constexpr size_t kRows = kTiles * kTokenTile;
  static constexpr size_t kPlaces = kSumRows / kTiles;  // of a tile of x in one pass
  static constexpr size_t kPasses = kTokenTile / kPlaces;
  static constexpr size_t kSliceDots = kSumRows * kPanelRows;
  static constexpr size_t kCodeBytes = kPanelRows * kBlockColumns;
  static constexpr size_t kCodeStride = kIsNibbles ? kCodeBytes : kInfo.block_bytes();
  static constexpr int kFirstX = 4;      // tiles 0 .. 3 are sums, 4 and 5 hold x,
  static constexpr int kFirstCodes = 6;  // 6 and 7 codes

  // Up to kPieceBlocks blocks of one panel.
  struct Piece {
    const std::byte* block;
    const std::byte* codes;  // a byte each: unpacked, or in the block
    const ActivationBlock* x;
    float* sums;
    size_t blocks;
  };

  static void configure(Tiles& tiles) noexcept {
    alignas(64) uint8_t config[64] = {1};
    for (size_t t = 0; t < 8; ++t) {
      const bool is_x = t == 4 || t == 5;
      config[16 + 2 * t] = is_x ? kBlockColumns / kGroups : kCodeVectorBytes;
      config[48 + t] = t < 6 ? kTiles : kBlockColumns / kGroups / 4;
    }
    tiles.configure(config);
  }

  // Pieces go through the panels first, then on along k.
  [[gnu::noinline]] Piece start_piece(size_t index, size_t panel, size_t panel_count) noexcept {
    const size_t p = index % panel_count;
    const size_t b = index / panel_count * kPieceBlocks;
    Piece piece;
    piece.block = a_.panel + (panel + p) * a_.panel_bytes + b * kInfo.block_bytes();
    piece.x = x_ + b * kTokenTile;
    piece.sums = sums_[p];
    piece.blocks = a_.blocks - b < kPieceBlocks ? a_.blocks - b : kPieceBlocks;
    piece.codes = piece.block;
    if constexpr (kIsNibbles) {
      std::byte* codes = codes_[index % 2];
      piece.codes = codes;
      for (size_t i = 0; i < piece.blocks; ++i) {
        Lanes::template unpack_nibbles<!kInfo.has_min>(piece.block + i * kInfo.block_bytes(),
                                                       codes + i * kCodeBytes);
      }
    }
    prefetch_piece(p + 1 < panel_count
                       ? piece.block + a_.panel_bytes
                       : piece.block + kPieceBlocks * kInfo.block_bytes() - p * a_.panel_bytes);
    return piece;
  }

  // Beyond the weights' end that is harmless.
  static void prefetch_piece(const std::byte* begin) noexcept {
    for (size_t i = 0; i < kPieceBlocks * kInfo.block_bytes(); i += 64) {
      __builtin_prefetch(begin + i);
    }
  }

  // What the loops below keep in registers.
  struct Strides {
    size_t x_bytes;     // from a tile of x to the next
    size_t tile_bytes;  // from a row of codes or dots to the next
  };

  // Dots of one place of each tile of x with a slice's codes, which lie in tile kCodes.
  template <int kSums, int kCodes>
  QUALIA_INLINE static void multiply_place(Tiles& tiles, const Strides& strides, const int8_t* x,
                                           int32_t* dots) noexcept {
    constexpr int kX = kFirstX + kSums % 2;
    tiles.template load<kX>(x, strides.x_bytes);
    tiles.template zero<kSums>();
    tiles.template multiply<kSums, kX, kCodes>();
    tiles.template store<kSums>(dots, strides.tile_bytes);
  }

  template <size_t kSlice>
  QUALIA_INLINE static void multiply_slice(Tiles& tiles, const Strides& strides,
                                           const std::byte* codes, const ActivationBlock* x,
                                           int32_t* dots) noexcept {
    constexpr int kCodes = kFirstCodes + kSlice % 2;
    constexpr int kSums = kSlice * kPlaces % 4;
    constexpr size_t kPlaceDots = kTiles * kPanelRows;
    constexpr size_t kColumn = kSlice % kGroups * kInfo.group_columns();
    tiles.template load<kCodes>(codes + kColumn * kPanelRows, strides.tile_bytes);
    multiply_place<kSums, kCodes>(tiles, strides, x[0].values + kColumn, dots);
    if constexpr (kPlaces > 1) {
      multiply_place<kSums + 1, kCodes>(tiles, strides, x[1].values + kColumn, dots + kPlaceDots);
    }
    if constexpr (kPlaces > 2) {
      multiply_place<kSums + 2, kCodes>(tiles, strides, x[2].values + kColumn,
                                        dots + 2 * kPlaceDots);
      multiply_place<kSums + 3, kCodes>(tiles, strides, x[3].values + kColumn,
                                        dots + 3 * kPlaceDots);
    }
  }

  // A few blocks of a piece in one pass, and where their dots are.
  struct Step {
    const std::byte* block;
    const std::byte* codes;
    const ActivationBlock* x;
    int32_t* dots;
    size_t blocks;
  };

  static size_t step_count(const Piece& piece) noexcept {
    return (piece.blocks + kStepBlocks - 1) / kStepBlocks;
  }

  QUALIA_INLINE static Step step_of(const Piece& piece, size_t pass, size_t index,
                                    int32_t* dots) noexcept {
    const size_t first = index * kStepBlocks;
    const size_t left = piece.blocks - first;
    return {piece.block + first * kInfo.block_bytes(), piece.codes + first * kCodeStride,
            piece.x + first * kTokenTile + pass * kPlaces, dots,
            left < kStepBlocks ? left : kStepBlocks};
  }

  // The dots of a step's block; the step moves on to the next, which uses other tiles.
  template <size_t kParity>
  QUALIA_INLINE static void multiply_block(Tiles& tiles, const Strides& strides,
                                           Step& step) noexcept {
    if constexpr (kGroups == 2) {
      multiply_slice<0>(tiles, strides, step.codes, step.x, step.dots);
      multiply_slice<1>(tiles, strides, step.codes, step.x, step.dots + kSliceDots);
    } else {
      multiply_slice<kParity>(tiles, strides, step.codes, step.x, step.dots);
    }
    step.codes += kCodeStride;
    step.x += kTokenTile;
    step.dots += kGroups * kSliceDots;
  }

  // The scales of a step's rows of x: where they are in every other tile of x.
  struct Scales {
    const std::byte* x[kTiles / 2];
  };

  QUALIA_INLINE static Scales scales_of(const Step& step, const Strides& strides) noexcept {
    Scales scales;
    QUALIA_UNROLL
    for (size_t i = 0; i < kTiles / 2; ++i) {
      scales.x[i] = reinterpret_cast<const std::byte*>(step.x) + 2 * i * strides.x_bytes;
      QUALIA_OPAQUE(scales.x[i]);
    }
    return scales;
  }

  // sums += dots, scaled, of a step's block, and moves on to the next.
  QUALIA_INLINE static void scale_block(Step& step, Scales& scales, const Strides& strides,
                                        F (&sums)[kSumRows]) noexcept {
    const std::byte* weight_scales = step.block + kInfo.scales_offset();
    QUALIA_UNROLL
    for (size_t s = 0; s < kGroups; ++s) {
      const F weight_scale = Lanes::halves(weight_scales + s * 2 * kPanelRows);
      F mins{};
      if constexpr (kInfo.has_min)
        mins = Lanes::halves(weight_scales + kInfo.scales_bytes() + s * 2 * kPanelRows);
      QUALIA_UNROLL
      for (size_t t = 0; t < kSumRows; ++t) {
        const size_t tile = t % kTiles;
        const std::byte* first = scales.x[tile / 2] + tile % 2 * strides.x_bytes;
        const ActivationBlock& x = reinterpret_cast<const ActivationBlock*>(first)[t / kTiles];
        const F scale = Lanes::mul(weight_scale, x.scale);
        sums[t] = Lanes::fma(Lanes::floats(step.dots + t * kPanelRows), scale, sums[t]);
        if constexpr (kInfo.has_min) {
          sums[t] = Lanes::fma(mins, kGroups == 2 ? x.half_scaled_sums[s] : x.scaled_sum, sums[t]);
        }
      }
      step.dots += kSliceDots;
      if constexpr (kGroups == 2) QUALIA_RELOAD();  // else loads move up, and sums to the stack
    }
    step.block += kInfo.block_bytes();
    QUALIA_UNROLL
    for (size_t i = 0; i < kTiles / 2; ++i) scales.x[i] += kTokenTile * sizeof(ActivationBlock);
  }

  // Scales the dots of a step while tiles multiply the blocks of the one after it: in turns, so
  // that the processor finds work for both units within its window.
  QUALIA_INLINE static void run_step(Tiles& tiles, const Strides& strides, Step step, Step ahead,
                                     F (&sums)[kSumRows]) noexcept {
    Scales scales = scales_of(step, strides);
    if (step.blocks == kStepBlocks && ahead.blocks == kStepBlocks) {
      for (size_t i = 0; i < kStepBlocks; i += 2) {
        multiply_block<0>(tiles, strides, ahead);
        scale_block(step, scales, strides, sums);
        multiply_block<1>(tiles, strides, ahead);
        scale_block(step, scales, strides, sums);
      }
      return;
    }
    for (size_t i = 0; i < ahead.blocks; ++i) multiply_block<0>(tiles, strides, ahead);
    for (size_t i = 0; i < step.blocks; ++i) scale_block(step, scales, strides, sums);
  }

  // The next step after one: in the same piece, or the first of `next`, whose blocks are none at
  // the end.
  QUALIA_INLINE static Step step_after(const Piece& piece, size_t pass, size_t index,
                                       const Piece& next, int32_t* dots) noexcept {
    const bool ends_pass = index + 1 == step_count(piece);
    const bool ends_piece = ends_pass && pass + 1 == kPasses;
    return step_of(ends_piece ? next : piece, ends_piece ? 0 : pass + ends_pass,
                   ends_pass ? 0 : index + 1, dots);
  }

  void multiply_panels(Tiles& tiles, size_t panel, size_t panel_count) noexcept {
    __builtin_memset(sums_, 0, sizeof(sums_[0]) * panel_count);
    const size_t count = (a_.blocks + kPieceBlocks - 1) / kPieceBlocks * panel_count;
    Strides strides{a_.blocks * kTokenTile * sizeof(ActivationBlock), kCodeVectorBytes};
    QUALIA_OPAQUE(strides.x_bytes);
    QUALIA_OPAQUE(strides.tile_bytes);
    size_t now = 0;  // dots that are scaled next
    Piece next = start_piece(0, panel, panel_count);
    Step first = step_of(next, 0, 0, dots_[now]);
    for (size_t i = 0; i < first.blocks; ++i) multiply_block<0>(tiles, strides, first);
    for (size_t index = 0; index < count; ++index) {
      const Piece piece = next;
      if (index + 1 < count) {
        next = start_piece(index + 1, panel, panel_count);
      } else {
        next.blocks = 0;
      }
      for (size_t pass = 0; pass < kPasses; ++pass) {
        float* stored = piece.sums + pass * kSumRows * kPanelRows;
        F sums[kSumRows];
        QUALIA_UNROLL
        for (size_t t = 0; t < kSumRows; ++t) sums[t] = Lanes::load(stored + t * kPanelRows);
        for (size_t s = 0; s < step_count(piece); ++s) {
          run_step(tiles, strides, step_of(piece, pass, s, dots_[now]),
                   step_after(piece, pass, s, next, dots_[1 - now]), sums);
          now = 1 - now;
        }
        QUALIA_UNROLL
        for (size_t t = 0; t < kSumRows; ++t) Lanes::store(stored + t * kPanelRows, sums[t]);
      }
    }
  }

  static F sum_of(const float* sums, size_t row) noexcept {
    const size_t place = row % kTokenTile;
    const size_t t = place / kPlaces * kSumRows + place % kPlaces * kTiles + row / kTokenTile;
    return Lanes::load(sums + t * kPanelRows);
  }

  void store_rows(size_t panel, const float* sums) noexcept {
    const size_t x_rows = a_.is_paired ? 2 : 1;
    const size_t left = a_.m - first_row_;
    const size_t rows = left < kRows ? left : kRows;
    const size_t outputs = a_.rows - panel * kPanelRows;
    float* y = a_.y + first_row_ / x_rows * a_.y_stride + panel * kPanelRows;
    for (size_t row = 0; row < rows; row += x_rows) {
      F sum = sum_of(sums, row);
      if (a_.is_paired) sum = Lanes::add(sum, sum_of(sums, row + 1));
      if (a_.row_factors != nullptr)
        sum = Lanes::mul(sum, Lanes::load(a_.row_factors + panel * kPanelRows));
      Lanes::store_first(y, outputs, sum);
      y += a_.y_stride;
    }
  }

  const ProductArguments& a_;
  const ActivationBlock* x_;
  size_t first_row_;
  // [panel][pass][place, tile of x][row of the panel]
  alignas(64) float sums_[kPanelsAtOnce][kRows * kPanelRows];
  alignas(64) int32_t dots_[2][kStepBlocks * kGroups * kSliceDots];
  alignas(64) std::byte codes_[2][kIsNibbles ? kPieceBlocks * kCodeBytes : 1];
};

// `rest` takes what does not fill tiles.
template <PackedFormat kFormat>
void multiply_in_tiles(const ProductArguments& a, ProductFunction rest) noexcept {
  if (a.m < kTileProductRows) return rest(a);
  constexpr size_t kMany = 8;
  constexpr size_t kFew = 4;
  Tiles tiles;
  const size_t count = (a.m + kTokenTile - 1) / kTokenTile;
  size_t done = 0;
  for (; count - done >= kMany; done += kMany) {
    TileProduct<kFormat, kMany>(a, done).run(tiles);
  }
  const size_t left = count - done;
  if (left > kFew && count >= kMany) {
    // Some rows once more: they come out the same.
    TileProduct<kFormat, kMany>(a, count - kMany).run(tiles);
    done = count;
  } else if (left >= kFew) {
    TileProduct<kFormat, kFew>(a, done).run(tiles);
    done += kFew;
  }
  tiles.release();
  if (done == count) return;
  ProductArguments few = a;
  const size_t rows = done * kTokenTile;
  few.int8 += rows * a.blocks;
  few.m -= rows;
  few.y += rows / (a.is_paired ? 2 : 1) * a.y_stride;
  rest(few);
}
