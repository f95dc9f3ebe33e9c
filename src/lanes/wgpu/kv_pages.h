// The KV pages of a model on the GPU: one buffer per layer, laid out as shaders/kv_page.wgsl says.
// Thread-safety: one owner.
// Errors: out_of_memory with what is needed and what the GPU allows; a failed reserve changes
// nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "lanes/lane.h"
#include "lanes/wgpu/device.h"

namespace qualia::lanes::wgpu {

// What of a layer's attention the kernels are compiled for.
struct KvShape {
  uint32_t head_dim = 0;
  uint32_t kv_heads = 0;
  uint32_t bits = 8;  // a value: 8, 16 or 32

  // Whole 16-byte vectors of the page.
  uint32_t padded_dim() const;
  uint32_t head_words() const;
  uint64_t page_bytes() const { return uint64_t{head_words()} * kv_heads * 4; }
};

class KvPages {
 public:
  KvPages(Device& device, const ops::DecoderSpec& spec, KvType kv);

  const KvShape& shape(size_t layer) const { return shapes_[layer]; }
  uint64_t page_bytes() const { return page_bytes_; }  // of all layers
  uint32_t page_count() const { return page_count_; }

  // True: buffers were replaced, and bindings to them are void.
  Result<bool> reserve(uint32_t wanted_count);
  Result<void> copy(PageId from, PageId to);
  const Buffer& buffer(size_t layer) const { return buffers_[layer]; }

 private:
  Result<std::vector<Buffer>> make_buffers(uint32_t capacity);

  Device& device_;
  std::vector<KvShape> shapes_;
  std::vector<Buffer> buffers_;
  uint64_t page_bytes_ = 0;
  uint32_t page_count_ = 0;
  uint32_t capacity_ = 0;
};

}  // namespace qualia::lanes::wgpu
