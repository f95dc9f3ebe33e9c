// The variants of the CPU lane's kernels, best first, as a list: QUALIA_CPU_KERNELS(X) expands to
// X(variant, whether `features` allow it) for each. It feeds the choice at load, the parity tests
// and the benchmark. Thread-safety: pure.
#pragma once

#include <vector>

#include "lanes/cpu/cpu_features.h"
#include "lanes/cpu/kernels.h"

#if defined(__x86_64__)
#define QUALIA_CPU_KERNELS(X)                       \
  X(avx512, features.avx512&& features.avx512_vnni) \
  X(avx2, features.avx2)                            \
  X(portable, true)
#else
#define QUALIA_CPU_KERNELS(X) X(portable, true)
#endif

namespace qualia::lanes::cpu {

#define QUALIA_CPU_DECLARE_KERNELS(variant, allowed) const Kernels& kernels_##variant();
QUALIA_CPU_KERNELS(QUALIA_CPU_DECLARE_KERNELS)
#undef QUALIA_CPU_DECLARE_KERNELS

// Those that `features` allow, best first: never empty.
std::vector<const Kernels*> usable_kernels(const CpuFeatures& features);

}  // namespace qualia::lanes::cpu
