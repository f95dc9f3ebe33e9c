// INT8 products in tiles, for many rows of x: see product_int8_amx.cpp for the idea. Included
// inside an anonymous namespace and a target region, after the types
//   Tiles: the tile registers (amx_tiles_body.h, or amx_tiles_shim.h in tests);
//   Lanes: sixteen float32, one for each row of a panel.
// Thread-safety: pure; all scratch is on the stack (36 KiB).
#pragma once

// Rows of x in a tile, whose sums stay in registers while blocks pass.
constexpr size_t kTileRows = 16;
// A piece's activations, copied, stay in the L1 cache while kPanelsAtOnce panels pass.
constexpr size_t kPieceBlocks = 4;
constexpr size_t kPanelsAtOnce = 8;
// Copying activations pays from here on. Measured with 16 threads, GMAC/s a thread of q4, q4_min
// and q8: calls of 2 panels 142, 105, 115 (AVX-512: 136, 111, 124); 4 panels 163, 122, 150 (132,
// 100, 132); 8 panels 170, 151, 159 (129, 108, 129).
constexpr size_t kTilePanelsMin = 4;

// Half a page. A load may wait for a store before it with the same twelve low bits of the address,
// and stores of dots are always under way: so dots, and sums, have the lower halves of pages to
// themselves. Measured without that: q4 235 for 246 GMAC/s, q8 within the noise.
struct TilePage {
  alignas(64) std::byte lower[2048];
  alignas(64) std::byte upper[2048];
};

// Products of kPasses times 16 rows of x with all panels.
template <PackedFormat kFormat, size_t kPasses>
class TileProduct {
 public:
  TileProduct(const ProductArguments& a, size_t first_row) noexcept
      : a_(a), x_(a.int8 + first_row * a.blocks), first_row_(first_row) {}

  void run(Tiles& tiles) noexcept {
    for (size_t panel = 0; panel < a_.panel_count; panel += kPanelsAtOnce) {
      const size_t left = a_.panel_count - panel;
      const size_t count = left < kPanelsAtOnce ? left : kPanelsAtOnce;
      multiply_panels(tiles, panel, count);
      for (size_t p = 0; p < count; ++p) store_rows(panel + p, sums(p));
    }
  }

  static void configure(Tiles& tiles) noexcept {
    alignas(64) uint8_t config[64] = {1};
    for (size_t t = 0; t < 8; ++t) {
      const bool is_x = t == 4 || t == 5;
      config[16 + 2 * t] = is_x ? kBlockColumns : kCodeVectorBytes;
      config[48 + t] = t < 6 ? kTileRows : kBlockColumns / 4;
    }
    tiles.configure(config);
  }

 private:
  using F = typename Lanes::F;
  static constexpr PackedFormatInfo kInfo = packed_format_info(kFormat);
  static_assert(kInfo.scale_count == 1);
  static constexpr size_t kRows = kPasses * kTileRows;
  static constexpr size_t kDots = kTileRows * kPanelRows;
  static constexpr size_t kCodeBytes = kPanelRows * kBlockColumns;
  static constexpr size_t kXBytes = kTileRows * kBlockColumns;
  // Of 16 rows of x and a block: scales, then scaled sums.
  static constexpr size_t kScaleFloats = kTileRows * (kInfo.has_min ? 2 : 1);
  static constexpr int kFirstX = 4;      // tiles 0 .. 3 are sums, 4 and 5 hold x,
  static constexpr int kFirstCodes = 6;  // 6 and 7 codes
  static_assert(2 * kDots * sizeof(int32_t) <= sizeof(TilePage::lower));

  // Up to kPieceBlocks blocks of one panel.
  struct Piece {
    const std::byte* block;
    const std::byte* codes;  // [blocks], a byte each
    const std::byte* x;      // [pass][kPieceBlocks][row][column]
    const float* x_scales;   // [pass][kPieceBlocks][kScaleFloats]
    float* sums;             // [pass][row of x][row of the panel]
    size_t blocks;
  };

  int32_t* dots(size_t which) noexcept {
    return reinterpret_cast<int32_t*>(pages_[0].lower) + which * kDots;
  }
  float* sums(size_t p) noexcept { return reinterpret_cast<float*>(pages_[1 + p].lower); }
  std::byte* codes(size_t which) noexcept { return pages_[which].upper; }
  float* x_scales(size_t which) noexcept {
    return reinterpret_cast<float*>(pages_[2 + which].upper);
  }
  std::byte* x_values(size_t which, size_t pass) noexcept {
    return pages_[4 + 2 * which + pass].upper;
  }
  static constexpr size_t kPassBytes = sizeof(TilePage);  // from a pass's values to the next's
  static constexpr size_t kPassScales = kPieceBlocks * kScaleFloats;
  static_assert(kPieceBlocks * kXBytes <= sizeof(TilePage::upper));
  static_assert(kPasses * kPassScales * sizeof(float) <= sizeof(TilePage::upper));
  static_assert(kRows * kPanelRows * sizeof(float) <= sizeof(TilePage::lower));

