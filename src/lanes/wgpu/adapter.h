// The GPUs that wgpu-native shows, one entry per adapter and API.
// Thread-safety: list_adapters() may be called from any thread; an AdapterEntry has one owner.
// Errors: none; an API without adapters gives an empty list.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lanes/wgpu/wgpu_api.h"

namespace qualia::lanes::wgpu {

enum class Backend { vulkan, gl, dx12, metal };
enum class DeviceClass { discrete, integrated, cpu, unknown };

std::string_view to_string(Backend backend);
std::string_view to_string(DeviceClass kind);

struct AdapterFeatures {
  bool timestamps = false;
  bool timestamps_inside_passes = false;
  bool f16 = false;
  bool subgroups = false;
  bool immediates = false;
};

struct AdapterFacts {
  Backend backend = Backend::vulkan;
  DeviceClass kind = DeviceClass::unknown;
  std::string name{};    // "NVIDIA H200"; equal cards get " #2", " #3", ...
  std::string driver{};  // as the driver describes itself
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;
  AdapterFeatures features{};
  WGPULimits limits = WGPU_LIMITS_INIT;

  // Why no model can run on it, or empty: adapters of old OpenGL versions offer no compute.
  std::string unusable_reason() const;
};

struct AdapterEntry {
  AdapterFacts facts;
  std::shared_ptr<Instance> instance;  // of its backend; outlives the adapter
  Adapter adapter;
};

// What `validation` (for tests) adds: wgpu's own checks and the API's validation layers.
enum class Checks { off, validation };

std::vector<AdapterEntry> list_adapters(const Api& api, Backend backend, Checks checks);

// Gives equal names numbers, in order.
void number_equal_names(std::vector<AdapterEntry>& entries);

}  // namespace qualia::lanes::wgpu
