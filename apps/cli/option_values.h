// Values of options as people write them: decimal whole numbers, decimal fractions, one of some
// words. Thread-safety: pure; independent of the locale. Errors: invalid_argument; "'x' is no whole
// number from 1 to 4096."
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "qualia/lane.h"
#include "qualia/result.h"

namespace qualia::cli {

// Words of --kv and --precision, read and printed.
inline constexpr std::array<std::pair<std::string_view, KvType>, 3> kKvTypes{
    {{"int8", KvType::int8}, {"f16", KvType::f16}, {"f32", KvType::f32}}};
inline constexpr std::array<std::pair<std::string_view, Precision>, 3> kPrecisions{
    {{"fast", Precision::fast}, {"precise", Precision::precise}, {"exact", Precision::exact}}};

// Decimal digits only: no sign, no 0x, and a leading zero does not make it octal.
Result<uint64_t> read_whole(std::string_view text, uint64_t min, uint64_t max);

// Infinity and NaN are no numbers here.
Result<double> read_real(std::string_view text, double min, double max);

Error unknown_word(std::string_view text, const std::string& allowed);

// The value that stands beside `text` in the table.
template <typename T, size_t kCount>
Result<T> read_word(std::string_view text,
                    const std::array<std::pair<std::string_view, T>, kCount>& table) {
  std::string allowed;
  for (const auto& [word, value] : table) {
    if (word == text) return value;
    allowed += (allowed.empty() ? "" : ", ") + std::string(word);
  }
  return tl::unexpected(unknown_word(text, allowed));
}

// The word that stands beside `value` in the table; empty where it has none.
template <typename T, size_t kCount>
std::string_view word_of(T value, const std::array<std::pair<std::string_view, T>, kCount>& table) {
  for (const auto& [word, listed] : table) {
    if (listed == value) return word;
  }
  return {};
}

}  // namespace qualia::cli
