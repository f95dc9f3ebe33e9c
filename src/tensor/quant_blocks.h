// The block layouts of quantised weights as a GGUF file stores them, byte for byte.
// Thread-safety: values. Copy a block out of the file with memcpy: files align nothing.
// Names: d is the block's scale, m or dmin its minimum (both binary16); qs holds the low bits of
// the codes, qh their fifth or upper bits. What the codes mean stands in ops/dequantize.h. All
// multi-byte fields are little-endian, as is every machine that qualia supports. Source: ggml's
// format description (github.com/ggml-org/ggml) and PyPI's gguf 0.19, quants.py.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace qualia {

static_assert(std::endian::native == std::endian::little, "block fields are read in place");

inline constexpr size_t kBlockValues = 32;        // of Q4_0 ... Q8_0
inline constexpr size_t kSuperBlockValues = 256;  // of Q2_K ... Q6_K

struct BlockQ4_0 {
  uint16_t d;
  uint8_t qs[16];  // value i in the low nibble of qs[i], value i + 16 in the high one
};

struct BlockQ4_1 {
  uint16_t d;
  uint16_t m;
  uint8_t qs[16];  // as Q4_0
};

struct BlockQ5_0 {
  uint16_t d;
  uint8_t qh[4];   // bit i of the little-endian word: fifth bit of value i
  uint8_t qs[16];  // as Q4_0
};

struct BlockQ5_1 {
  uint16_t d;
  uint16_t m;
  uint8_t qh[4];   // as Q5_0
  uint8_t qs[16];  // as Q4_0
};

struct BlockQ8_0 {
  uint16_t d;
  int8_t qs[32];
};

struct BlockQ2_K {
  uint8_t scales[16];  // per 16 values: scale in the low nibble, minimum in the high one
  uint8_t qs[64];      // halves of 128 values: value 32 j + l in bits 2 j .. 2 j + 1 of byte l
  uint16_t d;
  uint16_t dmin;
};

struct BlockQ3_K {
  uint8_t hmask[32];   // bit j of byte l: set unless value 32 j + l is offset by -4
  uint8_t qs[64];      // as Q2_K
  uint8_t scales[12];  // 16 scales of 6 bits: low nibbles in bytes 0-7, upper pairs in bytes 8-11
  uint16_t d;
};

struct BlockQ4_K {
  uint16_t d;
  uint16_t dmin;
  uint8_t
      scales[12];  // 8 scales and 8 minima of 6 bits, see unpack_scale_min in ops/dequantize_k.cpp
  uint8_t
      qs[128];  // per 64 values 32 bytes: values 0-31 in the low nibbles, 32-63 in the high ones
};

struct BlockQ5_K {
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];  // as Q4_K
  uint8_t qh[32];      // bit j of byte l: fifth bit of value 32 j + l
  uint8_t qs[128];     // as Q4_K
};

struct BlockQ6_K {
  uint8_t
      ql[128];  // per half of 128 values 64 bytes: values 0-63 in low nibbles, 64-127 in high ones
  uint8_t qh[64];     // per half 32 bytes: value 32 j + l in bits 2 j .. 2 j + 1 of byte l
  int8_t scales[16];  // per 16 values
  uint16_t d;
};

static_assert(sizeof(BlockQ4_0) == 18 && alignof(BlockQ4_0) == 2);
static_assert(sizeof(BlockQ4_1) == 20);
static_assert(sizeof(BlockQ5_0) == 22);
static_assert(sizeof(BlockQ5_1) == 24);
static_assert(sizeof(BlockQ8_0) == 34);
static_assert(sizeof(BlockQ2_K) == 84);
static_assert(sizeof(BlockQ3_K) == 110);
static_assert(sizeof(BlockQ4_K) == 144);
static_assert(sizeof(BlockQ5_K) == 176);
static_assert(sizeof(BlockQ6_K) == 210);

// Block `index` of a row that starts at `source`.
template <typename Block>
Block load_block(const std::byte* source, size_t index) noexcept {
  Block block;
  std::memcpy(&block, source + index * sizeof(Block), sizeof(Block));
  return block;
}

}  // namespace qualia
