#include "lanes/cpu/kv_pages.h"

#include <cstring>
#include <new>
#include <optional>

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
  const size_t kept = pages_.size();
  const auto give_back = [&] {
    pages_.erase(pages_.begin() + static_cast<ptrdiff_t>(kept), pages_.end());
  };
  try {
    pages_.reserve(wanted_count);
    while (pages_.size() < wanted_count) {
      Result<AlignedMemory> page = AlignedMemory::allocate(page_bytes());
      if (!page) {
        give_back();
        return no_room(added, page_bytes(), available.value_or(0));
      }
      pages_.push_back(std::move(*page));
    }
  } catch (const std::bad_alloc&) {
    give_back();
    return no_room(added, page_bytes(), available.value_or(0));
  }
  return {};
}

void KvPages::copy(PageId from, PageId to) { std::memcpy(page(to), page(from), page_bytes()); }

}  // namespace qualia::lanes::cpu
