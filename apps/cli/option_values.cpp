#include "option_values.h"

#include <fmt/core.h>

#include <charconv>
#include <system_error>

namespace qualia::cli {
namespace {

tl::unexpected<Error> wrong_value(std::string message) {
  return tl::unexpected(Error{ErrorCode::invalid_argument, std::move(message)});
}

// The whole text is one number.
template <typename T>
bool parse(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

}  // namespace

Result<uint64_t> read_whole(std::string_view text, uint64_t min, uint64_t max) {
  uint64_t value = 0;
  if (parse(text, value) && value >= min && value <= max) return value;
  return wrong_value(fmt::format("'{}' is no whole number from {} to {}.", text, min, max));
}

Result<double> read_real(std::string_view text, double min, double max) {
  double value = 0;
  if (parse(text, value) && value >= min && value <= max) return value;
  return wrong_value(fmt::format("'{}' is no number from {} to {}.", text, min, max));
}

Error unknown_word(std::string_view text, const std::string& allowed) {
  return {ErrorCode::invalid_argument, fmt::format("'{}' is unknown ({}).", text, allowed)};
}

}  // namespace qualia::cli
