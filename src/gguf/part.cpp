#include "gguf/part.h"

#include <utility>

#include "base/error.h"
#include "gguf/cursor.h"
#include "gguf/directory.h"

namespace qualia::gguf {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr uint64_t kHeaderBytes = 24;

struct Header {
  uint32_t version = 0;
  uint64_t tensor_count = 0;
  uint64_t key_count = 0;
};

Result<void> check_magic(std::span<const std::byte> bytes, std::string_view file_name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              std::min(bytes.size(), kMagic.size()));
  if (!kMagic.starts_with(text))
    return corrupt_file("'{}' starts with {}, not with 'GGUF'.", file_name, quoted(text));
  if (bytes.size() < kHeaderBytes)
    return corrupt_file("'{}' is too short for a GGUF header: {} bytes ({} at least).", file_name,
                        bytes.size(), kHeaderBytes);
  return {};
}

Result<void> check_version(uint32_t version, std::string_view file_name) {
  constexpr uint32_t kVersionMin = 2;
  constexpr uint32_t kVersionMax = 3;
  if (version >= kVersionMin && version <= kVersionMax) return {};
  // A small number with its bytes swapped has its low half empty.
  if (version != 0 && (version & 0xffffU) == 0)
    return unsupported("'{}' is a big-endian GGUF file (version {}); little-endian ones are read.",
                       file_name, __builtin_bswap32(version));
  return unsupported("'{}' has the GGUF version {} ({} and {} are read).", file_name, version,
                     kVersionMin, kVersionMax);
}

Result<Header> read_header(Cursor& cursor) {
  Header header;
  QUALIA_TRY(cursor.take(kMagic.size()));
  QUALIA_ASSIGN(header.version, cursor.read<uint32_t>());
  QUALIA_TRY(check_version(header.version, cursor.file_name()));
  QUALIA_ASSIGN(header.tensor_count, cursor.read<uint64_t>());
  QUALIA_ASSIGN(header.key_count, cursor.read<uint64_t>());
  return header;
}

}  // namespace

Result<Part> read_part(FileMap map, const std::string& file_name) {
  QUALIA_TRY(check_magic(map.bytes(), file_name));
  Cursor cursor(map.bytes(), file_name);
  QUALIA_ASSIGN(const Header header, read_header(cursor));
  Part part{std::move(map), header.version, {}, {}, {}};
  QUALIA_ASSIGN(part.metadata, read_metadata(cursor, header.key_count));
  QUALIA_ASSIGN(part.split, read_split_info(part.metadata, file_name));
  QUALIA_ASSIGN(const uint32_t alignment, read_alignment(part.metadata, file_name));
  QUALIA_ASSIGN(part.tensors, read_directory(cursor, header.tensor_count, alignment));
  return part;
}

}  // namespace qualia::gguf
