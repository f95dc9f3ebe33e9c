// The KV pages of a model on the reference lane: one block of float32 per page, for all layers.
// Thread-safety: reserve and copy have one owner; distinct pages and positions may be written, and
// anything read, in parallel with each other.
// Layout of a page: per layer the keys, then the values, each [kv head][position][head_dim].
// Errors: out_of_memory with the needed and the available bytes; a failed reserve changes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lanes/lane.h"

namespace qualia::lanes::reference {

class KvPages {
 public:
  explicit KvPages(const ops::DecoderSpec& spec);

  uint64_t page_bytes() const { return page_floats_ * sizeof(float); }
  uint32_t page_count() const { return static_cast<uint32_t>(pages_.size()); }

  // The system backs a page with memory when it is first written.
  Result<void> reserve(uint32_t page_count);
  void copy(PageId from, PageId to);

  float* page(PageId id) { return pages_[id].get(); }

  // Floats from a page's start to position 0 of a kv head.
  size_t key_offset(size_t layer, size_t kv_head) const {
    return layers_[layer].keys + kv_head * kPagePositions * layers_[layer].head_dim;
  }
  size_t value_offset(size_t layer, size_t kv_head) const {
    return layers_[layer].values + kv_head * kPagePositions * layers_[layer].head_dim;
  }

 private:
  struct LayerPlace {
    size_t keys = 0;
    size_t values = 0;
    size_t head_dim = 0;
  };

  std::vector<LayerPlace> layers_;
  uint64_t page_floats_ = 0;
  std::vector<std::unique_ptr<float[]>> pages_;
};

}  // namespace qualia::lanes::reference
