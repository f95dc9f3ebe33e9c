// One opened GPU: buffers, kernels, bind groups, submissions, and what goes wrong on the way.
// Thread-safety: one owner, one thread at a time (wgpu-native 29 polls from one thread only).
// Errors: out_of_memory when the device has no room; device_lost once it is gone, from then on at
// every call; internal for a call that wgpu refuses, with its words. wgpu-native ends the process
// when a device is lost while it works; that case belongs to lanes/worker.
// Source: webgpu.h and wgpu.h of wgpu-native 29.0.1.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "lanes/wgpu/adapter.h"
#include "lanes/wgpu/shader_source.h"
#include "lanes/wgpu/wgpu_api.h"
#include "qualia/result.h"

namespace qualia::lanes::wgpu {

// Bytes of immediates that every kernel may read: eight 32-bit words.
inline constexpr uint32_t kImmediateWords = 8;

// A compute pipeline. `bindings`: 'r' read-only storage, 'w' storage, in order of @binding.
struct Kernel {
  ComputePipeline pipeline;
  WGPUBindGroupLayout layout = nullptr;  // the device's
  std::string bindings;
};

enum class BufferUse : uint32_t {
  storage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst,
  readback = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst,
  resolve = WGPUBufferUsage_QueryResolve | WGPUBufferUsage_CopySrc,
};

// A buffer, bound whole.
struct Binding {
  WGPUBuffer buffer = nullptr;
};

inline Binding whole(const Buffer& buffer) { return {buffer.get()}; }

// What callbacks of wgpu leave behind; they must not call it.
class ErrorLog {
 public:
  void add(WGPUErrorType type, std::string message);
  void lose(std::string message);
  bool is_lost() const;
  // The first error since the last call, or none. After a loss always that.
  Result<void> take();

 private:
  mutable std::mutex mutex_;
  std::string first_;
  bool has_error_ = false;
  bool is_memory_ = false;
  bool is_lost_ = false;
  std::string loss_;
};

// Of one mapping; set by wgpu's callback inside poll().
struct MapState {
  bool is_done = false;
  bool has_failed = false;
};

class Device {
 public:
  static Result<std::unique_ptr<Device>> open(std::shared_ptr<const Api> api, AdapterEntry entry);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Api& api() const { return *api_; }
  const AdapterFacts& facts() const { return facts_; }
  WGPUDevice raw() const { return device_.get(); }
  WGPUQueue queue() const { return queue_.get(); }
  ErrorLog& errors() { return *errors_; }
  // Of the timestamps of this device's queue; 0 without them.
  double timestamp_period_ns() const { return timestamp_period_ns_; }

  Result<Buffer> create_buffer(uint64_t size_bytes, BufferUse use) {
    return create(size_bytes, use, Mapping::later);
  }
  // A storage buffer that `fill` writes before the device sees it.
  template <typename Fill>
  Result<Buffer> create_filled(uint64_t size_bytes, const Fill& fill) {
    QUALIA_ASSIGN(Buffer buffer, create(size_bytes, BufferUse::storage, Mapping::at_creation));
    fill(static_cast<std::byte*>(api_->BufferGetMappedRange(buffer.get(), 0, WGPU_WHOLE_MAP_SIZE)));
    api_->BufferUnmap(buffer.get());
    return buffer;
  }
  void write(const Buffer& buffer, uint64_t offset, const void* data, size_t size_bytes);

  // Compiled once per name and constants. `bindings` as in Kernel.
  Result<const Kernel*> kernel(std::string_view shader, std::span<const ShaderConstant> constants,
                               std::string_view bindings);
  // A kernel of other text, under a name of its own.
  Result<const Kernel*> compile(const std::string& key, const std::string& source,
                                std::string_view bindings);
  Result<BindGroup> bind(const Kernel& kernel, std::span<const Binding> bindings);

  Result<QuerySet> create_timestamps(uint32_t count);

  // Maps a readback buffer once the work before is done. The callback shares the state, since a
  // lost device may call it whenever it likes.
  std::shared_ptr<const MapState> map(const Buffer& buffer, uint64_t size_bytes);
  // Runs callbacks; true: the queue is idle.
  bool poll();
  // Waits for `state`. Errors: device_lost; internal when the device stands still for `limit`.
  Result<void> wait(const MapState& state, std::chrono::seconds limit);

 private:
  explicit Device(std::shared_ptr<const Api> api) : api_(std::move(api)) {}
  enum class Mapping { later, at_creation };
  Result<Buffer> create(uint64_t size_bytes, BufferUse use, Mapping mapping);
  Result<WGPUBindGroupLayout> layout(std::string_view bindings);

  struct Layout {
    BindGroupLayout group;
    PipelineLayout pipeline;
  };

  std::shared_ptr<const Api> api_;
  std::unique_ptr<ErrorLog> errors_ = std::make_unique<ErrorLog>();
  AdapterFacts facts_;
  std::shared_ptr<Instance> instance_;
  Adapter adapter_;
  DeviceHandle device_;
  Queue queue_;
  double timestamp_period_ns_ = 0.0;
  std::map<std::string, Layout, std::less<>> layouts_;
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels_;
};

}  // namespace qualia::lanes::wgpu
