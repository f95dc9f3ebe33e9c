// Memory that the parent and its worker both see: where a step's logits go, so that no megabytes
// pass through the socket. The parent makes it, the worker opens it.
// Thread-safety: one owner at each end; the messages say whose turn it is.
// Errors: out_of_memory, io; the message has the size.
#pragma once

#include <cstdint>
#include <span>

#include "lanes/worker/file_descriptor.h"
#include "qualia/result.h"

namespace qualia::lanes::worker {

class SharedBlock {
 public:
  static Result<SharedBlock> create(uint64_t size_bytes);
  static Result<SharedBlock> open(FileDescriptor memory, uint64_t size_bytes);

  SharedBlock(SharedBlock&& other) noexcept;
  SharedBlock& operator=(SharedBlock&& other) noexcept;
  ~SharedBlock();

  std::span<std::byte> bytes() const { return bytes_; }
  int descriptor() const { return memory_.get(); }

 private:
  SharedBlock(FileDescriptor memory, std::span<std::byte> bytes)
      : memory_(std::move(memory)), bytes_(bytes) {}
  static Result<SharedBlock> map(FileDescriptor memory, uint64_t size_bytes);

  FileDescriptor memory_;
  std::span<std::byte> bytes_;
};

}  // namespace qualia::lanes::worker
