#include "lanes/reference/kv_pages.h"

#include <cstring>
#include <new>
#include <optional>

#include "base/checked.h"
#include "base/error.h"
#include "hardware/memory.h"

namespace qualia::lanes::reference {
namespace {

tl::unexpected<Error> no_room(uint32_t page_count, uint64_t page_bytes, uint64_t available_bytes) {
  return out_of_memory("{} more KV pages of {} bytes do not fit ({} bytes are available).",
                       page_count, page_bytes, available_bytes);
}

}  // namespace

KvPages::KvPages(const ops::DecoderSpec& spec) {
  for (const ops::LayerSpec& layer : spec.layers) {
    const ops::AttentionSpec& attention = layer.attention;
    const size_t floats = size_t{attention.kv_head_count} * kPagePositions * attention.head_dim;
    layers_.push_back({page_floats_, page_floats_ + floats, attention.head_dim});
    page_floats_ += 2 * floats;
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
  try {
    pages_.reserve(wanted_count);
    while (pages_.size() < wanted_count) {
      pages_.push_back(std::unique_ptr<float[]>(new float[page_floats_]));
    }
  } catch (const std::bad_alloc&) {
    pages_.resize(kept);
    return no_room(added, page_bytes(), available.value_or(0));
  }
  return {};
}

void KvPages::copy(PageId from, PageId to) { std::memcpy(page(to), page(from), page_bytes()); }

}  // namespace qualia::lanes::reference
