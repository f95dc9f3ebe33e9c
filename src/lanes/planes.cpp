#include "lanes/planes.h"

#include <cstring>

#include "lanes/pack_source.h"
#include "tensor/float16.h"

namespace qualia::lanes {
namespace {

size_t groups_of(size_t k) { return (k + kGroupColumns - 1) / kGroupColumns; }

void write_codes_of(const PlaneFormat& format, const int8_t* codes, std::byte* target) {
  if (format.code == CodeKind::int8) {
    std::memcpy(target, codes, kGroupColumns);
    return;
  }
  for (size_t i = 0; i < kGroupColumns / 2; ++i) {
    target[i] = static_cast<std::byte>(codes[i] | codes[i + kGroupColumns / 2] << 4);
  }
}

void write_value(const PlaneFormat& format, float value, std::byte* plane, size_t index) {
  if (format.is_wide) {
    std::memcpy(plane + index * sizeof(float), &value, sizeof(float));
    return;
  }
  const uint16_t half = f32_to_f16(value);
  std::memcpy(plane + index * sizeof(half), &half, sizeof(half));
}

void write_scales_of(const PlaneFormat& format, const RowGroup& group, float inverse_factor,
                     std::byte* plane, size_t group_index) {
  size_t index = group_index * format.group_scale_values();
  for (uint32_t s = 0; s < format.scale_count; ++s) {
    write_value(format, group.scales[s] * inverse_factor, plane, index++);
    if (format.has_min) write_value(format, group.mins[s] * inverse_factor, plane, index++);
  }
}

void write_integer_row(const TensorView& source, const PlaneFormat& format, size_t row,
                       std::byte* codes, std::byte* scales, float* factor) {
  const SourceReader reader = source_reader(source.dtype);
  const std::byte* bytes = source.row(row).data();
  const size_t block_count = source.row_bytes() / reader.block_bytes;
  float inverse_factor = 1.0F;
  if (factor) {
    *factor = row_factor(reader, bytes, block_count, format.scale_count, format.has_min);
    inverse_factor = 1.0F / *factor;
  }
  RowGroup groups[kGroupsPerBlockMax];
  size_t index = 0;
  for (size_t b = 0; b < block_count; ++b) {
    reader.read(bytes + b * reader.block_bytes, groups);
    for (size_t g = 0; g < reader.groups_per_block; ++g, ++index) {
      write_codes_of(format, groups[g].codes, codes + index * format.group_code_bytes());
      write_scales_of(format, groups[g], inverse_factor, scales, index);
    }
  }
}

// Halves before the codes of a block that is laid out like the planes, or 0.
size_t leading_halves(DType dtype) {
  switch (dtype) {
    case DType::q4_0:
    case DType::q8_0:
      return 1;
    case DType::q4_1:
      return 2;
    default:
      return 0;
  }
}

// Such blocks only come apart: binary16 scales, then codes.
void split_row(std::span<const std::byte> row, size_t halves, size_t code_bytes, std::byte* codes,
               std::byte* scales) {
  const size_t scale_bytes = halves * sizeof(uint16_t);
  const std::byte* block = row.data();
  const std::byte* const end = block + row.size();
  for (; block < end; block += scale_bytes + code_bytes) {
    std::memcpy(scales, block, scale_bytes);
    std::memcpy(codes, block + scale_bytes, code_bytes);
    scales += scale_bytes;
    codes += code_bytes;
  }
}

}  // namespace

size_t PlaneFormat::group_code_bytes() const {
  switch (code) {
    case CodeKind::int4:
      return kGroupColumns / 2;
    case CodeKind::int8:
      return kGroupColumns;
    case CodeKind::f16:
    case CodeKind::bf16:
      return kGroupColumns * 2;
    case CodeKind::f32:
      return kGroupColumns * 4;
  }
  return 0;
}

size_t PlaneFormat::row_code_bytes(size_t k) const { return groups_of(k) * group_code_bytes(); }

size_t PlaneFormat::row_scale_bytes(size_t k) const {
  const size_t bytes = groups_of(k) * group_scale_values() * (is_wide ? 4 : 2);
  return (bytes + 3) / 4 * 4;
}

std::optional<PlaneFormat> plane_format(DType dtype, Precision precision) {
  const bool is_exact = precision == Precision::exact;
  const auto k_type = [&](CodeKind code, uint32_t scale_count, bool has_min) {
    return PlaneFormat{code, scale_count, has_min, is_exact, !is_exact};
  };
  switch (dtype) {
    case DType::q4_0:
      return PlaneFormat{CodeKind::int4, 1};
    case DType::q4_1:
      return PlaneFormat{CodeKind::int4, 1, true};
    case DType::q5_0:
    case DType::q8_0:
      return PlaneFormat{CodeKind::int8, 1};
    case DType::q5_1:
      return PlaneFormat{CodeKind::int8, 1, true};
    case DType::q4_k:
      return k_type(CodeKind::int4, 1, true);
    case DType::q5_k:
      return k_type(CodeKind::int8, 1, true);
    case DType::q3_k:
    case DType::q6_k:
      return k_type(CodeKind::int8, 2, false);
    case DType::q2_k:
      return k_type(CodeKind::int8, 2, true);
    case DType::f16:
      return PlaneFormat{CodeKind::f16};
    case DType::bf16:
      return PlaneFormat{CodeKind::bf16};
    case DType::f32:
      return PlaneFormat{CodeKind::f32};
    default:
      return std::nullopt;
  }
}

void write_planes(const TensorView& source, const PlaneFormat& format, size_t begin, size_t end,
                  const PlaneTargets& targets, size_t stride) noexcept {
  const size_t k = source.shape.columns();
  const size_t code_bytes = format.row_code_bytes(k) * stride;
  const size_t scale_bytes = format.row_scale_bytes(k) * stride;
  for (size_t row = begin; row < end; ++row) {
    const size_t place = row - begin;
    std::byte* const codes = targets.codes + place * code_bytes;
    if (!format.is_integer()) {
      const auto bytes = source.row(row);
      std::memcpy(codes, bytes.data(), bytes.size());
      std::memset(codes + bytes.size(), 0, format.row_code_bytes(k) - bytes.size());
      continue;
    }
    if (const size_t halves = leading_halves(source.dtype); halves > 0) {
      split_row(source.row(row), halves, format.group_code_bytes(), codes,
                targets.scales + place * scale_bytes);
      continue;
    }
    float* const factor = targets.row_factors ? targets.row_factors + place * stride : nullptr;
    write_integer_row(source, format, row, codes, targets.scales + place * scale_bytes, factor);
  }
}

}  // namespace qualia::lanes
