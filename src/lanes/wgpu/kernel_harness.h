// Runs single kernels on Mesa's software devices, for tests.
// Thread-safety: one owner.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanes/wgpu/commands.h"
#include "lanes/wgpu/device.h"

namespace qualia::lanes::wgpu {

// The software adapter through `backend`, for tests that change what it says of itself.
inline std::optional<AdapterEntry> software_adapter(const Api& api, Backend backend,
                                                    Checks checks = Checks::off) {
  for (AdapterEntry& entry : list_adapters(api, backend, checks)) {
    if (entry.facts.kind == DeviceClass::cpu) return std::move(entry);
  }
  return std::nullopt;
}

// The software device through `backend`; nullptr: not on this machine.
inline std::unique_ptr<Device> open_software_device(Backend backend, Checks checks = Checks::off) {
  const Result<std::shared_ptr<const Api>> api = load_api();
  if (!api) return nullptr;
  std::optional<AdapterEntry> entry = software_adapter(**api, backend, checks);
  if (!entry) return nullptr;
  Result<std::unique_ptr<Device>> device = Device::open(*api, std::move(*entry));
  EXPECT_TRUE(device.has_value()) << device.error().message;
  return device ? std::move(*device) : nullptr;
}

class KernelHarness {
 public:
  explicit KernelHarness(Device& device) : device_(device) {}

  template <typename T>
  Buffer upload(const std::vector<T>& values) {
    return device_
        .create_filled(
            values.size() * sizeof(T),
            [&](std::byte* to) { std::memcpy(to, values.data(), values.size() * sizeof(T)); })
        .value();
  }

  // Words that no kernel means to write.
  Buffer poisoned(size_t words) { return upload(std::vector<uint32_t>(words, 0x7FC0DEADU)); }

  template <typename T>
  std::vector<T> download(const Buffer& buffer, size_t count) {
    const uint64_t bytes = count * sizeof(T);
    const Buffer readback = device_.create_buffer(bytes, BufferUse::readback).value();
    const Api& api = device_.api();
    const CommandEncoder encoder(api, api.DeviceCreateCommandEncoder(device_.raw(), nullptr));
    api.CommandEncoderCopyBufferToBuffer(encoder.get(), buffer.get(), 0, readback.get(), 0, bytes);
    submit(encoder);
    const std::shared_ptr<const MapState> map = device_.map(readback, bytes);
    EXPECT_TRUE(device_.wait(*map, std::chrono::seconds(60)).has_value());
    std::vector<T> values(count);
    std::memcpy(values.data(), api.BufferGetConstMappedRange(readback.get(), 0, bytes), bytes);
    api.BufferUnmap(readback.get());
    return values;
  }

  struct Groups {
    uint32_t x = 1;
    uint32_t y = 1;
    uint32_t z = 1;
  };
  void run(std::string_view shader, const std::vector<ShaderConstant>& constants,
           std::string_view bindings, const std::vector<const Buffer*>& buffers,
           const std::vector<uint32_t>& immediates, Groups groups,
           const WGPUPassTimestampWrites* writes = nullptr,
           const std::function<void(WGPUCommandEncoder)>& after_pass = {}) {
    const Result<const Kernel*> kernel = device_.kernel(shader, constants, bindings);
    ASSERT_TRUE(kernel.has_value()) << kernel.error().message;
    run(**kernel, buffers, immediates, groups, writes, after_pass);
  }
  void run(const Kernel& kernel, const std::vector<const Buffer*>& buffers,
           const std::vector<uint32_t>& immediates, Groups groups,
           const WGPUPassTimestampWrites* writes = nullptr,
           const std::function<void(WGPUCommandEncoder)>& after_pass = {}) {
    std::vector<Binding> bound;
    for (const Buffer* buffer : buffers) bound.push_back(whole(*buffer));
    const Result<BindGroup> group = device_.bind(kernel, bound);
    ASSERT_TRUE(group.has_value()) << group.error().message;
    std::array<uint32_t, kImmediateWords> words{};
    std::copy(immediates.begin(), immediates.end(), words.begin());
    const Api& api = device_.api();
    const CommandEncoder encoder(api, api.DeviceCreateCommandEncoder(device_.raw(), nullptr));
    WGPUComputePassDescriptor descriptor = WGPU_COMPUTE_PASS_DESCRIPTOR_INIT;
    descriptor.timestampWrites = writes;
    ComputePass pass(api, api.CommandEncoderBeginComputePass(encoder.get(), &descriptor));
    api.ComputePassEncoderSetPipeline(pass.get(), kernel.pipeline.get());
    api.ComputePassEncoderSetBindGroup(pass.get(), 0, group->get(), 0, nullptr);
    api.ComputePassEncoderSetImmediates(pass.get(), 0, words.data(), sizeof(words));
    api.ComputePassEncoderDispatchWorkgroups(pass.get(), groups.x, groups.y, groups.z);
    api.ComputePassEncoderEnd(pass.get());
    pass.reset();
    if (after_pass) after_pass(encoder.get());
    submit(encoder);
  }

 private:
  void submit(const CommandEncoder& encoder) {
    const Api& api = device_.api();
    const CommandBuffer commands(api, api.CommandEncoderFinish(encoder.get(), nullptr));
    const Result<void> finished = device_.errors().take();
    ASSERT_TRUE(finished.has_value()) << finished.error().message;
    const WGPUCommandBuffer raw = commands.get();
    api.QueueSubmit(device_.queue(), 1, &raw);
  }

  Device& device_;
};

}  // namespace qualia::lanes::wgpu
