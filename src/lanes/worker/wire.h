// How values become the bytes of a message and back: each type says once which fields it carries,
// and the same code writes and reads them. Both ends are the same build on the same machine (see
// Hello), so numbers keep their memory's form.
// Thread-safety: one owner.
// Errors: a Reader never reads past its bytes; once a value is cut off or out of range, it gives
// zeros and is_whole() stays false.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace qualia::lanes::worker {

using Bytes = std::vector<std::byte>;

class Writer {
 public:
  static constexpr bool kWrites = true;

  void raw(const void* from, size_t size_bytes) {
    if (size_bytes == 0) return;
    const auto* const first = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), first, first + size_bytes);
  }
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

class Reader {
 public:
  static constexpr bool kWrites = false;

  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}

  void raw(void* into, size_t size_bytes) {
    if (size_bytes > left_.size()) return fail();
    if (size_bytes == 0) return;
    std::memcpy(into, left_.data(), size_bytes);
    left_ = left_.subspan(size_bytes);
  }
  void fail() {
    failed_ = true;
    left_ = {};
  }
  size_t left_bytes() const { return left_.size(); }
  // Every value was there, and nothing is left.
  bool is_whole() const { return !failed_ && left_.empty(); }

 private:
  std::span<const std::byte> left_;
  bool failed_ = false;
};

// What an archive does with a T: a Writer only looks at it.
template <typename Archive, typename T>
using Carried = std::conditional_t<Archive::kWrites, const T, T>;

template <typename T>
concept Number = std::is_arithmetic_v<T> && !std::is_same_v<std::remove_const_t<T>, bool>;

template <typename Archive, Number T>
void carry(Archive& archive, T& value) {
  archive.raw(&value, sizeof(value));
}

template <typename Archive, typename T>
requires std::is_same_v < std::remove_const_t<T>,
bool > void carry(Archive& archive, T& value) {
  uint8_t number = value ? 1 : 0;
  archive.raw(&number, sizeof(number));
  if constexpr (!Archive::kWrites) {
    if (number > 1) return archive.fail();
    value = number == 1;
  }
}

// The count of what follows, each at least `element_bytes` long: a damaged count can't ask for more
// elements than the message has bytes.
template <typename Archive>
size_t carry_count(Archive& archive, size_t count, size_t element_bytes) {
  uint64_t number = count;
  archive.raw(&number, sizeof(number));
  if constexpr (!Archive::kWrites) {
    if (number > archive.left_bytes() / element_bytes) {
      archive.fail();
      return 0;
    }
  }
  return static_cast<size_t>(number);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, std::string>& text) {
  const size_t count = carry_count(archive, text.size(), 1);
  if constexpr (!Archive::kWrites) text.resize(count);
  archive.raw(text.data(), count);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, std::filesystem::path>& path) {
  Carried<Archive, std::string> text = path.string();
  carry(archive, text);
  if constexpr (!Archive::kWrites) path = text;
}

template <typename T>
inline constexpr bool kIsRaw = std::is_arithmetic_v<T> || std::is_same_v<T, std::byte>;

template <typename Archive, typename T>
void carry_elements(Archive& archive, T& values) {
  using Value = typename std::remove_const_t<T>::value_type;
  const size_t count = carry_count(archive, values.size(), kIsRaw<Value> ? sizeof(Value) : 1);
  if constexpr (!Archive::kWrites) values.resize(count);
  if constexpr (kIsRaw<Value>) {
    archive.raw(values.data(), count * sizeof(Value));
  } else {
    for (auto& value : values) carry(archive, value);
  }
}

template <typename Archive, typename T>
void carry(Archive& archive, const std::vector<T>& values) requires(Archive::kWrites) {
  carry_elements(archive, values);
}
template <typename Archive, typename T>
void carry(Archive& archive, std::vector<T>& values) requires(!Archive::kWrites) {
  carry_elements(archive, values);
}

template <typename Archive, typename... Ts>
void carry_all(Archive& archive, Ts&... values) {
  (carry(archive, values), ...);
}

}  // namespace qualia::lanes::worker
