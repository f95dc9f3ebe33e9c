// The packed forms of weight matrices: what a block of 16 rows x 32 k holds.
// Thread-safety: values. docs/formats/packed_matrix.md draws the bytes.
// A block is: codes, then scales [groups][16], then mins [groups][16] where the format has them
// (groups: 1 per 32 k, or 2 where the source has one scale per 16). Scales are binary16, or float32
// in the wide formats, which exact precision uses for types whose scales are products.
// Values: 4-bit code * scale + min, or (code - 8) * scale without min; 8-bit signed code * scale
// (+ min). Codes of 8-bit formats with min are 0 .. 31, those of q8_g16 -32 .. 31.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "qualia/lane.h"
#include "tensor/dtype.h"

namespace qualia::lanes::cpu {

// 16 rows: one AVX-512 register of 32-bit sums, two of AVX2.
inline constexpr size_t kPanelRows = 16;
inline constexpr size_t kBlockColumns = 32;
// 4 bytes of each of 16 rows: the codes that one dot-product instruction of AVX-512 takes.
inline constexpr size_t kCodeVectorBytes = 64;

// name, code bits, scales a row per block, has a min per scale, bytes a scale
#define QUALIA_PACKED_FORMATS(X)    \
  X(q4, 4, 1, false, 2)             \
  X(q4_min, 4, 1, true, 2)          \
  X(q4_min_wide, 4, 1, true, 4)     \
  X(q8, 8, 1, false, 2)             \
  X(q8_min, 8, 1, true, 2)          \
  X(q8_min_wide, 8, 1, true, 4)     \
  X(q8_g16, 8, 2, false, 2)         \
  X(q8_g16_wide, 8, 2, false, 4)    \
  X(q8_g16_min, 8, 2, true, 2)      \
  X(q8_g16_min_wide, 8, 2, true, 4) \
  X(f16, 16, 0, false, 0)           \
  X(bf16, 16, 0, false, 0)          \
  X(f32, 32, 0, false, 0)

enum class PackedFormat : uint8_t {
#define QUALIA_FORMAT(name, bits, scales, has_min, scale_bytes) name,
  QUALIA_PACKED_FORMATS(QUALIA_FORMAT)
#undef QUALIA_FORMAT
};

struct PackedFormatInfo {
  std::string_view name;
  size_t code_bits;
  size_t scale_count;  // a row per block of 32
  bool has_min;
  size_t scale_bytes;

  constexpr size_t code_bytes() const { return kPanelRows * kBlockColumns * code_bits / 8; }
  constexpr size_t scales_bytes() const { return kPanelRows * scale_count * scale_bytes; }
  constexpr size_t scales_offset() const { return code_bytes(); }
  constexpr size_t mins_offset() const { return code_bytes() + scales_bytes(); }
  constexpr size_t block_bytes() const { return mins_offset() + (has_min ? scales_bytes() : 0); }
  constexpr bool is_integer() const { return code_bits <= 8; }
  // Groups of 16 k with a scale of their own.
  constexpr size_t group_columns() const { return scale_count == 2 ? 16 : 32; }
};

inline constexpr std::array kPackedFormats{
#define QUALIA_FORMAT(name, bits, scales, has_min, scale_bytes) \
  PackedFormatInfo{#name, bits, scales, has_min, scale_bytes},
    QUALIA_PACKED_FORMATS(QUALIA_FORMAT)
#undef QUALIA_FORMAT
};

constexpr const PackedFormatInfo& packed_format_info(PackedFormat format) {
  return kPackedFormats[static_cast<size_t>(format)];
}

// Byte of a block (nibble formats: its low nibble for k < 16, its high one for k >= 16) or index of
// a 16- or 32-bit element that holds row `row`, column `k`.
constexpr size_t code_index(PackedFormat format, size_t row, size_t k) {
  const size_t bits = packed_format_info(format).code_bits;
  if (bits == 4) return k % 16 / 4 * kCodeVectorBytes + row * 4 + k % 4;
  if (bits == 8) return k / 4 * kCodeVectorBytes + row * 4 + k % 4;
  // Pairs of k side by side: a shift or a mask makes float32 of either.
  if (format == PackedFormat::bf16) return k / 2 * 2 * kPanelRows + row * 2 + k % 2;
  return k * kPanelRows + row;
}

// nullopt: the CPU lane has no form for the type.
std::optional<PackedFormat> packed_format_of(DType dtype, Precision precision);

}  // namespace qualia::lanes::cpu
