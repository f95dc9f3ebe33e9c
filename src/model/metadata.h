// Reading a model's hyper-parameters from GGUF metadata, with sentences that name the key.
// Thread-safety: pure.
// Errors: corrupt_file for a missing key, another type or a value out of range.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gguf/gguf_file.h"
#include "qualia/result.h"

namespace qualia::model {

// "<architecture>.<name>" keys of one file.
class Metadata {
 public:
  Metadata(const gguf::File& file, std::string_view architecture)
      : file_(&file), architecture_(architecture) {}

  std::string key(std::string_view name) const { return architecture_ + "." + std::string(name); }

  bool has(std::string_view name) const { return file_->find(key(name)) != nullptr; }

  // An integer in [min, max].
  Result<uint32_t> required(std::string_view name, uint32_t min, uint32_t max) const;
  Result<uint32_t> with_default(std::string_view name, uint32_t min, uint32_t max,
                                uint32_t fallback) const;
  // A number > 0; it and its reciprocal are finite.
  Result<float> required_positive(std::string_view name) const;
  Result<float> positive_with_default(std::string_view name, float fallback) const;

  const gguf::File& file() const { return *file_; }

 private:
  const gguf::File* file_;  // outlives this
  std::string architecture_;
};

}  // namespace qualia::model
