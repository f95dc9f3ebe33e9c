// The portable GPU lane: one set of WGSL kernels on Vulkan, OpenGL, DX12 and Metal.
// Thread-safety: see lanes/lane.h. Adapters are listed when first asked for.
#pragma once

#include <memory>

#include "lanes/lane.h"

namespace qualia::lanes {

struct WgpuLaneOptions {
  bool ffn_fusion = true;
  // For tests: wgpu's validation, and the API's validation layers.
  bool validation = false;
  // For tests: no plane of a matrix is larger, whatever the device allows; 0: the device's limit.
  uint64_t binding_bytes_max = 0;
  // For tests: as on a device without subgroups.
  bool no_subgroups = false;
  // For tests: the large workgroups of GPUs on a software device too.
  bool gpu_kernels = false;
};

// A lane without circuits where wgpu-native is absent; the log says why when it is first asked for.
std::unique_ptr<Lane> make_wgpu_lane(const WgpuLaneOptions& options = {});

}  // namespace qualia::lanes
