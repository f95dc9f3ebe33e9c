// The K types: super-blocks of 256 values, eight groups each.
#include "lanes/pack_source.h"
#include "tensor/float16.h"
#include "tensor/quant_blocks.h"

namespace qualia::lanes {
namespace {

struct ScaleMin {
  uint32_t scale;
  uint32_t min;
};

// Entry j of 8 in the 12 bytes of Q4_K and Q5_K: the first four lie whole in the low six bits of
// bytes j and j + 4; the last four have low nibbles in byte j + 4, upper pairs atop j - 4 and j.
ScaleMin unpack_scale_min(const uint8_t (&packed)[12], size_t j) {
  if (j < 4) return {packed[j] & 0x3FU, packed[j + 4] & 0x3FU};
  const uint32_t low = packed[j + 4];
  const uint32_t scale_high = packed[j - 4];
  const uint32_t min_high = packed[j];
  return {(low & 0x0FU) | scale_high >> 6U << 4U, low >> 4U | min_high >> 6U << 4U};
}

// Scale j of 16 of Q3_K, in -32 .. 31.
int32_t unpack_q3_k_scale(const uint8_t (&packed)[12], size_t j) {
  const uint32_t low_pair = packed[j % 8];
  const uint32_t high_quad = packed[8 + j % 4];
  const uint32_t low = j < 8 ? low_pair & 0x0FU : low_pair >> 4U;
  const uint32_t high = high_quad >> (2 * (j / 4)) & 3U;
  return static_cast<int32_t>(low | high << 4U) - 32;
}

void read_q2_k(const std::byte* source, RowGroup* groups) noexcept {
  const auto block = load_block<BlockQ2_K>(source, 0);
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  for (size_t g = 0; g < 8; ++g) {
    const uint8_t* qs = block.qs + g / 4 * 32;
    const size_t shift = g % 4 * 2;
    for (size_t i = 0; i < 32; ++i) groups[g].codes[i] = static_cast<int8_t>(qs[i] >> shift & 3);
    for (size_t half = 0; half < 2; ++half) {
      const uint8_t packed = block.scales[2 * g + half];
      groups[g].scales[half] = d * static_cast<float>(packed & 0x0F);
      groups[g].mins[half] = -(dmin * static_cast<float>(packed >> 4));
    }
  }
}

void read_q3_k(const std::byte* source, RowGroup* groups) noexcept {
  const auto block = load_block<BlockQ3_K>(source, 0);
  const float d = f16_to_f32(block.d);
  for (size_t g = 0; g < 8; ++g) {
    const uint8_t* qs = block.qs + g / 4 * 32;
    const size_t shift = g % 4 * 2;
    for (size_t i = 0; i < 32; ++i) {
      const int32_t high = (block.hmask[i] >> g & 1) << 2;
      groups[g].codes[i] = static_cast<int8_t>((qs[i] >> shift & 3) + high - 4);
    }
    for (size_t half = 0; half < 2; ++half) {
      const int32_t scale = unpack_q3_k_scale(block.scales, 2 * g + half);
      groups[g].scales[half] = d * static_cast<float>(scale);
    }
  }
}

// Q4_K and Q5_K differ in a code's fifth bit alone.
template <typename Block>
void read_q45_k(const std::byte* source, RowGroup* groups) noexcept {
  const auto block = load_block<Block>(source, 0);
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  for (size_t g = 0; g < 8; ++g) {
    const uint8_t* qs = block.qs + g / 2 * 32;
    const size_t shift = g % 2 * 4;
    for (size_t i = 0; i < 32; ++i) {
      int32_t code = qs[i] >> shift & 0x0F;
      if constexpr (requires { block.qh; }) code |= (block.qh[i] >> g & 1) << 4;
      groups[g].codes[i] = static_cast<int8_t>(code);
    }
    const ScaleMin packed = unpack_scale_min(block.scales, g);
    groups[g].scales[0] = d * static_cast<float>(packed.scale);
    groups[g].mins[0] = -(dmin * static_cast<float>(packed.min));
  }
}

void read_q6_k(const std::byte* source, RowGroup* groups) noexcept {
  const auto block = load_block<BlockQ6_K>(source, 0);
  const float d = f16_to_f32(block.d);
  for (size_t g = 0; g < 8; ++g) {
    // Per half of 128 values: groups 0 and 1 are the low nibbles of 64 bytes, 2 and 3 the high
    // ones.
    const uint8_t* ql = block.ql + g / 4 * 64 + g % 2 * 32;
    const uint8_t* qh = block.qh + g / 4 * 32;
    const size_t low_shift = g % 4 / 2 * 4;
    const size_t high_shift = g % 4 * 2;
    for (size_t i = 0; i < 32; ++i) {
      const int32_t code = (ql[i] >> low_shift & 0x0F) | (qh[i] >> high_shift & 3) << 4;
      groups[g].codes[i] = static_cast<int8_t>(code - 32);
    }
    for (size_t half = 0; half < 2; ++half) {
      groups[g].scales[half] = d * static_cast<float>(block.scales[2 * g + half]);
    }
  }
}

}  // namespace

SourceReader source_reader_k(DType dtype) {
  switch (dtype) {
    case DType::q2_k:
      return {sizeof(BlockQ2_K), kGroupsPerBlockMax, read_q2_k};
    case DType::q3_k:
      return {sizeof(BlockQ3_K), kGroupsPerBlockMax, read_q3_k};
    case DType::q4_k:
      return {sizeof(BlockQ4_K), kGroupsPerBlockMax, read_q45_k<BlockQ4_K>};
    case DType::q5_k:
      return {sizeof(BlockQ5_K), kGroupsPerBlockMax, read_q45_k<BlockQ5_K>};
    case DType::q6_k:
      return {sizeof(BlockQ6_K), kGroupsPerBlockMax, read_q6_k};
    default:
      return {};
  }
}

}  // namespace qualia::lanes
