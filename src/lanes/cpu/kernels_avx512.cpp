// The kernels for AVX-512 (F, BW, DQ, VL, VNNI).
#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "lanes/cpu/kernel_variants.h"
#include "lanes/cpu/product_loops.h"
#include "lanes/cpu/target_region.h"
#include "tensor/float16.h"

QUALIA_TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")

namespace qualia::lanes::cpu {
namespace {

#include "lanes/cpu/simd_avx512_body.h"
// The bodies use Simd.
#include "lanes/cpu/kernels_body.h"

}  // namespace
}  // namespace qualia::lanes::cpu

QUALIA_TARGET_END

namespace qualia::lanes::cpu {

const Kernels& kernels_avx512() {
  static constexpr Kernels kKernels = make_kernels("avx512");
  return kKernels;
}

}  // namespace qualia::lanes::cpu

#endif
