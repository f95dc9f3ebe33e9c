#include "lanes/cpu/kv_pages.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "hardware/memory.h"

namespace qualia::lanes::cpu {
namespace {

tl::unexpected<Error> no_room(uint32_t page_count, uint64_t page_bytes, uint64_t available_bytes) {
  return out_of_memory("{} more KV pages of {} bytes do not fit ({} bytes are available).",
                       page_count, page_bytes, available_bytes);
}

}  // namespace

KvPages::KvPages(const ops::DecoderSpec& spec, KvType type) {
  for (const ops::LayerSpec& layer : spec.layers) {
    const KvLayout layout(type, layer.attention.head_dim);
    layers_.push_back({layout, page_bytes_});
    page_bytes_ += layer.attention.kv_head_count * layout.head_bytes;
  }
}

Result<void> KvPages::reserve(uint32_t wanted_count) {
  if (wanted_count <= page_count()) return {};
  const uint32_t added = wanted_count - page_count();
  const std::optional<uint64_t> needed = checked_mul<uint64_t>(added, page_bytes());
  const std::optional<uint64_t> available = hardware::available_memory_bytes();
  if (!needed || (available && *needed > *available)) {
    return no_room(added, page_bytes(), available.value_or(0));
  }
  try {
    if (wanted_count > pages_.size() && !add_slab(wanted_count - pages_.size())) {
      return no_room(added, page_bytes(), available.value_or(0));
    }
  } catch (const std::bad_alloc&) {
    return no_room(added, page_bytes(), available.value_or(0));
  }
  page_count_ = wanted_count;
  return {};
}

// At least `page_count` more pages, and as many as fill some huge pages.
Result<void> KvPages::add_slab(size_t page_count) {
  constexpr size_t kSlabBytes = size_t{8} << 20;
  const size_t filled = std::max(page_count, kSlabBytes / page_bytes());
  pages_.reserve(pages_.size() + filled);
  slabs_.reserve(slabs_.size() + 1);
  QUALIA_ASSIGN(AlignedMemory slab, AlignedMemory::allocate(filled * page_bytes()));
  for (size_t i = 0; i < filled; ++i) pages_.push_back(slab.data() + i * page_bytes());
  slabs_.push_back(std::move(slab));
  return {};
}

void KvPages::copy(PageId from, PageId to) { std::memcpy(page(to), page(from), page_bytes()); }

}  // namespace qualia::lanes::cpu
