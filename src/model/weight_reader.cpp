#include "model/weight_reader.h"

#include <algorithm>

#include "base/error.h"

namespace qualia::model {

Result<void> WeightReader::take(ops::WeightRole role, uint32_t layer, const std::string& name,
                                std::initializer_list<uint64_t> dims) {
  const gguf::TensorInfo* tensor = file_->find_tensor(name);
  if (!tensor) return corrupt_file("Tensor '{}' is missing.", name);
  Shape expected;
  expected.rank = static_cast<uint32_t>(dims.size());
  std::ranges::copy(dims, expected.dims.begin());
  // A trailing dimension of one may be spelled out or not.
  if (tensor->shape.dims != expected.dims)
    return corrupt_file("Tensor '{}' has shape {} ({} expected).", name, to_string(tensor->shape),
                        to_string(expected));
  weights_.set(role, layer,
               {.name = name,
                .file = file_->paths()[tensor->file_index],
                .file_offset = tensor->file_offset,
                .size_bytes = tensor->size_bytes,
                .dtype = tensor->dtype,
                .shape = tensor->shape});
  taken_.insert(tensor->name);
  return {};
}

std::optional<std::string_view> WeightReader::first_not_taken() const {
  for (const gguf::TensorInfo& tensor : file_->tensors())
    if (!taken_.contains(tensor.name)) return tensor.name;
  return std::nullopt;
}

}  // namespace qualia::model
