#include "lanes/cpu/aligned_memory.h"

#include <sys/mman.h>

#include <cstdint>

#include "base/checked.h"
#include "base/error.h"

namespace qualia::lanes::cpu {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;  // of x86-64 and of 4-KiB-page AArch64

}  // namespace

Result<AlignedMemory> AlignedMemory::allocate(size_t size_bytes) {
  AlignedMemory memory;
  if (size_bytes == 0) return memory;
  const bool is_huge = size_bytes >= kHugePageBytes;
  const auto mapping_bytes = checked_add(size_bytes, is_huge ? kHugePageBytes : size_t{0});
  void* mapping = mapping_bytes ? mmap(nullptr, *mapping_bytes, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                : MAP_FAILED;
  if (mapping == MAP_FAILED) {
    return out_of_memory("The system refuses {} bytes for weights and activations.", size_bytes);
  }
  const auto address = reinterpret_cast<uintptr_t>(mapping);
  const uintptr_t skip = is_huge ? (kHugePageBytes - address % kHugePageBytes) % kHugePageBytes : 0;
  memory.mapping_ = mapping;
  memory.mapping_bytes_ = *mapping_bytes;
  memory.data_ = static_cast<std::byte*>(mapping) + skip;
  memory.size_bytes_ = size_bytes;
#if defined(MADV_HUGEPAGE)
  // Refused where the kernel has none: then 4-KiB pages serve.
  if (is_huge) static_cast<void>(madvise(memory.data_, size_bytes, MADV_HUGEPAGE));
#endif
  return memory;
}

void AlignedMemory::release() noexcept {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

}  // namespace qualia::lanes::cpu
