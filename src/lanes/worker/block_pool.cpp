#include "lanes/worker/block_pool.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace qualia::lanes::worker {

Result<BlockPool::Taken> BlockPool::take(uint64_t size_bytes) {
  Entry* free = nullptr;
  for (Entry& entry : entries_) {
    if (!entry.is_free) continue;
    free = &entry;
    if (entry.block.bytes().size() < size_bytes) continue;
    entry.is_free = false;
    return Taken{static_cast<uint32_t>(free - entries_.data()), false};
  }
  // The next power of two: batches that grow row by row replace few blocks. Pages that are never
  // written take no memory.
  QUALIA_ASSIGN(SharedBlock block, SharedBlock::create(std::bit_ceil(size_bytes)));
  if (!free)
    free = &entries_.emplace_back(Entry{std::move(block), false});
  else
    *free = {std::move(block), false};
  return Taken{static_cast<uint32_t>(free - entries_.data()), true};
}

}  // namespace qualia::lanes::worker
