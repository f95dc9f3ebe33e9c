// INT8 products with NEON's dot-product instructions (Armv8.2 and later): sdot.
#include "lanes/cpu/product_loops.h"
#include "lanes/cpu/product_variants.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include <cstring>

#include "lanes/cpu/target_region.h"

QUALIA_TARGET_BEGIN("arch=armv8.2-a+dotprod")

namespace qualia::lanes::cpu {
namespace {

#include "lanes/cpu/product_int8_neon_body.h"

}  // namespace

#define QUALIA_PRODUCT(format, form, isa)                                              \
  void product_##format##_##form##_##isa(const ProductArguments& arguments) noexcept { \
    multiply<PackedFormat::format, VectorDots>(arguments);                             \
  }
QUALIA_INT8_PRODUCTS(QUALIA_PRODUCT, dotprod)
#undef QUALIA_PRODUCT

}  // namespace qualia::lanes::cpu

QUALIA_TARGET_END

#endif
