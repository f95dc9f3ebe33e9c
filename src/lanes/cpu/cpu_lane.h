// The CPU lane: SIMD over all cores, weights repacked at load, INT8 activations and KV in fast
// precision (the default), f32 activations and f16 KV in precise, f32 throughout in exact.
// Thread-safety: see lanes/lane.h.
// The same text comes out whatever the number of threads: sums have a fixed order.
#pragma once

#include <memory>

#include "lanes/cpu/cpu_features.h"
#include "lanes/lane.h"

namespace qualia::lanes {

// `features`: what the kernels may use (cpu::detect_cpu_features, less what QUALIA_CPU_MASK hides).
std::unique_ptr<Lane> make_cpu_lane(const cpu::CpuFeatures& features);

}  // namespace qualia::lanes
