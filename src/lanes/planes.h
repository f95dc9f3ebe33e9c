// Planes: a weight matrix W [n, k] as GPU lanes hold it, row by row: a plane of codes, a plane of
// scales, and a factor per row where scales need one.
// Thread-safety: pure; distinct row ranges may be written in parallel.
// k is padded with zeros to whole groups of 32. A row's codes are, per group, 16 bytes of 4-bit
// codes (byte i: k = i low, k = i + 16 high), 32 bytes of 8-bit codes, or 32 values of 16 or 32
// bits. A row's scales are, per group, s0 [m0] [s1 [m1]] (s1 where there is a scale per 16), as
// binary16, or as float32 in the wide forms; rows start at whole 32-bit words.
// Values: 4-bit code * s + m, or (code - 8) * s without m; 8-bit signed code * s (+ m).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "qualia/lane.h"
#include "tensor/dtype.h"
#include "tensor/tensor_view.h"

namespace qualia::lanes {

inline constexpr size_t kGroupColumns = 32;

enum class CodeKind : uint8_t { int4, int8, f16, bf16, f32 };

struct PlaneFormat {
  CodeKind code = CodeKind::f32;
  uint32_t scale_count = 0;  // a group: 0, 1 or 2
  bool has_min = false;      // a min per scale
  bool is_wide = false;      // scales are float32
  bool has_row_factors = false;

  bool operator==(const PlaneFormat&) const = default;
  bool is_integer() const { return code == CodeKind::int4 || code == CodeKind::int8; }
  size_t group_code_bytes() const;
  size_t group_scale_values() const { return scale_count * (has_min ? 2U : 1U); }
  size_t row_code_bytes(size_t k) const;
  size_t row_scale_bytes(size_t k) const;  // a multiple of 4; 0 for float codes
};

// nullopt: there is no such form of the type. Scales of the K types are products of a binary16 and
// an integer: exact only as float32; otherwise a power of two per row (the factor) brings them into
// binary16's range with 11 bits.
std::optional<PlaneFormat> plane_format(DType dtype, Precision precision);

// Where rows are written: rows of one plane lie one after the other.
struct PlaneTargets {
  std::byte* codes = nullptr;    // of the first row to write
  std::byte* scales = nullptr;   // nullptr where the format has none
  float* row_factors = nullptr;  // nullptr where the format has none
};

// Rows [begin, end) of `source`; row r goes to place (r - begin) * stride of `targets`, so that two
// matrices can lie row by row in turns.
void write_planes(const TensorView& source, const PlaneFormat& format, size_t begin, size_t end,
                  const PlaneTargets& targets, size_t stride = 1) noexcept;

}  // namespace qualia::lanes
