#include "lanes/pack_source.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "tensor/float16.h"
#include "tensor/quant_blocks.h"

namespace qualia::lanes {
namespace {

// Nibble i is code i, its upper nibble code i + 16.
void split_nibbles(const uint8_t (&qs)[16], int8_t* codes) {
  for (size_t i = 0; i < 16; ++i) {
    codes[i] = static_cast<int8_t>(qs[i] & 0x0F);
    codes[i + 16] = static_cast<int8_t>(qs[i] >> 4);
  }
}

// Adds bit i of the word as the fifth bit of code i.
void add_fifth_bits(const uint8_t (&qh)[4], int8_t* codes) {
  uint32_t word = 0;
  std::memcpy(&word, qh, sizeof(word));
  for (uint32_t i = 0; i < 32; ++i) {
    codes[i] = static_cast<int8_t>(codes[i] | static_cast<int8_t>((word >> i & 1U) << 4U));
  }
}

void read_q4_0(const std::byte* source, RowGroup* group) noexcept {
  const auto block = load_block<BlockQ4_0>(source, 0);
  split_nibbles(block.qs, group->codes);
  group->scales[0] = f16_to_f32(block.d);
}

void read_q4_1(const std::byte* source, RowGroup* group) noexcept {
  const auto block = load_block<BlockQ4_1>(source, 0);
  split_nibbles(block.qs, group->codes);
  group->scales[0] = f16_to_f32(block.d);
  group->mins[0] = f16_to_f32(block.m);
}

void read_q5_0(const std::byte* source, RowGroup* group) noexcept {
  const auto block = load_block<BlockQ5_0>(source, 0);
  split_nibbles(block.qs, group->codes);
  add_fifth_bits(block.qh, group->codes);
  for (int8_t& code : group->codes) code = static_cast<int8_t>(code - 16);
  group->scales[0] = f16_to_f32(block.d);
}

void read_q5_1(const std::byte* source, RowGroup* group) noexcept {
  const auto block = load_block<BlockQ5_1>(source, 0);
  split_nibbles(block.qs, group->codes);
  add_fifth_bits(block.qh, group->codes);
  group->scales[0] = f16_to_f32(block.d);
  group->mins[0] = f16_to_f32(block.m);
}

void read_q8_0(const std::byte* source, RowGroup* group) noexcept {
  const auto block = load_block<BlockQ8_0>(source, 0);
  std::memcpy(group->codes, block.qs, sizeof(block.qs));
  group->scales[0] = f16_to_f32(block.d);
}

}  // namespace

SourceReader source_reader(DType dtype) {
  switch (dtype) {
    case DType::q4_0:
      return {sizeof(BlockQ4_0), 1, read_q4_0};
    case DType::q4_1:
      return {sizeof(BlockQ4_1), 1, read_q4_1};
    case DType::q5_0:
      return {sizeof(BlockQ5_0), 1, read_q5_0};
    case DType::q5_1:
      return {sizeof(BlockQ5_1), 1, read_q5_1};
    case DType::q8_0:
      return {sizeof(BlockQ8_0), 1, read_q8_0};
    default:
      return source_reader_k(dtype);
  }
}

float row_factor(const SourceReader& reader, const std::byte* row, size_t block_count,
                 size_t scale_count, bool has_min) {
  // The last exponent but one of binary16, so that rounding up stays finite.
  constexpr int kLargestExponent = 14;
  RowGroup groups[kGroupsPerBlockMax];
  float largest = 0.0F;
  for (size_t b = 0; b < block_count; ++b) {
    reader.read(row + b * reader.block_bytes, groups);
    for (const RowGroup& group : std::span(groups, reader.groups_per_block)) {
      for (size_t s = 0; s < scale_count; ++s) {
        largest = std::max(largest, std::abs(group.scales[s]));
        if (has_min) largest = std::max(largest, std::abs(group.mins[s]));
      }
    }
  }
  if (largest == 0.0F || !std::isfinite(largest)) return 1.0F;
  return std::ldexp(1.0F, std::ilogb(largest) - kLargestExponent);
}

}  // namespace qualia::lanes
