#include "gguf/gguf_file.h"

#include <utility>

#include "base/error.h"
#include "gguf/metadata.h"
#include "gguf/name_order.h"

namespace qualia::gguf {

size_t Array::size() const {
  return std::visit([](const auto& vector) { return vector.size(); }, items);
}

const Entry* File::find(std::string_view key) const {
  return find_by_name(entries(), entry_order_, key, [](const Entry& entry) { return entry.key; });
}

const TensorInfo* File::find_tensor(std::string_view name) const {
  return find_by_name(tensors(), tensor_order_, name,
                      [](const TensorInfo& tensor) { return tensor.name; });
}

TensorView File::view(const TensorInfo& tensor) const {
  const auto bytes = maps_[tensor.file_index].bytes();
  return {tensor.dtype, tensor.shape,
          bytes.subspan(static_cast<size_t>(tensor.file_offset),
                        static_cast<size_t>(tensor.size_bytes))};
}

Result<std::optional<uint64_t>> File::get_uint(std::string_view key) const {
  return uint_of(find(key), paths_.front().string());
}

Result<std::optional<double>> File::get_float(std::string_view key) const {
  return float_of(find(key), paths_.front().string());
}

Result<std::optional<bool>> File::get_bool(std::string_view key) const {
  return bool_of(find(key), paths_.front().string());
}

Result<std::optional<std::string_view>> File::get_string(std::string_view key) const {
  return string_of(find(key), paths_.front().string());
}

Result<const Array*> File::get_array(std::string_view key) const {
  return array_of(find(key), paths_.front().string());
}

}  // namespace qualia::gguf
