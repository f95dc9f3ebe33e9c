// GGUF files: bytes -> metadata and tensor directory. Knows no model.
// Thread-safety: immutable after open.
// Format: GGUF versions 2 and 3, little-endian (ggml's docs/gguf.md); split files are joined.
// A split model's metadata is its first file's. Tensors may stand in any order, with gaps, but
// apart. Another program that shortens a mapped file after open makes the next read of the lost
// bytes fatal (SIGBUS), as with every mapped file; FileMap::Mode::read copies the file first and is
// immune. Errors: corrupt_file, unsupported, not_found, io, out_of_memory; the message names the
// file and the field. Every size that comes from the file is checked before it is used, so a
// hostile file costs at most a small multiple of its own size in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/file_map.h"
#include "qualia/result.h"
#include "tensor/tensor_view.h"

namespace qualia::gguf {

enum class ValueType : uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};

// An array keeps its elements as the file has them; strings as views into the mapped file.
struct Array;
using Value =
    std::variant<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, float, bool,
                 std::string_view, std::shared_ptr<const Array>, uint64_t, int64_t, double>;

// shared_ptr above and here: a Value is copied freely while arrays stay single.
struct Array {
  ValueType type = ValueType::u8;
  // One alternative per ValueType, in the order of its numbers; bool as uint8_t 0 or 1.
  std::variant<std::vector<uint8_t>, std::vector<int8_t>, std::vector<uint16_t>,
               std::vector<int16_t>, std::vector<uint32_t>, std::vector<int32_t>,
               std::vector<float>, std::vector<std::string_view>,
               std::vector<std::shared_ptr<const Array>>, std::vector<uint64_t>,
               std::vector<int64_t>, std::vector<double>>
      items;
  size_t size() const;
};

struct Entry {
  std::string_view key;
  ValueType type;
  Value value;
};

struct TensorInfo {
  std::string_view name;
  DType dtype;
  Shape shape;
  uint32_t file_index = 0;   // which split file holds it
  uint64_t file_offset = 0;  // absolute, in that file
  uint64_t size_bytes = 0;
};

class File {
 public:
  // Opens `path`; of a split model, any of its files may be named and all are opened. A file that
  // holds no tensors (vocabulary only) is fine.
  static Result<File> open(const std::filesystem::path& path,
                           FileMap::Mode mode = FileMap::Mode::map_or_read);

  // The same on bytes in memory, which must outlive the File; no split files. `name` stands for the
  // path in paths() and in error sentences.
  static Result<File> parse(std::span<const std::byte> bytes, std::string_view name);

  uint32_t version() const { return version_; }
  const std::vector<std::filesystem::path>& paths() const { return paths_; }
  std::span<const Entry> entries() const { return entries_; }
  std::span<const TensorInfo> tensors() const { return tensors_; }
  const FileMap& map(uint32_t file_index) const { return maps_[file_index]; }

  const Entry* find(std::string_view key) const;               // nullptr: absent
  const TensorInfo* find_tensor(std::string_view name) const;  // nullptr: absent
  TensorView view(const TensorInfo& tensor) const;

  // Typed access. Integers convert between widths when the value fits; nullopt when the key is
  // absent; Errors: corrupt_file when the key has another kind of value or one out of range.
  Result<std::optional<uint64_t>> get_uint(std::string_view key) const;
  Result<std::optional<double>> get_float(std::string_view key) const;  // also from integers
  Result<std::optional<bool>> get_bool(std::string_view key) const;
  Result<std::optional<std::string_view>> get_string(std::string_view key) const;
  Result<const Array*> get_array(std::string_view key) const;  // nullptr: absent

 private:
  File() = default;
  friend class FileBuilder;

  uint32_t version_ = 0;
  std::vector<std::filesystem::path> paths_;
  std::vector<FileMap> maps_;
  std::vector<Entry> entries_;
  std::vector<TensorInfo> tensors_;
  // Indices sorted by name, for find().
  std::vector<uint32_t> entry_order_;
  std::vector<uint32_t> tensor_order_;
};

}  // namespace qualia::gguf
