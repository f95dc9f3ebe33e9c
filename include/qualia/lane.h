// Lanes and circuits: the ways this build can execute a model, as values that users see.
// Thread-safety: values.
// A lane is one way to execute a model ("reference", "cpu", "wgpu", "cuda"); a circuit is a lane on
// a device through an API: the unit that is measured and chosen.
#pragma once

#include <cstdint>
#include <string>

namespace qualia {

// How exactly a lane computes. `exact` is float32 throughout, for checks.
enum class Precision { fast, precise, exact };

// How the KV cache is stored; `automatic` leaves the choice to the lane.
enum class KvType { automatic, int8, f16, f32 };

struct CircuitInfo {
  std::string lane;     // "reference"
  std::string device;   // "CPU, 2 threads"
  std::string backend;  // "scalar", "avx2", "vulkan", ...
  std::string label() const { return lane + " / " + device + " / " + backend; }
};

}  // namespace qualia
