// The K types: super-blocks of 256 values, with scales that are themselves quantised.
#include "ops/dequantize.h"
#include "tensor/float16.h"
#include "tensor/quant_blocks.h"

namespace qualia::ops {
namespace {

struct ScaleMin {
  uint32_t scale;
  uint32_t min;
};

// Entry j of 8 in the 12 bytes of Q4_K and Q5_K. The first four entries lie whole in the low six
// bits of bytes j and j + 4; the last four have their low nibbles in byte j + 4 and their upper two
// bits in the two top bits of bytes j - 4 and j.
ScaleMin unpack_scale_min(const uint8_t (&packed)[12], size_t j) noexcept {
  if (j < 4) return {packed[j] & 0x3FU, packed[j + 4] & 0x3FU};
  const uint32_t low = packed[j + 4];
  const uint32_t scale_high = packed[j - 4];
  const uint32_t min_high = packed[j];
  return {(low & 0x0FU) | scale_high >> 6U << 4U, low >> 4U | min_high >> 6U << 4U};
}

// Scale j of 16 of Q3_K, in -32 .. 31.
int32_t unpack_q3_k_scale(const uint8_t (&packed)[12], size_t j) noexcept {
  const uint32_t low_pair = packed[j % 8];
  const uint32_t high_quad = packed[8 + j % 4];
  const uint32_t low = j < 8 ? low_pair & 0x0FU : low_pair >> 4U;
  const uint32_t high = high_quad >> (2 * (j / 4)) & 3U;
  return static_cast<int32_t>(low | high << 4U) - 32;
}

void dequantize_block(const BlockQ2_K& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  for (size_t group = 0; group < 16; ++group, out += 16) {
    const float scale = d * static_cast<float>(block.scales[group] & 0x0F);
    const float min = dmin * static_cast<float>(block.scales[group] >> 4);
    const uint8_t* qs = block.qs + group / 8 * 32 + group % 2 * 16;
    const uint32_t shift = static_cast<uint32_t>(group % 8 / 2 * 2);
    for (size_t i = 0; i < 16; ++i) {
      out[i] = scale * static_cast<float>(qs[i] >> shift & 3) - min;
    }
  }
}

void dequantize_block(const BlockQ3_K& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (size_t group = 0; group < 16; ++group, out += 16) {
    const float scale = d * static_cast<float>(unpack_q3_k_scale(block.scales, group));
    const uint8_t* qs = block.qs + group / 8 * 32 + group % 2 * 16;
    const uint8_t* hmask = block.hmask + group % 2 * 16;
    const uint32_t shift = static_cast<uint32_t>(group % 8 / 2 * 2);
    const uint32_t bit = static_cast<uint32_t>(group / 2);
    for (size_t i = 0; i < 16; ++i) {
      const int32_t code = (qs[i] >> shift & 3) + ((hmask[i] >> bit & 1) << 2) - 4;
      out[i] = scale * static_cast<float>(code);
    }
  }
}

// What Q4_K and Q5_K share: eight groups of 32 with a packed scale and min each, the low four bits
// of a code in a nibble of qs; high_bits(group, i) gives what stands above them.
template <typename Block, typename HighBits>
void dequantize_scale_min(const Block& block, float* out, const HighBits& high_bits) noexcept {
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  for (size_t group = 0; group < 8; ++group, out += 32) {
    const ScaleMin packed = unpack_scale_min(block.scales, group);
    const float scale = d * static_cast<float>(packed.scale);
    const float min = dmin * static_cast<float>(packed.min);
    const uint8_t* qs = block.qs + group / 2 * 32;
    const uint32_t shift = static_cast<uint32_t>(group % 2 * 4);
    for (size_t i = 0; i < 32; ++i) {
      const int32_t code = (qs[i] >> shift & 0x0F) | high_bits(group, i);
      out[i] = scale * static_cast<float>(code) - min;
    }
  }
}

void dequantize_block(const BlockQ4_K& block, float* out) noexcept {
  dequantize_scale_min(block, out, [](size_t, size_t) { return 0; });
}

void dequantize_block(const BlockQ5_K& block, float* out) noexcept {
  dequantize_scale_min(
      block, out, [&block](size_t group, size_t i) { return (block.qh[i] >> group & 1) << 4; });
}

void dequantize_block(const BlockQ6_K& block, float* out) noexcept {
  const float d = f16_to_f32(block.d);
  for (size_t group = 0; group < 16; ++group, out += 16) {
    const size_t half = group / 8;
    const size_t in_half = group % 8;  // groups 0-3: low nibbles, 4-7: high nibbles
    const float scale = d * static_cast<float>(block.scales[group]);
    const uint8_t* ql = block.ql + half * 64 + in_half % 4 * 16;
    const uint8_t* qh = block.qh + half * 32 + in_half % 2 * 16;
    const uint32_t low_shift = static_cast<uint32_t>(in_half / 4 * 4);
    const uint32_t high_shift = static_cast<uint32_t>(in_half / 2 * 2);
    for (size_t i = 0; i < 16; ++i) {
      const int32_t code = (ql[i] >> low_shift & 0x0F) | (qh[i] >> high_shift & 3) << 4;
      out[i] = scale * static_cast<float>(code - 32);
    }
  }
}

template <typename Block>
void dequantize_blocks(const std::byte* source, float* out, size_t count) noexcept {
  for (size_t b = 0; b < count / kSuperBlockValues; ++b) {
    dequantize_block(load_block<Block>(source, b), out + b * kSuperBlockValues);
  }
}

}  // namespace

void dequantize_q2_k(const std::byte* source, float* out, size_t count) noexcept {
  dequantize_blocks<BlockQ2_K>(source, out, count);
}

void dequantize_q3_k(const std::byte* source, float* out, size_t count) noexcept {
  dequantize_blocks<BlockQ3_K>(source, out, count);
}

void dequantize_q4_k(const std::byte* source, float* out, size_t count) noexcept {
  dequantize_blocks<BlockQ4_K>(source, out, count);
}

void dequantize_q5_k(const std::byte* source, float* out, size_t count) noexcept {
  dequantize_blocks<BlockQ5_K>(source, out, count);
}

void dequantize_q6_k(const std::byte* source, float* out, size_t count) noexcept {
  dequantize_blocks<BlockQ6_K>(source, out, count);
}

}  // namespace qualia::ops
