#include "gguf/directory.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/checked.h"
#include "base/error.h"

namespace qualia::gguf {
namespace {

constexpr uint32_t kAlignmentDefault = 32;  // ggml's docs/gguf.md
// The format says 64 bytes; programs built with a larger GGML_MAX_NAME write more.
constexpr uint64_t kNameBytesMax = 1024;
constexpr uint64_t kTensorBytesMin = 8 + 1 + 4 + 4 + 8;  // name length, name, rank, type, offset
constexpr uint64_t kTensorReserveMax = 4096;             // see metadata.cpp

Result<Shape> read_shape(Cursor& cursor) {
  Shape shape;
  QUALIA_ASSIGN(shape.rank, cursor.read<uint32_t>());
  if (shape.rank > Shape::kRankMax)
    return corrupt_file("{} of '{}' has {} dimensions (at most {}).", cursor.place(),
                        cursor.file_name(), shape.rank, Shape::kRankMax);
  for (uint32_t i = 0; i < shape.rank; ++i) {
    QUALIA_ASSIGN(shape.dims[i], cursor.read<uint64_t>());
    if (shape.dims[i] == 0)
      return corrupt_file("Dimension {} of {} of '{}' is 0.", i, cursor.place(),
                          cursor.file_name());
  }
  return shape;
}

Result<DType> read_dtype(Cursor& cursor) {
  QUALIA_ASSIGN(const uint32_t id, cursor.read<uint32_t>());
  const std::optional<DTypeInfo> info = find_dtype(id);
  if (!info)
    return unsupported("The type id {} of {} of '{}' is unknown.", id, cursor.place(),
                       cursor.file_name());
  return info->dtype;
}

Result<uint64_t> size_of(const Cursor& cursor, const Shape& shape, DType dtype) {
  const std::optional<uint64_t> size_bytes = tensor_size_bytes(shape, dtype);
  if (size_bytes) return *size_bytes;
  const DTypeInfo& info = dtype_info(dtype);
  if (shape.columns() % info.block_size != 0)
    return corrupt_file("{} of '{}' has rows of {} elements ({} takes blocks of {}).",
                        cursor.place(), cursor.file_name(), shape.columns(), info.name,
                        info.block_size);
  return corrupt_file("{} of '{}' has a size beyond 64 bits: {}.", cursor.place(),
                      cursor.file_name(), to_string(shape));
}

// The offset is still relative to the data section.
Result<TensorInfo> read_tensor(Cursor& cursor, uint64_t index, uint32_t alignment) {
  cursor.at("Tensor", index);
  TensorInfo tensor;
  QUALIA_ASSIGN(tensor.name, cursor.read_string(kNameBytesMax));
  if (tensor.name.empty())
    return corrupt_file("Tensor {} of '{}' has no name.", index, cursor.file_name());
  cursor.at("Tensor", index, tensor.name);
  QUALIA_ASSIGN(tensor.shape, read_shape(cursor));
  QUALIA_ASSIGN(tensor.dtype, read_dtype(cursor));
  QUALIA_ASSIGN(tensor.size_bytes, size_of(cursor, tensor.shape, tensor.dtype));
  QUALIA_ASSIGN(tensor.file_offset, cursor.read<uint64_t>());
  if (tensor.file_offset % alignment != 0)
    return corrupt_file("{} of '{}' has the offset {} (a multiple of {} expected).", cursor.place(),
                        cursor.file_name(), tensor.file_offset, alignment);
  return tensor;
}

Result<void> place_tensor(const Cursor& cursor, uint64_t data_offset, TensorInfo& tensor) {
  const std::optional<uint64_t> begin = checked_add(data_offset, tensor.file_offset);
  const std::optional<uint64_t> end = begin ? checked_add(*begin, tensor.size_bytes) : std::nullopt;
  if (!end || *end > cursor.size())
    return corrupt_file("Tensor {} of '{}' has {} bytes at {} + {} (file has {}).",
                        quoted(tensor.name), cursor.file_name(), tensor.size_bytes, data_offset,
                        tensor.file_offset, cursor.size());
  tensor.file_offset = *begin;
  return {};
}

Result<void> expect_apart(const Cursor& cursor, std::span<const TensorInfo> tensors) {
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](uint32_t i) { return tensors[i].file_offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const TensorInfo& before = tensors[order[i - 1]];
    const TensorInfo& after = tensors[order[i]];
    if (before.file_offset + before.size_bytes > after.file_offset)
      return corrupt_file("Tensors {} and {} of '{}' overlap at offset {}.", quoted(before.name),
                          quoted(after.name), cursor.file_name(), after.file_offset);
  }
  return {};
}

}  // namespace

Result<uint32_t> read_alignment(const Metadata& metadata, std::string_view file_name) {
  const Entry* entry = metadata.find("general.alignment");
  if (entry == nullptr) return kAlignmentDefault;
  const auto* alignment = std::get_if<uint32_t>(&entry->value);
  if (alignment == nullptr)
    return corrupt_file("Key 'general.alignment' of '{}' has the type {} (u32 expected).",
                        file_name, value_type_name(entry->type));
  if (!std::has_single_bit(*alignment))
    return corrupt_file("Key 'general.alignment' of '{}' is {} (a power of two expected).",
                        file_name, *alignment);
  return *alignment;
}

Result<std::vector<TensorInfo>> read_directory(Cursor& cursor, uint64_t count, uint32_t alignment) {
  cursor.at("the list of tensors");
  QUALIA_TRY(cursor.expect_room(count, kTensorBytesMin));
  if (!checked_cast<uint32_t>(count))
    return corrupt_file("'{}' has {} tensors (at most {}).", cursor.file_name(), count, UINT32_MAX);
  std::vector<TensorInfo> tensors;
  tensors.reserve(static_cast<size_t>(std::min(count, kTensorReserveMax)));
  for (uint64_t i = 0; i < count; ++i) {
    QUALIA_ASSIGN(const TensorInfo tensor, read_tensor(cursor, i, alignment));
    tensors.push_back(tensor);
  }
  const auto data_offset = checked_align<uint64_t>(cursor.offset(), alignment);
  if (!data_offset)
    return corrupt_file("The data of '{}' starts beyond 64 bits.", cursor.file_name());
  for (TensorInfo& tensor : tensors) QUALIA_TRY(place_tensor(cursor, *data_offset, tensor));
  QUALIA_TRY(expect_apart(cursor, tensors));
  return tensors;
}

}  // namespace qualia::gguf
