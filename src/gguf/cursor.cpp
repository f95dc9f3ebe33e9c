#include "gguf/cursor.h"

#include <fmt/format.h>

#include <iterator>

#include "base/error.h"

namespace qualia::gguf {

std::string quoted(std::string_view text) {
  constexpr size_t kShownMax = 64;  // an error stays one line on a terminal
  std::string out = "'";
  for (const char letter : text.substr(0, kShownMax)) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte >= 0x20 && byte < 0x7f)
      out += letter;
    else
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
  }
  if (text.size() > kShownMax) out += "...";
  return out + "'";
}

void Cursor::at(std::string_view kind, uint64_t index, std::string_view name) {
  kind_ = kind;
  index_ = index;
  name_ = name;
}

std::string Cursor::place() const {
  if (!name_.empty()) return fmt::format("{} {}", kind_, quoted(name_));
  return index_ == kNoIndex ? std::string(kind_) : fmt::format("{} {}", kind_, index_);
}

Result<std::span<const std::byte>> Cursor::take(uint64_t size_bytes) {
  if (remaining() < size_bytes) return truncated(size_bytes);
  const auto taken = bytes_.subspan(offset_, static_cast<size_t>(size_bytes));
  offset_ += static_cast<size_t>(size_bytes);
  return taken;
}

Result<std::string_view> Cursor::read_string(uint64_t size_bytes_max) {
  QUALIA_ASSIGN(const uint64_t size_bytes, read<uint64_t>());
  if (size_bytes > size_bytes_max)
    return corrupt_file("A string in {} of '{}' claims {} bytes (at most {}).", place(), file_name_,
                        size_bytes, size_bytes_max);
  QUALIA_ASSIGN(const auto taken, take(size_bytes));
  return std::string_view(reinterpret_cast<const char*>(taken.data()), taken.size());
}

Result<void> Cursor::expect_room(uint64_t count, uint64_t item_bytes_min) const {
  if (count <= remaining() / item_bytes_min) return {};
  return corrupt_file("'{}' claims {} items in {}, of at least {} bytes each ({} bytes are left).",
                      file_name_, count, place(), item_bytes_min, remaining());
}

tl::unexpected<Error> Cursor::truncated(uint64_t needed_bytes) const {
  return corrupt_file("'{}' is truncated: {} needs {} bytes at offset {} (file has {}).",
                      file_name_, place(), needed_bytes, offset_, size());
}

}  // namespace qualia::gguf
