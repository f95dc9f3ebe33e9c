// What the tests and benchmarks of packed matrices share besides lanes/test_weights.h.
// Thread-safety: values.
#pragma once

#include <vector>

#include "lanes/cpu/cpu_features.h"
#include "lanes/test_weights.h"

namespace qualia::lanes::cpu {

// Sanitizers look at every access: fewer sizes do, in a tenth of the time.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

// The levels that this machine can run.
inline std::vector<Isa> isas() { return allowed_isas(detect_cpu_features()); }

}  // namespace qualia::lanes::cpu
