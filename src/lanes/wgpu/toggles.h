// How the lane's kernels are tuned for a device, and what may be switched off.
// Thread-safety: values.
#pragma once

#include <cstdint>

#include "lanes/wgpu/adapter.h"

namespace qualia::lanes::wgpu {

struct Toggles {
  bool has_subgroups = false;
  bool ffn_fusion = true;  // gate/up products apply the activation
  uint32_t product_rows = 4;
  uint32_t product_unroll = 1;
  uint32_t product_threads = 32;
  // Few rows: products make their results ready for the next one (product_block.wgsl), attention
  // turns and stores its own row. Fewer, larger dispatches; 0 teams: never.
  uint32_t block_teams = 16;
  uint32_t block_outputs = 16;  // of a workgroup, 16 or 32; a multiple of the teams
  uint32_t block_unroll = 1;
  uint32_t attend_threads = 256;  // a multiple of 64, at least 128
  // Rows of x from which product_tile.wgsl is used; 0: never. Fewer go eight at a time, which reads
  // the weights again for each eight: an H200 is faster so up to 40 rows.
  uint32_t tile_from_rows = 41;

  // Measured on an H200 and on Mesa's software device (docs/bench): GPUs want many small
  // workgroups, a CPU few with many rows.
  static Toggles for_adapter(const AdapterFacts& facts) {
    Toggles toggles;
    toggles.has_subgroups = facts.features.subgroups;
    if (facts.kind == DeviceClass::cpu) {
      toggles.product_rows = 8;
      toggles.tile_from_rows = 9;
      toggles.block_teams = 0;
      toggles.attend_threads = 128;
    }
    const WGPULimits& limits = facts.limits;
    // product_block.wgsl: 13 buffers, TEAMS x 32 threads.
    if (limits.maxStorageBuffersPerShaderStage < 13) toggles.block_teams = 0;
    while (toggles.block_teams * 32 > limits.maxComputeInvocationsPerWorkgroup) {
      toggles.block_teams /= 2;
    }
    if (limits.maxComputeInvocationsPerWorkgroup < 256) toggles.attend_threads = 128;
    // product_tile.wgsl: 256 threads, 17.5 KiB of workgroup memory.
    if (limits.maxComputeInvocationsPerWorkgroup < 256 ||
        limits.maxComputeWorkgroupStorageSize < 18'000) {
      toggles.tile_from_rows = 0;
    }
    return toggles;
  }
};

}  // namespace qualia::lanes::wgpu
