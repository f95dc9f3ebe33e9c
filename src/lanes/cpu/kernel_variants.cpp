#include "lanes/cpu/kernel_variants.h"

namespace qualia::lanes::cpu {

std::vector<const Kernels*> usable_kernels(const CpuFeatures& features) {
  std::vector<const Kernels*> usable;
#define QUALIA_CPU_ADD_KERNELS(variant, allowed) \
  if (allowed) usable.push_back(&kernels_##variant());
  QUALIA_CPU_KERNELS(QUALIA_CPU_ADD_KERNELS)
#undef QUALIA_CPU_ADD_KERNELS
  return usable;
}

}  // namespace qualia::lanes::cpu
