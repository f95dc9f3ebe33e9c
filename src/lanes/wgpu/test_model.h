// The random decoder of lanes/test_model.h on the wgpu lane's software devices.
// Thread-safety: one owner.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lanes/test_model.h"
#include "lanes/wgpu/wgpu_lane.h"

namespace qualia::lanes::wgpu {

// The circuit of Mesa's software device through `backend`; nullopt: not on this machine.
inline std::optional<CircuitInfo> software_circuit(const Lane& lane, std::string_view backend) {
  for (const CircuitInfo& circuit : lane.circuits(1)) {
    const bool is_software = circuit.device.find("llvmpipe") != std::string::npos;
    if (circuit.backend == backend && is_software) return circuit;
  }
  return std::nullopt;
}

// A way to the software device: with the kernels of CPUs or of GPUs, with or without subgroups.
struct TestDevice {
  const char* name;
  const char* backend;
  bool no_subgroups;
  bool gpu_kernels;

  WgpuLaneOptions options() const {
    WgpuLaneOptions options;
    options.no_subgroups = no_subgroups;
    options.gpu_kernels = gpu_kernels;
    return options;
  }
};
inline constexpr TestDevice kVulkan{"Vulkan", "vulkan", false, false};
inline constexpr TestDevice kVulkanGpuKernels{"VulkanGpuKernels", "vulkan", false, true};
inline constexpr TestDevice kVulkanWithoutSubgroups{"VulkanWithoutSubgroups", "vulkan", true, true};
inline constexpr TestDevice kGl{"Gl", "gl", false, false};

template <const TestDevice& kDevice, Precision kPrecision, DType kDType = DType::f32>
class TestModelOf : public lanes::TestModel {
 public:
  explicit TestModelOf(const TestShape& shape = {})
      : lanes::TestModel(kDType == DType::f32 ? shape : whole_blocks(shape)) {
    matrix_dtype = kDType;
  }

  // As on the CPU lane.
  static constexpr float kTolerance = kPrecision == Precision::exact     ? 1e-6F
                                      : kPrecision == Precision::precise ? 1e-3F
                                                                         : 5e-3F;
  // Kernels go by the number of rows, and sum in orders of their own (row N04).
  static constexpr float kBatchTolerance = 1e-2F;
  static std::vector<uint32_t> odd_vocabularies() { return {50257}; }

  static std::optional<std::string> absent_reason() {
    if (software_circuit(*make_wgpu_lane(), kDevice.backend)) return std::nullopt;
    return std::string("no software device through ") + kDevice.backend;
  }

  std::unique_ptr<LaneModel> load(size_t thread_count = 1, uint32_t page_count = 16) {
    const std::unique_ptr<Lane> lane = make_wgpu_lane(kDevice.options());
    LoadOptions options;
    options.circuit = software_circuit(*lane, kDevice.backend).value();
    options.precision = kPrecision;
    options.thread_count = thread_count;
    return load_on(*lane, options, page_count);
  }
};

}  // namespace qualia::lanes::wgpu
