// Arithmetic on sizes that come from a file: overflow is an error, never a wrap.
// Thread-safety: pure.
// Errors: nullopt on overflow; callers turn it into a sentence that names the field.
#pragma once

#include <concepts>
#include <optional>
#include <utility>

namespace qualia {

template <std::unsigned_integral T>
constexpr std::optional<T> checked_add(T a, T b) noexcept {
  T sum{};
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

template <std::unsigned_integral T>
constexpr std::optional<T> checked_mul(T a, T b) noexcept {
  T product{};
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// `value` rounded up to a multiple of `alignment` (> 0).
template <std::unsigned_integral T>
constexpr std::optional<T> checked_align(T value, T alignment) noexcept {
  const T remainder = value % alignment;
  if (remainder == 0) return value;
  return checked_add(value, static_cast<T>(alignment - remainder));
}

// Value conversion that refuses what the target type can't hold.
template <std::integral To, std::integral From>
constexpr std::optional<To> checked_cast(From value) noexcept {
  if (!std::in_range<To>(value)) return std::nullopt;
  return static_cast<To>(value);
}

}  // namespace qualia
