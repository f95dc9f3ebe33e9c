#include "lanes/wgpu/adapter.h"

#include <fmt/core.h>

#include <map>

namespace qualia::lanes::wgpu {
namespace {

WGPUInstanceBackend instance_backend(Backend backend) {
  switch (backend) {
    case Backend::vulkan:
      return WGPUInstanceBackend_Vulkan;
    case Backend::gl:
      return WGPUInstanceBackend_GL;
    case Backend::dx12:
      return WGPUInstanceBackend_DX12;
    case Backend::metal:
      return WGPUInstanceBackend_Metal;
  }
  return WGPUInstanceBackend_Vulkan;
}

DeviceClass device_class(WGPUAdapterType type) {
  switch (type) {
    case WGPUAdapterType_DiscreteGPU:
      return DeviceClass::discrete;
    case WGPUAdapterType_IntegratedGPU:
      return DeviceClass::integrated;
    case WGPUAdapterType_CPU:
      return DeviceClass::cpu;
    default:
      return DeviceClass::unknown;
  }
}

bool has(const Api& api, WGPUAdapter adapter, int feature) {
  return api.AdapterHasFeature(adapter, static_cast<WGPUFeatureName>(feature)) != 0;
}

// OpenGL says "unknown" of its software rasteriser.
bool is_software(const std::string& name) {
  return name.find("llvmpipe") != std::string::npos || name.find("softpipe") != std::string::npos ||
         name.find("SwiftShader") != std::string::npos;
}

AdapterFacts read_facts(const Api& api, WGPUAdapter adapter, Backend backend) {
  AdapterFacts facts;
  facts.backend = backend;
  WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
  if (api.AdapterGetInfo(adapter, &info) == WGPUStatus_Success) {
    facts.name = text(info.device);
    facts.driver = text(info.description);
    facts.kind = device_class(info.adapterType);
    facts.vendor_id = info.vendorID;
    facts.device_id = info.deviceID;
    api.AdapterInfoFreeMembers(info);
  }
  if (facts.name.empty()) facts.name = "unnamed GPU";
  if (is_software(facts.name)) facts.kind = DeviceClass::cpu;
  api.AdapterGetLimits(adapter, &facts.limits);
  AdapterFeatures& features = facts.features;
  features.timestamps = has(api, adapter, WGPUFeatureName_TimestampQuery);
  features.timestamps_inside_passes =
      features.timestamps && has(api, adapter, WGPUNativeFeature_TimestampQueryInsideEncoders) &&
      has(api, adapter, WGPUNativeFeature_TimestampQueryInsidePasses);
  features.f16 = has(api, adapter, WGPUFeatureName_ShaderF16);
  features.subgroups = has(api, adapter, WGPUNativeFeature_Subgroup);
  features.immediates = has(api, adapter, WGPUNativeFeature_Immediates);
  return facts;
}

}  // namespace

std::string_view to_string(Backend backend) {
  switch (backend) {
    case Backend::vulkan:
      return "vulkan";
    case Backend::gl:
      return "gl";
    case Backend::dx12:
      return "dx12";
    case Backend::metal:
      return "metal";
  }
  return "unknown";
}

std::string_view to_string(DeviceClass kind) {
  switch (kind) {
    case DeviceClass::discrete:
      return "discrete";
    case DeviceClass::integrated:
      return "integrated";
    case DeviceClass::cpu:
      return "cpu";
    case DeviceClass::unknown:
      return "unknown";
  }
  return "unknown";
}

std::string AdapterFacts::unusable_reason() const {
  // What the kernels need at least (product_tile.wgsl and attend.wgsl).
  constexpr uint32_t kInvocations = 128;
  constexpr uint32_t kStorageBuffers = 8;
  if (limits.maxComputeInvocationsPerWorkgroup == 0) return "it has no compute";
  if (limits.maxComputeInvocationsPerWorkgroup < kInvocations) {
    return fmt::format("it runs {} invocations a workgroup ({} are needed)",
                       limits.maxComputeInvocationsPerWorkgroup, kInvocations);
  }
  if (limits.maxStorageBuffersPerShaderStage < kStorageBuffers) {
    return fmt::format("it binds {} storage buffers ({} are needed)",
                       limits.maxStorageBuffersPerShaderStage, kStorageBuffers);
  }
  if (!features.immediates) return "it has no immediates";
  return {};
}

std::vector<AdapterEntry> list_adapters(const Api& api, Backend backend, Checks checks) {
  WGPUInstanceExtras extras{};
  extras.chain.sType = static_cast<WGPUSType>(WGPUSType_InstanceExtras);
  extras.backends = instance_backend(backend);
  extras.flags = checks == Checks::validation ? WGPUInstanceFlag_Debugging : 0;
  WGPUInstanceDescriptor descriptor = WGPU_INSTANCE_DESCRIPTOR_INIT;
  descriptor.nextInChain = &extras.chain;
  auto instance = std::make_shared<Instance>(api, api.CreateInstance(&descriptor));
  std::vector<AdapterEntry> entries;
  if (!*instance) return entries;
  WGPUInstanceEnumerateAdapterOptions options{};
  options.backends = extras.backends;
  const size_t count = api.InstanceEnumerateAdapters(instance->get(), &options, nullptr);
  std::vector<WGPUAdapter> raw(count);
  if (count > 0) api.InstanceEnumerateAdapters(instance->get(), &options, raw.data());
  for (WGPUAdapter adapter : raw) {
    entries.push_back({read_facts(api, adapter, backend), instance, Adapter(api, adapter)});
  }
  number_equal_names(entries);
  return entries;
}

void number_equal_names(std::vector<AdapterEntry>& entries) {
  std::map<std::string, int> seen;
  for (AdapterEntry& entry : entries) {
    const int number = ++seen[entry.facts.name];
    if (number > 1) entry.facts.name += fmt::format(" #{}", number);
  }
}

}  // namespace qualia::lanes::wgpu
