#include "lanes/cpu/pack_panel.h"

#include <algorithm>
#include <cstring>

#include "lanes/pack_source.h"
#include "tensor/float16.h"

namespace qualia::lanes::cpu {
namespace {

void write_scale(const PackedFormatInfo& info, std::byte* target, size_t index, float value) {
  if (info.scale_bytes == sizeof(float)) {
    std::memcpy(target + index * sizeof(float), &value, sizeof(float));
    return;
  }
  const uint16_t half = f32_to_f16(value);
  std::memcpy(target + index * sizeof(half), &half, sizeof(half));
}

void write_codes(const PackedFormatInfo& info, const int8_t* codes, std::byte* block, size_t row) {
  std::byte* target = block + row * 4;
  if (info.code_bits == 8) {
    for (size_t p = 0; p < 8; ++p) std::memcpy(target + p * kCodeVectorBytes, codes + 4 * p, 4);
    return;
  }
  for (size_t p = 0; p < 4; ++p) {
    uint32_t low = 0;
    uint32_t high = 0;
    std::memcpy(&low, codes + 4 * p, sizeof(low));
    std::memcpy(&high, codes + 16 + 4 * p, sizeof(high));
    const uint32_t both = low | high << 4U;
    std::memcpy(target + p * kCodeVectorBytes, &both, sizeof(both));
  }
}

void write_group(const PackedFormatInfo& info, const RowGroup& group, float inverse_factor,
                 std::byte* block, size_t row) {
  write_codes(info, group.codes, block, row);
  for (size_t s = 0; s < info.scale_count; ++s) {
    const size_t index = s * kPanelRows + row;
    write_scale(info, block + info.scales_offset(), index, group.scales[s] * inverse_factor);
    if (info.has_min) {
      write_scale(info, block + info.mins_offset(), index, group.mins[s] * inverse_factor);
    }
  }
}

void pack_integer_row(const TensorView& source, PackedFormat format, size_t source_row,
                      std::byte* panel, size_t row, float* factor) {
  const PackedFormatInfo& info = packed_format_info(format);
  const SourceReader reader = source_reader(source.dtype);
  const std::byte* bytes = source.row(source_row).data();
  const size_t source_blocks = source.row_bytes() / reader.block_bytes;
  float inverse_factor = 1.0F;
  if (factor != nullptr) {
    *factor = row_factor(reader, bytes, source_blocks, info.scale_count, info.has_min);
    inverse_factor = 1.0F / *factor;
  }
  RowGroup groups[kGroupsPerBlockMax];
  std::byte* block = panel;
  for (size_t b = 0; b < source_blocks; ++b) {
    reader.read(bytes + b * reader.block_bytes, groups);
    for (size_t g = 0; g < reader.groups_per_block; ++g) {
      write_group(info, groups[g], inverse_factor, block, row);
      block += info.block_bytes();
    }
  }
}

// Elements as bits: up to 16 rows, transposed block by block, so that writes are contiguous.
template <typename Element>
void pack_float_rows(const TensorView& source, PackedFormat format, size_t first_row, size_t rows,
                     std::byte* panel) {
  const size_t k = source.shape.columns();
  std::byte* block = panel;
  for (size_t begin = 0; begin < k; begin += kBlockColumns) {
    const size_t count = std::min(kBlockColumns, k - begin);
    Element in[kPanelRows][kBlockColumns] = {};
    Element out[kBlockColumns * kPanelRows];
    for (size_t row = 0; row < rows; ++row) {
      std::memcpy(in[row], source.row(first_row + row).data() + begin * sizeof(Element),
                  count * sizeof(Element));
    }
    for (size_t column = 0; column < kBlockColumns; ++column) {
      for (size_t row = 0; row < kPanelRows; ++row) {
        out[code_index(format, row, column)] = in[row][column];
      }
    }
    std::memcpy(block, out, sizeof(out));
    block += sizeof(out);
  }
}

void pack_floats(const TensorView& source, PackedFormat format, size_t first_row, size_t rows,
                 std::byte* panel) {
  switch (format) {
    case PackedFormat::f32:
      return pack_float_rows<uint32_t>(source, PackedFormat::f32, first_row, rows, panel);
    case PackedFormat::bf16:
      return pack_float_rows<uint16_t>(source, PackedFormat::bf16, first_row, rows, panel);
    default:
      return pack_float_rows<uint16_t>(source, PackedFormat::f16, first_row, rows, panel);
  }
}

}  // namespace

bool has_row_factors(DType dtype, PackedFormat format) {
  if (packed_format_info(format).scale_bytes != sizeof(uint16_t)) return false;
  switch (dtype) {
    case DType::q2_k:
    case DType::q3_k:
    case DType::q4_k:
    case DType::q5_k:
    case DType::q6_k:
      return true;
    default:
      return false;
  }
}

void pack_panel(const TensorView& source, PackedFormat format, size_t first_row, std::byte* panel,
                float* row_factors) noexcept {
  if (row_factors != nullptr) std::fill_n(row_factors, kPanelRows, 1.0F);
  const size_t rows = std::min(kPanelRows, static_cast<size_t>(source.shape.rows()) - first_row);
  if (!packed_format_info(format).is_integer()) {
    return pack_floats(source, format, first_row, rows, panel);
  }
  for (size_t row = 0; row < rows; ++row) {
    pack_integer_row(source, format, first_row + row, panel, row,
                     row_factors == nullptr ? nullptr : row_factors + row);
  }
}

}  // namespace qualia::lanes::cpu
