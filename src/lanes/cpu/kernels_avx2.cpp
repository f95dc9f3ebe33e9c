// The kernels for AVX2, FMA and F16C.
#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "lanes/cpu/kernel_variants.h"
#include "lanes/cpu/target_region.h"
#include "tensor/float16.h"

QUALIA_TARGET_BEGIN("avx2,fma,f16c")

namespace qualia::lanes::cpu {
namespace {

#include "lanes/cpu/simd_avx2_body.h"
// The bodies use Simd.
#include "lanes/cpu/kernels_body.h"

}  // namespace
}  // namespace qualia::lanes::cpu

QUALIA_TARGET_END

namespace qualia::lanes::cpu {

const Kernels& kernels_avx2() {
  static constexpr Kernels kKernels = make_kernels("avx2");
  return kKernels;
}

}  // namespace qualia::lanes::cpu

#endif