  // Pieces go through the panels first, then on along k.
  [[gnu::noinline]] Piece start_piece(size_t index, size_t panel, size_t panel_count) noexcept {
    const size_t p = index % panel_count;
    const size_t chunk = index / panel_count;
    const size_t b = chunk * kPieceBlocks;
    Piece piece;
    piece.block = a_.panel + (panel + p) * a_.panel_bytes + b * kInfo.block_bytes();
    piece.blocks = a_.blocks - b < kPieceBlocks ? a_.blocks - b : kPieceBlocks;
    piece.codes = codes(index % 2);
    piece.x = x_values(chunk % 2, 0);
    piece.x_scales = x_scales(chunk % 2);
    piece.sums = sums(p);
    for (size_t i = 0; i < piece.blocks; ++i) {
      Lanes::template unpack<kFormat>(piece.block + i * kInfo.block_bytes(),
                                      codes(index % 2) + i * kCodeBytes);
    }
    if (p == 0) copy_x(b, piece.blocks, chunk % 2);
    prefetch_piece(p + 1 < panel_count
                       ? piece.block + a_.panel_bytes
                       : piece.block + kPieceBlocks * kInfo.block_bytes() - p * a_.panel_bytes);
    return piece;
  }

  void copy_x(size_t first_block, size_t blocks, size_t which) noexcept {
    for (size_t row = 0; row < kRows; ++row) {
      const ActivationBlock* x =
          x_ + (row / kTokenTile * a_.blocks + first_block) * kTokenTile + row % kTokenTile;
      const size_t t = row % kTileRows;
      std::byte* values = x_values(which, row / kTileRows) + t * kBlockColumns;
      float* scales = x_scales(which) + row / kTileRows * kPassScales + t;
      for (size_t b = 0; b < blocks; ++b) {
        __builtin_memcpy(values, x->values, kBlockColumns);
        scales[0] = x->scale;
        if constexpr (kInfo.has_min) scales[kTileRows] = x->scaled_sum;
        values += kXBytes;
        scales += kScaleFloats;
        x += kTokenTile;
      }
    }
  }

  // Beyond the weights' end that is harmless.
  static void prefetch_piece(const std::byte* begin) noexcept {
    for (size_t i = 0; i < kPieceBlocks * kInfo.block_bytes(); i += 64) {
      __builtin_prefetch(begin + i);
    }
  }

  // Dots of 16 rows of x with a block's codes, in tiles of their own.
  template <int kSums>
  QUALIA_INLINE static void multiply_tile(Tiles& tiles, const std::byte* codes, const std::byte* x,
                                          int32_t* dots) noexcept {
    tiles.template load<kFirstCodes + kSums>(codes, kCodeVectorBytes);
    tiles.template load<kFirstX + kSums>(x, kBlockColumns);
    tiles.template zero<kSums>();
    tiles.template multiply<kSums, kFirstX + kSums, kFirstCodes + kSums>();
    tiles.template store<kSums>(dots, kCodeVectorBytes);
  }

  // The dots of block b of a piece; neighbours use different tiles.
  QUALIA_INLINE static void multiply_block(Tiles& tiles, const Piece& piece, size_t pass, size_t b,
                                           int32_t* dots) noexcept {
    const std::byte* codes = piece.codes + b * kCodeBytes;
    const std::byte* x = piece.x + pass * kPassBytes + b * kXBytes;
    if (b % 2 == 0) {
      multiply_tile<0>(tiles, codes, x, dots);
    } else {
      multiply_tile<1>(tiles, codes, x, dots);
    }
  }

  // sums += dots of block b, scaled.
  QUALIA_INLINE static void scale_block(const Piece& piece, size_t pass, size_t b,
                                        const int32_t* dots, F (&sums)[kTileRows]) noexcept {
    const std::byte* weights = piece.block + b * kInfo.block_bytes() + kInfo.scales_offset();
    const float* x_scales = piece.x_scales + pass * kPassScales + b * kScaleFloats;
    const F weight_scales = Lanes::halves(weights);
    F mins{};
    if constexpr (kInfo.has_min) mins = Lanes::halves(weights + kInfo.scales_bytes());
    QUALIA_UNROLL
    for (size_t t = 0; t < kTileRows; ++t) {
      const F scale = Lanes::mul(weight_scales, x_scales[t]);
      sums[t] = Lanes::fma(Lanes::floats(dots + t * kPanelRows), scale, sums[t]);
      if constexpr (kInfo.has_min) sums[t] = Lanes::fma(mins, x_scales[kTileRows + t], sums[t]);
    }
  }

