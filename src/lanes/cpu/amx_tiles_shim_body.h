// Tiles in plain C++: what amx_tiles_body.h does, for tests on machines without AMX. Included as
// that is. A use that the processor would answer with a fault ends the program here too.
// Thread-safety: one owner.
#pragma once

class Tiles {
 public:
  void configure(const uint8_t* config) noexcept {
    QUALIA_CHECK(config[0] == 1);
    for (size_t t = 0; t < kCount; ++t) {
      tiles_[t] = {};
      std::memcpy(&tiles_[t].row_bytes, config + 16 + 2 * t, sizeof(uint16_t));
      tiles_[t].rows = config[48 + t];
      QUALIA_CHECK(tiles_[t].row_bytes <= kRowBytes && tiles_[t].rows <= kRows);
    }
    is_on_ = true;
  }
  void release() noexcept { is_on_ = false; }

  template <int kTile>
  void zero() noexcept {
    Tile& tile = used(kTile);
    std::memset(tile.bytes, 0, sizeof(tile.bytes));
  }
  template <int kTile>
  void load(const void* source, size_t stride_bytes) noexcept {
    zero<kTile>();
    Tile& tile = used(kTile);
    for (size_t i = 0; i < tile.rows; ++i) {
      const auto* row = static_cast<const std::byte*>(source) + i * stride_bytes;
      std::memcpy(tile.bytes[i], row, tile.row_bytes);
    }
  }
  template <int kTile>
  void store(void* target, size_t stride_bytes) noexcept {
    const Tile& tile = used(kTile);
    for (size_t i = 0; i < tile.rows; ++i) {
      auto* row = static_cast<std::byte*>(target) + i * stride_bytes;
      std::memcpy(row, tile.bytes[i], tile.row_bytes);
    }
  }
  template <int kSums, int kA, int kB>
  void multiply() noexcept {
    Tile& sums = used(kSums);
    const Tile& a = used(kA);
    const Tile& b = used(kB);
    QUALIA_CHECK(sums.rows == a.rows && sums.row_bytes == b.row_bytes && a.row_bytes == 4 * b.rows);
    for (size_t i = 0; i < sums.rows; ++i) {
      for (size_t j = 0; j < sums.row_bytes / 4; ++j) add_products(sums, i, a, b, j);
    }
  }

 private:
  static constexpr size_t kCount = 8;
  static constexpr size_t kRows = 16;
  static constexpr size_t kRowBytes = 64;

  struct Tile {
    uint16_t row_bytes = 0;
    uint8_t rows = 0;
    std::byte bytes[kRows][kRowBytes];
  };

  Tile& used(int index) noexcept {
    QUALIA_CHECK(is_on_ && tiles_[index].rows > 0);
    return tiles_[index];
  }

  static void add_products(Tile& sums, size_t i, const Tile& a, const Tile& b, size_t j) noexcept {
    int32_t sum = 0;
    std::memcpy(&sum, sums.bytes[i] + 4 * j, sizeof(sum));
    for (size_t k = 0; k < a.row_bytes; ++k) {
      sum +=
          static_cast<int8_t>(a.bytes[i][k]) * static_cast<int8_t>(b.bytes[k / 4][4 * j + k % 4]);
    }
    std::memcpy(sums.bytes[i] + 4 * j, &sum, sizeof(sum));
  }

  Tile tiles_[kCount];
  bool is_on_ = false;
};
