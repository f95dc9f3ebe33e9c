// Shape: up to four dimensions, innermost first as GGUF stores them (dims[0] is contiguous).
// Thread-safety: value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/checked.h"
#include "tensor/dtype.h"

namespace qualia {

struct Shape {
  static constexpr size_t kRankMax = 4;  // GGUF's own limit

  std::array<uint64_t, kRankMax> dims{1, 1, 1, 1};
  uint32_t rank = 0;

  // [columns] x [rows]: the weight of y = W x has columns = inputs, rows = outputs.
  uint64_t columns() const { return dims[0]; }
  uint64_t rows() const { return dims[1]; }

  std::optional<uint64_t> element_count() const {
    std::optional<uint64_t> count = 1;
    for (const uint64_t dim : dims) {
      count = checked_mul(*count, dim);
      if (!count) return std::nullopt;
    }
    return count;
  }

  friend bool operator==(const Shape&, const Shape&) = default;
};

// "[576, 49152]"
std::string to_string(const Shape& shape);

// Bytes of a tensor of this shape, or nullopt where dims[0] is no multiple of the type's block or
// the size overflows.
std::optional<uint64_t> tensor_size_bytes(const Shape& shape, DType dtype);

}  // namespace qualia
