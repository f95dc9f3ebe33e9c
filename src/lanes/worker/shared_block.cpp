#include "lanes/worker/shared_block.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/error.h"

namespace qualia::lanes::worker {

Result<SharedBlock> SharedBlock::create(uint64_t size_bytes) {
  FileDescriptor memory(::memfd_create("qualia-outputs", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return io("Shared memory can't be made: {}.", std::strerror(errno));
  const auto size = checked_cast<off_t>(size_bytes);
  if (!size || ::ftruncate(memory.get(), *size) != 0) {
    return out_of_memory("Outputs of {} bytes do not fit in shared memory: {}.", size_bytes,
                         std::strerror(size ? errno : EFBIG));
  }
  // Neither end can cut it off under the other's hands.
  if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return io("Shared memory can't be sealed: {}.", std::strerror(errno));
  }
  return map(std::move(memory), size_bytes);
}

Result<SharedBlock> SharedBlock::open(FileDescriptor memory, uint64_t size_bytes) {
  struct stat status {};
  if (::fstat(memory.get(), &status) != 0 || std::cmp_less(status.st_size, size_bytes)) {
    return io("Shared memory has {} bytes ({} are needed).", status.st_size, size_bytes);
  }
  return map(std::move(memory), size_bytes);
}

Result<SharedBlock> SharedBlock::map(FileDescriptor memory, uint64_t size_bytes) {
  const auto size = static_cast<size_t>(size_bytes);
  void* const address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (address == MAP_FAILED) {
    return out_of_memory("Shared memory of {} bytes can't be mapped: {}.", size_bytes,
                         std::strerror(errno));
  }
  return SharedBlock(std::move(memory), {static_cast<std::byte*>(address), size});
}

SharedBlock::SharedBlock(SharedBlock&& other) noexcept
    : memory_(std::move(other.memory_)), bytes_(std::exchange(other.bytes_, {})) {}

SharedBlock& SharedBlock::operator=(SharedBlock&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedBlock::~SharedBlock() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace qualia::lanes::worker
