// All bodies of the kernels but matrix products, over a struct Simd that comes before. A file
// kernels_<variant>.cpp opens a target region and an anonymous namespace after its includes, then
// includes its simd_<variant>_body.h and this: so every variant has copies of its own, and none can
// take the place of another's at link time. Thread-safety: pure.
#pragma once

#include "lanes/cpu/row_kernels_body.h"
// Attention uses the exponential of the row kernels.
#include "lanes/cpu/attention_body.h"
#include "lanes/cpu/kv_store_body.h"

constexpr Kernels make_kernels(std::string_view name) {
  return {name, rms_norm, swiglu, residual_add, argmax, store_kv, attend, merge};
}
