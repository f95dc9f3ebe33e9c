// TensorView: typed bytes with a shape, owned by someone else (a FileMap, a buffer).
// Thread-safety: value; the bytes must outlive it.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace qualia {

struct TensorView {
  DType dtype = DType::f32;
  Shape shape;
  std::span<const std::byte> bytes;  // exactly tensor_size_bytes(shape, dtype), any alignment

  uint64_t row_bytes() const {
    const DTypeInfo& info = dtype_info(dtype);
    return shape.columns() / info.block_size * info.block_bytes;
  }
  std::span<const std::byte> row(uint64_t index) const {
    return bytes.subspan(index * row_bytes(), row_bytes());
  }
};

}  // namespace qualia
