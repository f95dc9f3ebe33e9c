// Turning 32 activations into INT8: the variants by instruction set (see activations.h).
// Thread-safety: pure.
// Every variant gives the same bytes: scales are one division, sums are integers.
#pragma once

#include "lanes/cpu/activations.h"

namespace qualia::lanes::cpu {

using QuantizeFunction = void (*)(const float* values, ActivationBlock& block) noexcept;

// Below it, 127 / max overflows or values vanish in products anyway.
inline constexpr float kSmallestMaximum = 0x1p-100F;

QuantizeFunction find_quantize(Isa isa);

void quantize_activations_portable(const float* values, ActivationBlock& block) noexcept;
#if defined(__x86_64__)
void quantize_activations_avx2(const float* values, ActivationBlock& block) noexcept;
#endif

}  // namespace qualia::lanes::cpu
