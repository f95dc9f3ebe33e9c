// The KV pages of a model on the CPU lane: a page holds its positions for all layers. Pages are
// taken from the system some megabytes at a time, so that huge pages can back them.
// Thread-safety: reserve and copy have one owner; distinct positions may be written, and anything
// read, in parallel with each other.
// Layout of a page: per layer, per kv head, what kv_layout.h describes.
// Errors: out_of_memory with the needed and the available bytes; a failed reserve changes nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "lanes/cpu/aligned_memory.h"
#include "lanes/cpu/kv_layout.h"
#include "lanes/lane.h"

namespace qualia::lanes::cpu {

class KvPages {
 public:
  KvPages(const ops::DecoderSpec& spec, KvType type);

  uint64_t page_bytes() const { return page_bytes_; }
  uint32_t page_count() const { return page_count_; }

  // The system backs a page with memory when it is first written.
  Result<void> reserve(uint32_t page_count);
  void copy(PageId from, PageId to);

  std::byte* page(PageId id) { return pages_[id]; }
  const KvLayout& layout(size_t layer) const { return layers_[layer].layout; }
  // Bytes from a page's start to a kv head.
  size_t head_offset(size_t layer, size_t kv_head) const {
    return layers_[layer].offset + kv_head * layers_[layer].layout.head_bytes;
  }

 private:
  struct LayerPlace {
    KvLayout layout;
    size_t offset;
  };

  std::vector<LayerPlace> layers_;
  uint64_t page_bytes_ = 0;
  Result<void> add_slab(size_t page_count);

  std::vector<AlignedMemory> slabs_;
  std::vector<std::byte*> pages_;  // in the slabs
  uint32_t page_count_ = 0;        // of them, reserved
};

}  // namespace qualia::lanes::cpu
