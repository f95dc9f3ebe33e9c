// A file's bytes, mapped read-only when the system allows it and read into memory otherwise.
// Thread-safety: immutable after open; share by const reference. The bytes live as long as the
// object. Errors: not_found, io; the message names the path.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "qualia/result.h"

namespace qualia {

class FileMap {
 public:
  enum class Mode { map_or_read, read };  // `read` forces the fallback (tests, odd file systems)

  static Result<FileMap> open(const std::filesystem::path& path, Mode mode = Mode::map_or_read);

  // Bytes that someone else owns and keeps alive (tests, fuzzing, a model inside another file).
  static FileMap borrow(std::span<const std::byte> bytes);

  FileMap(FileMap&& other) noexcept;
  FileMap& operator=(FileMap&& other) noexcept;
  FileMap(const FileMap&) = delete;
  FileMap& operator=(const FileMap&) = delete;
  ~FileMap();

  std::span<const std::byte> bytes() const { return bytes_; }
  bool is_mapped() const { return mapped_; }

  // Tells the system that a range was consumed, so that its pages need not stay resident. A hint:
  // the bytes can still be read. No effect on a file that was read into memory.
  void release(size_t offset, size_t size_bytes) const;

 private:
  FileMap() = default;
  void reset() noexcept;

  std::span<const std::byte> bytes_;
  std::unique_ptr<std::byte[]> owned_;
  bool mapped_ = false;
};

}  // namespace qualia
