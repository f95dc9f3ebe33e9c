// What a step asks of the GPU, as data, before it is encoded.
// Thread-safety: values.
#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "lanes/wgpu/device.h"
#include "profile/recorder.h"

namespace qualia::lanes::wgpu {

struct Dispatch {
  const Kernel* kernel = nullptr;
  WGPUBindGroup group = nullptr;
  std::array<uint32_t, kImmediateWords> immediates{};
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;
  uint32_t op = 0;  // of the model's recorder
  profile::Cost cost{};
};

struct Copy {
  WGPUBuffer from = nullptr;
  uint64_t from_offset = 0;
  WGPUBuffer to = nullptr;
  uint64_t to_offset = 0;
  uint64_t size_bytes = 0;
};

using Command = std::variant<Dispatch, Copy>;

}  // namespace qualia::lanes::wgpu
