// Collects the weights of a decoder: finds each tensor by name, checks its shape, records its place.
// Thread-safety: one owner.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "gguf/gguf_file.h"
#include "ops/weights.h"
#include "qualia/result.h"

namespace qualia::model {

class WeightReader {
 public:
  explicit WeightReader(const gguf::File& file) : file_(&file) {}

  // Errors: corrupt_file when the tensor is missing or its shape is not `dims`.
  Result<void> take(ops::WeightRole role, uint32_t layer, const std::string& name,
                    std::initializer_list<uint64_t> dims);
  bool has(const std::string& name) const { return file_->find_tensor(name) != nullptr; }

  ops::WeightMap finish() && { return std::move(weights_); }

 private:
  const gguf::File* file_;  // outlives this
  ops::WeightMap weights_;
};

}  // namespace qualia::model
