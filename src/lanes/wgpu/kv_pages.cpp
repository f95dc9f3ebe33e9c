#include "lanes/wgpu/kv_pages.h"

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "base/error.h"
#include "hardware/memory.h"

namespace qualia::lanes::wgpu {
namespace {

uint32_t bits_of(KvType kv) {
  switch (kv) {
    case KvType::int8:
      return 8;
    case KvType::f16:
      return 16;
    default:
      return 32;
  }
}

}  // namespace

uint32_t KvShape::padded_dim() const {
  const uint32_t per_vector = 128 / bits;
  return (head_dim + per_vector - 1) / per_vector * per_vector;
}

uint32_t KvShape::head_words() const {
  const uint32_t codes = 2 * kPagePositions * padded_dim() * bits / 32;
  return codes + (bits == 8 ? (head_dim + 31) / 32 * kPagePositions : 0);
}

KvPages::KvPages(Device& device, const ops::DecoderSpec& spec, KvType kv) : device_(device) {
  for (const ops::LayerSpec& layer : spec.layers) {
    shapes_.push_back({layer.attention.head_dim, layer.attention.kv_head_count, bits_of(kv)});
    page_bytes_ += shapes_.back().page_bytes();
  }
}

Result<std::vector<Buffer>> KvPages::make_buffers(uint32_t capacity) {
  std::vector<Buffer> buffers;
  for (const KvShape& shape : shapes_) {
    QUALIA_ASSIGN(Buffer buffer,
                  device_.create_buffer(shape.page_bytes() * capacity, BufferUse::storage));
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

Result<bool> KvPages::reserve(uint32_t wanted_count) {
  if (wanted_count <= capacity_) {
    page_count_ = std::max(page_count_, wanted_count);
    return false;
  }
  const uint64_t binding_max = device_.facts().limits.maxStorageBufferBindingSize;
  uint64_t largest = 0;
  for (const KvShape& shape : shapes_) largest = std::max(largest, shape.page_bytes());
  const uint64_t pages_max = binding_max / largest;
  const std::optional<uint64_t> needed = checked_mul<uint64_t>(wanted_count, page_bytes_);
  const bool is_host_memory = device_.facts().kind == DeviceClass::cpu;
  const std::optional<uint64_t> available =
      is_host_memory ? hardware::available_memory_bytes() : std::nullopt;
  if (wanted_count > pages_max || !needed || (available && *needed > *available)) {
    return out_of_memory("{} KV pages of {} bytes do not fit ({} bytes are available).",
                         wanted_count, page_bytes_, available.value_or(pages_max * page_bytes_));
  }
  // Half as much again, so that growing page by page copies little.
  const uint32_t capacity =
      static_cast<uint32_t>(std::min<uint64_t>(pages_max, uint64_t{wanted_count} + capacity_ / 2));
  Result<std::vector<Buffer>> made = make_buffers(capacity);
  if (!made && made.error().code != ErrorCode::out_of_memory) {
    return tl::unexpected<Error>(made.error());
  }
  if (!made) {
    return out_of_memory("{} KV pages of {} bytes do not fit on the GPU: {}", wanted_count,
                         page_bytes_, made.error().message);
  }
  if (page_count_ > 0) {
    const Api& api = device_.api();
    const CommandEncoder encoder(api, api.DeviceCreateCommandEncoder(device_.raw(), nullptr));
    for (size_t layer = 0; layer < shapes_.size(); ++layer) {
      api.CommandEncoderCopyBufferToBuffer(encoder.get(), buffers_[layer].get(), 0,
                                           (*made)[layer].get(), 0,
                                           shapes_[layer].page_bytes() * page_count_);
    }
    const CommandBuffer commands(api, api.CommandEncoderFinish(encoder.get(), nullptr));
    QUALIA_TRY(device_.errors().take());
    const WGPUCommandBuffer raw = commands.get();
    api.QueueSubmit(device_.queue(), 1, &raw);
  }
  buffers_ = std::move(*made);
  capacity_ = capacity;
  page_count_ = wanted_count;
  return true;
}

Result<void> KvPages::copy(PageId from, PageId to) {
  const Api& api = device_.api();
  const CommandEncoder encoder(api, api.DeviceCreateCommandEncoder(device_.raw(), nullptr));
  for (size_t layer = 0; layer < shapes_.size(); ++layer) {
    // wgpu refuses a copy within one buffer.
    const uint64_t bytes = shapes_[layer].page_bytes();
    QUALIA_ASSIGN(const Buffer between, device_.create_buffer(bytes, BufferUse::storage));
    api.CommandEncoderCopyBufferToBuffer(encoder.get(), buffers_[layer].get(), from * bytes,
                                         between.get(), 0, bytes);
    api.CommandEncoderCopyBufferToBuffer(encoder.get(), between.get(), 0, buffers_[layer].get(),
                                         to * bytes, bytes);
  }
  const CommandBuffer commands(api, api.CommandEncoderFinish(encoder.get(), nullptr));
  QUALIA_TRY(device_.errors().take());
  const WGPUCommandBuffer raw = commands.get();
  api.QueueSubmit(device_.queue(), 1, &raw);
  return device_.errors().take();
}

}  // namespace qualia::lanes::wgpu
