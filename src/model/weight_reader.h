// Collects the weights of a decoder: finds each tensor by name, checks its shape, records its
// place. Thread-safety: one owner.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>

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
  // A tensor of the file that no role was found for; nullopt: all have one.
  std::optional<std::string_view> first_not_taken() const;

  ops::WeightMap finish() && { return std::move(weights_); }

 private:
  const gguf::File* file_;  // outlives this
  ops::WeightMap weights_;
  std::set<std::string_view> taken_;  // names, as the file holds them
};

}  // namespace qualia::model
