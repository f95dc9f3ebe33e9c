// A reader that walks over a GGUF file's bytes and can't leave them.
// Thread-safety: one owner; the bytes must outlive it.
// Units: offsets and sizes in bytes; numbers are little-endian, as the file's.
// Errors: corrupt_file, with the file, the place (set by at()), the bytes needed and the bytes
// left.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "qualia/result.h"

namespace qualia::gguf {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

// Text from a file for an error sentence: quoted, at most 64 characters, other bytes than printable
// ASCII as \xNN, so that a hostile name can't drive the user's terminal.
std::string quoted(std::string_view text);

class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, std::string_view file_name)
      : bytes_(bytes), file_name_(file_name) {}

  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_.size() - offset_; }
  uint64_t size() const { return bytes_.size(); }
  std::string_view file_name() const { return file_name_; }

  // Says what is being read, for error sentences: ("Key", 3) until its name is known, then
  // ("Key", 3, name). Cheap: no text is made before an error happens.
  void at(std::string_view kind, uint64_t index = kNoIndex, std::string_view name = {});
  // "Key 3", "Key 'general.name'"
  std::string place() const;

  template <typename T>
  Result<T> read() {
    if (remaining() < sizeof(T)) return truncated(sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  Result<std::span<const std::byte>> take(uint64_t size_bytes);

  // A u64 length and that many bytes. `size_bytes_max` guards against lengths that only a damaged
  // or hostile file has.
  Result<std::string_view> read_string(uint64_t size_bytes_max);

  // Refuses a count of items of which each takes at least `item_bytes_min` (> 0) of the bytes left.
  Result<void> expect_room(uint64_t count, uint64_t item_bytes_min) const;

 private:
  static constexpr uint64_t kNoIndex = UINT64_MAX;

  tl::unexpected<Error> truncated(uint64_t needed_bytes) const;

  std::span<const std::byte> bytes_;
  std::string_view file_name_;
  size_t offset_ = 0;  // <= bytes_.size()
  std::string_view kind_ = "the header";
  uint64_t index_ = kNoIndex;
  std::string_view name_;
};

}  // namespace qualia::gguf
