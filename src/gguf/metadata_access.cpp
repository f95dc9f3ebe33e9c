// Typed access to metadata values: which kinds and widths convert, and the sentences when they
// don't.
#include <concepts>
#include <type_traits>

#include "base/checked.h"
#include "base/error.h"
#include "gguf/metadata.h"

namespace qualia::gguf {
namespace {

template <typename T>
constexpr bool kIsInteger = std::integral<T> && !std::same_as<T, bool>;

tl::unexpected<Error> wrong_kind(const Entry& entry, std::string_view file_name,
                                 std::string_view expected) {
  return corrupt_file("Key {} of '{}' has the type {} ({} expected).", quoted(entry.key), file_name,
                      value_type_name(entry.type), expected);
}

}  // namespace

Result<std::optional<uint64_t>> uint_of(const Entry* entry, std::string_view file_name) {
  using Answer = Result<std::optional<uint64_t>>;
  if (entry == nullptr) return std::nullopt;
  return std::visit(
      [&](const auto& value) -> Answer {
        using T = std::decay_t<decltype(value)>;
        if constexpr (kIsInteger<T>) {
          const std::optional<uint64_t> converted = checked_cast<uint64_t>(value);
          if (!converted)
            return corrupt_file("Key {} of '{}' is {} (a count is at least 0).", quoted(entry->key),
                                file_name, value);
          return converted;
        } else {
          return wrong_kind(*entry, file_name, "an integer");
        }
      },
      entry->value);
}

Result<std::optional<double>> float_of(const Entry* entry, std::string_view file_name) {
  using Answer = Result<std::optional<double>>;
  if (entry == nullptr) return std::nullopt;
  return std::visit(
      [&](const auto& value) -> Answer {
        using T = std::decay_t<decltype(value)>;
        if constexpr (kIsInteger<T> || std::floating_point<T>)
          return static_cast<double>(value);
        else
          return wrong_kind(*entry, file_name, "a number");
      },
      entry->value);
}

Result<std::optional<bool>> bool_of(const Entry* entry, std::string_view file_name) {
  if (entry == nullptr) return std::nullopt;
  if (const bool* value = std::get_if<bool>(&entry->value)) return *value;
  return wrong_kind(*entry, file_name, "a bool");
}

Result<std::optional<std::string_view>> string_of(const Entry* entry, std::string_view file_name) {
  if (entry == nullptr) return std::nullopt;
  if (const auto* value = std::get_if<std::string_view>(&entry->value)) return *value;
  return wrong_kind(*entry, file_name, "a string");
}

Result<const Array*> array_of(const Entry* entry, std::string_view file_name) {
  if (entry == nullptr) return nullptr;
  if (const auto* value = std::get_if<std::shared_ptr<const Array>>(&entry->value))
    return value->get();
  return wrong_kind(*entry, file_name, "an array");
}

}  // namespace qualia::gguf
