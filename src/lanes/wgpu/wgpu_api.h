// The functions of wgpu-native that the lane calls, found in its library at run time.
// Thread-safety: immutable once loaded; wgpu's own calls may come from any thread.
// Errors: not_found with the loader's words when the library is absent; unsupported for another
// version, since the C API changes between them.
// Source: webgpu.h and wgpu.h of wgpu-native 29.0.1.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <wgpu.h>
#include "qualia/result.h"

namespace qualia::lanes::wgpu {

#define QUALIA_WGPU_FUNCTIONS(X)          \
  X(AdapterGetInfo)                       \
  X(AdapterGetLimits)                     \
  X(AdapterHasFeature)                    \
  X(AdapterInfoFreeMembers)               \
  X(AdapterRelease)                       \
  X(AdapterRequestDevice)                 \
  X(BindGroupLayoutRelease)               \
  X(BindGroupRelease)                     \
  X(BufferGetMappedRange)                 \
  X(BufferGetConstMappedRange)            \
  X(BufferMapAsync)                       \
  X(BufferRelease)                        \
  X(BufferUnmap)                          \
  X(CommandBufferRelease)                 \
  X(CommandEncoderBeginComputePass)       \
  X(CommandEncoderCopyBufferToBuffer)     \
  X(CommandEncoderFinish)                 \
  X(CommandEncoderRelease)                \
  X(CommandEncoderResolveQuerySet)        \
  X(ComputePassEncoderDispatchWorkgroups) \
  X(ComputePassEncoderEnd)                \
  X(ComputePassEncoderRelease)            \
  X(ComputePassEncoderSetBindGroup)       \
  X(ComputePassEncoderSetImmediates)      \
  X(ComputePassEncoderSetPipeline)        \
  X(ComputePassEncoderWriteTimestamp)     \
  X(ComputePipelineRelease)               \
  X(CreateInstance)                       \
  X(DeviceCreateBindGroup)                \
  X(DeviceCreateBindGroupLayout)          \
  X(DeviceCreateBuffer)                   \
  X(DeviceCreateCommandEncoder)           \
  X(DeviceCreateComputePipeline)          \
  X(DeviceCreatePipelineLayout)           \
  X(DeviceCreateQuerySet)                 \
  X(DeviceCreateShaderModuleTrusted)      \
  X(DeviceGetQueue)                       \
  X(DevicePoll)                           \
  X(DeviceRelease)                        \
  X(GetVersion)                           \
  X(InstanceEnumerateAdapters)            \
  X(InstanceProcessEvents)                \
  X(InstanceRelease)                      \
  X(PipelineLayoutRelease)                \
  X(QuerySetRelease)                      \
  X(QueueGetTimestampPeriod)              \
  X(QueueRelease)                         \
  X(QueueSubmit)                          \
  X(QueueWriteBuffer)                     \
  X(SetLogCallback)                       \
  X(SetLogLevel)                          \
  X(ShaderModuleRelease)

struct Api {
#define QUALIA_WGPU_MEMBER(name) decltype(&::wgpu##name) name = nullptr;
  QUALIA_WGPU_FUNCTIONS(QUALIA_WGPU_MEMBER)
#undef QUALIA_WGPU_MEMBER
};

// The library stays open to the end of the process: its threads outlive any handle.
Result<std::shared_ptr<const Api>> load_api();

// Owns one wgpu object and releases it through the member of Api that its type has.
template <typename Raw, auto kRelease>
class Handle {
 public:
  Handle() = default;
  Handle(const Api& api, Raw raw) : api_(&api), raw_(raw) {}
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept : api_(other.api_), raw_(other.raw_) { other.raw_ = nullptr; }
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      api_ = other.api_;
      raw_ = other.raw_;
      other.raw_ = nullptr;
    }
    return *this;
  }
  Raw get() const { return raw_; }
  explicit operator bool() const { return raw_ != nullptr; }
  void reset() {
    if (raw_) (api_->*kRelease)(raw_);
    raw_ = nullptr;
  }

 private:
  const Api* api_ = nullptr;
  Raw raw_ = nullptr;
};

using Instance = Handle<WGPUInstance, &Api::InstanceRelease>;
using Adapter = Handle<WGPUAdapter, &Api::AdapterRelease>;
using DeviceHandle = Handle<WGPUDevice, &Api::DeviceRelease>;
using Queue = Handle<WGPUQueue, &Api::QueueRelease>;
using Buffer = Handle<WGPUBuffer, &Api::BufferRelease>;
using ShaderModule = Handle<WGPUShaderModule, &Api::ShaderModuleRelease>;
using ComputePipeline = Handle<WGPUComputePipeline, &Api::ComputePipelineRelease>;
using BindGroupLayout = Handle<WGPUBindGroupLayout, &Api::BindGroupLayoutRelease>;
using BindGroup = Handle<WGPUBindGroup, &Api::BindGroupRelease>;
using PipelineLayout = Handle<WGPUPipelineLayout, &Api::PipelineLayoutRelease>;
using QuerySet = Handle<WGPUQuerySet, &Api::QuerySetRelease>;
using CommandEncoder = Handle<WGPUCommandEncoder, &Api::CommandEncoderRelease>;
using CommandBuffer = Handle<WGPUCommandBuffer, &Api::CommandBufferRelease>;
using ComputePass = Handle<WGPUComputePassEncoder, &Api::ComputePassEncoderRelease>;

inline WGPUStringView view(std::string_view text) { return {text.data(), text.size()}; }
inline std::string text(const WGPUStringView& view) {
  if (!view.data) return {};
  return view.length == WGPU_STRLEN ? std::string(view.data) : std::string(view.data, view.length);
}

}  // namespace qualia::lanes::wgpu