  // Tiles are one block ahead of the scaling, also from one piece to the next.
  void multiply_panels(Tiles& tiles, size_t panel, size_t panel_count) noexcept {
    for (size_t p = 0; p < panel_count; ++p)
      __builtin_memset(sums(p), 0, kRows * kPanelRows * sizeof(float));
    const size_t count = (a_.blocks + kPieceBlocks - 1) / kPieceBlocks * panel_count;
    int32_t* now = dots(0);  // scaled next
    int32_t* ahead = dots(1);
    Piece next = start_piece(0, panel, panel_count);
    multiply_block(tiles, next, 0, 0, now);
    for (size_t index = 0; index < count; ++index) {
      const Piece piece = next;
      const bool is_last = index + 1 == count;
      if (!is_last) next = start_piece(index + 1, panel, panel_count);
      for (size_t pass = 0; pass < kPasses; ++pass) {
        float* stored = piece.sums + pass * kDots;
        F sums[kTileRows];
        QUALIA_UNROLL
        for (size_t t = 0; t < kTileRows; ++t) sums[t] = Lanes::load(stored + t * kPanelRows);
        for (size_t b = 0; b + 1 < piece.blocks; ++b) {
          multiply_block(tiles, piece, pass, b + 1, ahead);
          scale_block(piece, pass, b, now, sums);
          std::swap(now, ahead);
        }
        if (pass + 1 < kPasses) {
          multiply_block(tiles, piece, pass + 1, 0, ahead);
        } else if (!is_last) {
          multiply_block(tiles, next, 0, 0, ahead);
        }
        scale_block(piece, pass, piece.blocks - 1, now, sums);
        std::swap(now, ahead);
        QUALIA_UNROLL
        for (size_t t = 0; t < kTileRows; ++t) Lanes::store(stored + t * kPanelRows, sums[t]);
      }
    }
  }

  void store_rows(size_t panel, const float* sums) noexcept {
    const size_t x_rows = a_.is_paired ? 2 : 1;
    const size_t left = a_.m - first_row_;
    const size_t rows = left < kRows ? left : kRows;
    const size_t outputs = a_.rows - panel * kPanelRows;
    float* y = a_.y + first_row_ / x_rows * a_.y_stride + panel * kPanelRows;
    for (size_t row = 0; row < rows; row += x_rows) {
      F sum = Lanes::load(sums + row * kPanelRows);
      if (a_.is_paired) sum = Lanes::add(sum, Lanes::load(sums + (row + 1) * kPanelRows));
      if (a_.row_factors != nullptr)
        sum = Lanes::mul(sum, Lanes::load(a_.row_factors + panel * kPanelRows));
      Lanes::store_first(y, outputs, sum);
      y += a_.y_stride;
    }
  }

  alignas(4096) TilePage pages_[1 + kPanelsAtOnce];
  static_assert(1 + kPanelsAtOnce >= 8);  // upper halves in use
  const ProductArguments& a_;
  const ActivationBlock* x_;
  size_t first_row_;
};

// `rest` takes what does not fill tiles.
template <PackedFormat kFormat>
void multiply_in_tiles(const ProductArguments& a, ProductFunction rest) noexcept {
  // Rows of x up to a whole tile of activations are there, if only as a rest of earlier products.
  const size_t rows = (a.m + kTokenTile - 1) / kTokenTile * kTokenTile;
  if (rows < kTileRows || a.panel_count < kTilePanelsMin) return rest(a);
  Tiles tiles;
  TileProduct<kFormat, 2>::configure(tiles);
  size_t done = 0;
  for (; rows - done >= 2 * kTileRows; done += 2 * kTileRows) {
    TileProduct<kFormat, 2>(a, done).run(tiles);
  }
  if (rows - done >= kTileRows) {
    TileProduct<kFormat, 1>(a, done).run(tiles);
    done += kTileRows;
  }
  tiles.release();
  if (done >= a.m) return;
  ProductArguments few = a;
  few.int8 += done * a.blocks;
  few.m -= done;
  few.y += done / (a.is_paired ? 2 : 1) * a.y_stride;
  rest(few);
}
