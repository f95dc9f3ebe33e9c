// Writes GGUF bytes for tests: sound models in a few lines, and hostile ones by its escape hatches.
// Thread-safety: one owner.
// Format: ggml's docs/gguf.md, written little-endian as the host is. Nothing is checked: what a
// test says is what stands in the file. Errors: none; write() ends the test program when the disk
// refuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qualia::test {

// The bytes of numbers and strings, as a GGUF file has them.
class GgufBytes {
 public:
  template <typename T>
  GgufBytes& number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes_.append(raw, sizeof(T));
    return *this;
  }
  GgufBytes& raw(std::string_view bytes);
  GgufBytes& string(std::string_view text);  // u64 length, then the text
  const std::string& str() const { return bytes_; }

 private:
  std::string bytes_;
};

class GgufWriter {
 public:
  // One setter per value type; types as in gguf::ValueType.
  GgufWriter& kv_u8(std::string_view key, uint8_t value) { return scalar(key, 0, value); }
  GgufWriter& kv_i8(std::string_view key, int8_t value) { return scalar(key, 1, value); }
  GgufWriter& kv_u16(std::string_view key, uint16_t value) { return scalar(key, 2, value); }
  GgufWriter& kv_i16(std::string_view key, int16_t value) { return scalar(key, 3, value); }
  GgufWriter& kv_u32(std::string_view key, uint32_t value) { return scalar(key, 4, value); }
  GgufWriter& kv_i32(std::string_view key, int32_t value) { return scalar(key, 5, value); }
  GgufWriter& kv_f32(std::string_view key, float value) { return scalar(key, 6, value); }
  GgufWriter& kv_bool(std::string_view key, bool value) { return scalar(key, 7, value); }
  GgufWriter& kv_string(std::string_view key, std::string_view value);
  GgufWriter& kv_u64(std::string_view key, uint64_t value) { return scalar(key, 10, value); }
  GgufWriter& kv_i64(std::string_view key, int64_t value) { return scalar(key, 11, value); }
  GgufWriter& kv_f64(std::string_view key, double value) { return scalar(key, 12, value); }

  GgufWriter& kv_strings(std::string_view key, std::span<const std::string> values);
  GgufWriter& kv_u32s(std::string_view key, std::span<const uint32_t> v) { return many(key, 4, v); }
  GgufWriter& kv_i32s(std::string_view key, std::span<const int32_t> v) { return many(key, 5, v); }
  GgufWriter& kv_f32s(std::string_view key, std::span<const float> v) { return many(key, 6, v); }

  // Escape hatches: any type id with any value bytes; any bytes as one whole pair.
  GgufWriter& kv_raw(std::string_view key, uint32_t type_id, std::string_view value_bytes);
  GgufWriter& pair_raw(std::string_view bytes);

  // `data` is padded to the alignment and the offset derived from the tensors before.
  GgufWriter& tensor(std::string_view name, std::vector<uint64_t> dims, uint32_t type_id,
                     std::string_view data);
  // An f32 tensor filled with `value`.
  GgufWriter& tensor_f32(std::string_view name, std::vector<uint64_t> dims, float value);
  // A directory entry alone: its offset as given, no data.
  GgufWriter& tensor_entry(std::string_view name, std::vector<uint64_t> dims, uint32_t type_id,
                           uint64_t offset);
  // Any bytes as one whole directory entry.
  GgufWriter& tensor_raw(std::string_view bytes);

  // What the header says; unset, the truth.
  GgufWriter& magic(std::string_view magic);
  GgufWriter& version(uint32_t version);
  GgufWriter& tensor_count(uint64_t count);
  GgufWriter& pair_count(uint64_t count);
  // The alignment that data is written with; does not write general.alignment.
  GgufWriter& alignment(uint64_t alignment);

  std::string bytes() const;
  // Where the tensor data starts in bytes().
  uint64_t data_offset() const;
  void write(const std::filesystem::path& path) const;

 private:
  template <typename T>
  GgufWriter& scalar(std::string_view key, uint32_t type_id, T value) {
    return kv_raw(key, type_id, GgufBytes().number(value).str());
  }
  template <typename T>
  GgufWriter& many(std::string_view key, uint32_t type_id, std::span<const T> values) {
    GgufBytes bytes;
    bytes.number(type_id).number<uint64_t>(values.size());
    for (const T value : values) bytes.number(value);
    return kv_raw(key, 9, bytes.str());
  }
  std::string head() const;  // header, pairs and directory, without padding

  std::string magic_ = "GGUF";
  uint32_t version_ = 3;
  uint64_t alignment_ = 32;
  std::vector<std::string> pairs_;
  std::vector<std::string> entries_;
  std::string data_;
  std::optional<uint64_t> tensor_count_;
  std::optional<uint64_t> pair_count_;
};

std::span<const std::byte> as_bytes(std::string_view text);

// Writes any bytes to a file; ends the test program when the disk refuses.
void write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace qualia::test
