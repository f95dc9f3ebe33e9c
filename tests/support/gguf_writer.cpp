#include "support/gguf_writer.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace qualia::test {
namespace {

uint64_t padding(uint64_t size, uint64_t alignment) {
  return (alignment - size % alignment) % alignment;
}

}  // namespace

GgufBytes& GgufBytes::raw(std::string_view bytes) {
  bytes_ += bytes;
  return *this;
}

GgufBytes& GgufBytes::string(std::string_view text) {
  return number<uint64_t>(text.size()).raw(text);
}

GgufWriter& GgufWriter::kv_string(std::string_view key, std::string_view value) {
  return kv_raw(key, 8, GgufBytes().string(value).str());
}

GgufWriter& GgufWriter::kv_strings(std::string_view key, std::span<const std::string> values) {
  GgufBytes bytes;
  bytes.number<uint32_t>(8).number<uint64_t>(values.size());
  for (const std::string& value : values) bytes.string(value);
  return kv_raw(key, 9, bytes.str());
}

GgufWriter& GgufWriter::kv_raw(std::string_view key, uint32_t type_id,
                               std::string_view value_bytes) {
  return pair_raw(GgufBytes().string(key).number(type_id).raw(value_bytes).str());
}

GgufWriter& GgufWriter::pair_raw(std::string_view bytes) {
  pairs_.emplace_back(bytes);
  return *this;
}

GgufWriter& GgufWriter::tensor(std::string_view name, std::vector<uint64_t> dims, uint32_t type_id,
                               std::string_view data) {
  tensor_entry(name, std::move(dims), type_id, data_.size());
  data_ += data;
  data_.append(padding(data_.size(), alignment_), '\0');
  return *this;
}

GgufWriter& GgufWriter::tensor_f32(std::string_view name, std::vector<uint64_t> dims, float value) {
  uint64_t count = 1;
  for (const uint64_t dim : dims) count *= dim;
  GgufBytes data;
  for (uint64_t i = 0; i < count; ++i) data.number(value);
  return tensor(name, std::move(dims), 0, data.str());
}

GgufWriter& GgufWriter::tensor_entry(std::string_view name, std::vector<uint64_t> dims,
                                     uint32_t type_id, uint64_t offset) {
  GgufBytes entry;
  entry.string(name).number(static_cast<uint32_t>(dims.size()));
  for (const uint64_t dim : dims) entry.number(dim);
  return tensor_raw(entry.number(type_id).number(offset).str());
}

GgufWriter& GgufWriter::tensor_raw(std::string_view bytes) {
  entries_.emplace_back(bytes);
  return *this;
}

GgufWriter& GgufWriter::magic(std::string_view magic) {
  magic_ = magic;
  return *this;
}

GgufWriter& GgufWriter::version(uint32_t version) {
  version_ = version;
  return *this;
}

GgufWriter& GgufWriter::tensor_count(uint64_t count) {
  tensor_count_ = count;
  return *this;
}

GgufWriter& GgufWriter::pair_count(uint64_t count) {
  pair_count_ = count;
  return *this;
}

GgufWriter& GgufWriter::alignment(uint64_t alignment) {
  alignment_ = alignment;
  return *this;
}

std::string GgufWriter::head() const {
  GgufBytes head;
  head.raw(magic_).number(version_);
  head.number<uint64_t>(tensor_count_.value_or(entries_.size()));
  head.number<uint64_t>(pair_count_.value_or(pairs_.size()));
  for (const std::string& pair : pairs_) head.raw(pair);
  for (const std::string& entry : entries_) head.raw(entry);
  return head.str();
}

std::string GgufWriter::bytes() const {
  std::string bytes = head();
  if (entries_.empty()) return bytes;
  bytes.append(padding(bytes.size(), alignment_), '\0');
  return bytes + data_;
}

uint64_t GgufWriter::data_offset() const {
  const uint64_t size = head().size();
  return size + padding(size, alignment_);
}

void GgufWriter::write(const std::filesystem::path& path) const { write_file(path, bytes()); }

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file) return;
  std::fprintf(stderr, "Writing '%s' fails.\n", path.c_str());
  std::abort();
}

}  // namespace qualia::test
