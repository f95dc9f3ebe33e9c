// Loads a model's weights onto a device.
// Thread-safety: one owner.
// Memory: a staging ring of some matrices; source pages are given back as they are consumed.
// Errors: see lanes/weight_source.h; out_of_memory from the device.
#pragma once

#include "lanes/lane.h"
#include "lanes/wgpu/layers.h"

namespace qualia::lanes::wgpu {

Result<Weights> load_weights(Device& device, const ops::DecoderSpec& spec,
                             const ops::WeightMap& map, const LoadOptions& options,
                             uint64_t binding_bytes_max);

}  // namespace qualia::lanes::wgpu
