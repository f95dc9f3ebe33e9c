// How many prompt rows the reference lane takes at a time: about a quarter of a second's work.
// Thread-safety: pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lanes/reference/weights.h"

namespace qualia::lanes::reference {

uint32_t batch_rows(const Weights& weights, size_t thread_count);

}  // namespace qualia::lanes::reference
