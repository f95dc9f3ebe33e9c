#include "tensor/shape.h"

#include <fmt/format.h>

namespace qualia {

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.dims.begin(), shape.dims.begin() + shape.rank, ", "));
}

std::optional<uint64_t> tensor_size_bytes(const Shape& shape, DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  const std::optional<uint64_t> count = shape.element_count();
  if (!count || shape.columns() % info.block_size != 0) return std::nullopt;
  return checked_mul<uint64_t>(*count / info.block_size, info.block_bytes);
}

}  // namespace qualia
