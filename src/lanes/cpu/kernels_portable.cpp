// The kernels in portable C++.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "lanes/cpu/kernel_variants.h"
#include "tensor/float16.h"

namespace qualia::lanes::cpu {
namespace {

#include "lanes/cpu/simd_portable_body.h"
// The bodies use Simd.
#include "lanes/cpu/kernels_body.h"

}  // namespace

const Kernels& kernels_portable() {
  static constexpr Kernels kKernels = make_kernels("portable");
  return kKernels;
}

}  // namespace qualia::lanes::cpu
