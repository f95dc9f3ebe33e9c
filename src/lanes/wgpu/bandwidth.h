// How fast a device reads its memory: the ceiling of decoding.
// Thread-safety: as Device.
// Source of the method: a sum over a buffer several times the largest cache, by the time between
// the timestamps of its pass, or by the host's clock where there are none.
// Errors: out_of_memory where the device has no room for the buffer.
#pragma once

#include "lanes/wgpu/device.h"

namespace qualia::lanes::wgpu {

// Bytes per second; the best of some runs, which is what the memory can give.
Result<double> measure_read_bandwidth(Device& device);

}  // namespace qualia::lanes::wgpu
