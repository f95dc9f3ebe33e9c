#include "model/metadata.h"

#include <cmath>
#include <optional>

#include "base/error.h"

namespace qualia::model {
namespace {

Result<uint32_t> in_range(const std::string& key, uint64_t value, uint32_t min, uint32_t max) {
  if (value < min || value > max)
    return corrupt_file("Metadata '{}' is {} (allowed {} to {}).", key, value, min, max);
  return static_cast<uint32_t>(value);
}

Result<float> positive(const std::string& key, double value) {
  const auto narrow = static_cast<float>(value);
  // A normal one, so that its reciprocal is finite too.
  if (!std::isnormal(narrow) || narrow < 0)
    return corrupt_file("Metadata '{}' is {} (a number above 0 is needed).", key, value);
  return narrow;
}

}  // namespace

Result<uint32_t> Metadata::required(std::string_view name, uint32_t min, uint32_t max) const {
  QUALIA_ASSIGN(const std::optional<uint64_t> value, file_->get_uint(key(name)));
  if (!value) return corrupt_file("Metadata '{}' is missing.", key(name));
  return in_range(key(name), *value, min, max);
}

Result<uint32_t> Metadata::with_default(std::string_view name, uint32_t min, uint32_t max,
                                        uint32_t fallback) const {
  QUALIA_ASSIGN(const std::optional<uint64_t> value, file_->get_uint(key(name)));
  return in_range(key(name), value.value_or(fallback), min, max);
}

Result<float> Metadata::required_positive(std::string_view name) const {
  QUALIA_ASSIGN(const std::optional<double> value, file_->get_float(key(name)));
  if (!value) return corrupt_file("Metadata '{}' is missing.", key(name));
  return positive(key(name), *value);
}

Result<float> Metadata::positive_with_default(std::string_view name, float fallback) const {
  QUALIA_ASSIGN(const std::optional<double> value, file_->get_float(key(name)));
  return positive(key(name), value.value_or(static_cast<double>(fallback)));
}

}  // namespace qualia::model
