// AlignedMemory: zeroed bytes at a 64-byte boundary, on huge pages where they are large enough and
// the system allows it.
// Thread-safety: one owner; the bytes are as any memory.
// Pages are touched first by whoever writes them, so packing by the later reader places them near
// it. Errors: out_of_memory with the size.
#pragma once

#include <cstddef>
#include <utility>

#include "qualia/result.h"

namespace qualia::lanes::cpu {

class AlignedMemory {
 public:
  AlignedMemory() = default;
  static Result<AlignedMemory> allocate(size_t size_bytes);
  ~AlignedMemory() { release(); }
  AlignedMemory(AlignedMemory&& other) noexcept { swap(other); }
  AlignedMemory& operator=(AlignedMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  AlignedMemory(const AlignedMemory&) = delete;
  AlignedMemory& operator=(const AlignedMemory&) = delete;

  std::byte* data() const { return data_; }
  size_t size_bytes() const { return size_bytes_; }

 private:
  void swap(AlignedMemory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    std::swap(mapping_, other.mapping_);
    std::swap(mapping_bytes_, other.mapping_bytes_);
  }
  void release() noexcept;

  std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
  void* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
};

}  // namespace qualia::lanes::cpu
