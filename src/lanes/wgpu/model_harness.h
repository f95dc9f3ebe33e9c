// Models on a software device whose adapter, functions and kernels a test may change first.
// Thread-safety: one owner.
#pragma once

#include <memory>
#include <optional>

#include "lanes/test_model.h"
#include "lanes/wgpu/kernel_harness.h"
#include "lanes/wgpu/weights_loader.h"
#include "lanes/wgpu/wgpu_model.h"

namespace qualia::lanes::wgpu {

// What a test opens. The kernels are those of GPUs, which compile faster than those of CPUs.
struct OpenSetup {
  std::shared_ptr<const Api> api;
  std::optional<AdapterEntry> adapter;  // nullopt: not on this machine
  WgpuModelOptions options{};
  uint64_t binding_bytes_max = 0;  // 0: the device's

  explicit OpenSetup(Backend backend = Backend::vulkan, Checks checks = Checks::off) {
    const Result<std::shared_ptr<const Api>> loaded = load_api();
    if (!loaded) return;
    api = *loaded;
    adapter = software_adapter(*api, backend, checks);
    if (!adapter) return;
    AdapterFacts facts = adapter->facts;
    facts.kind = DeviceClass::discrete;
    options.toggles = Toggles::for_adapter(facts);
    options.precision = Precision::exact;
    options.kv = KvType::f32;
  }
};

struct OpenModel {
  std::unique_ptr<WgpuModel> model;
  Device* device = nullptr;  // the model's
};

inline OpenModel open_model(lanes::TestModel& test, OpenSetup setup, uint32_t page_count = 4) {
  const uint64_t binding_max = setup.binding_bytes_max != 0
                                   ? setup.binding_bytes_max
                                   : setup.adapter->facts.limits.maxStorageBufferBindingSize;
  std::unique_ptr<Device> device = Device::open(setup.api, std::move(*setup.adapter)).value();
  LoadOptions load;
  load.precision = setup.options.precision;
  Weights weights = load_weights(*device, test.spec, test.write(), load, binding_max).value();
  OpenModel made;
  made.device = device.get();
  made.model =
      WgpuModel::create(std::move(device), test.spec, std::move(weights), setup.options).value();
  EXPECT_TRUE(made.model->reserve_pages(page_count).has_value());
  return made;
}

}  // namespace qualia::lanes::wgpu
