// Every product kernel: one line a variant. A line declares the function, and puts it into the
// dispatch table, the parity test and the benchmark.
// Thread-safety: the table is constant.
// X(format, activation form, instruction set). Formats of 16 and 32 bits and the wide ones have no
// INT8 form. Where a level has no line, find_product() takes the best level below.
#pragma once

#include <span>

#include "lanes/cpu/product.h"

#define QUALIA_INT8_PRODUCTS(X, isa) \
  X(q4, int8, isa)                   \
  X(q4_min, int8, isa)               \
  X(q8, int8, isa)                   \
  X(q8_min, int8, isa)               \
  X(q8_g16, int8, isa)               \
  X(q8_g16_min, int8, isa)

// Formats with one scale a block: with two, tiles multiply half as much between scalings, and
// AVX-512 is faster (measured, q8_g16: 159 GMAC/s against 152).
#define QUALIA_TILE_PRODUCTS(X, isa) \
  X(q4, int8, isa)                   \
  X(q4_min, int8, isa)               \
  X(q8, int8, isa)                   \
  X(q8_min, int8, isa)

#define QUALIA_F32_PRODUCTS(X, isa) \
  X(q4, f32, isa)                   \
  X(q4_min, f32, isa)               \
  X(q4_min_wide, f32, isa)          \
  X(q8, f32, isa)                   \
  X(q8_min, f32, isa)               \
  X(q8_min_wide, f32, isa)          \
  X(q8_g16, f32, isa)               \
  X(q8_g16_wide, f32, isa)          \
  X(q8_g16_min, f32, isa)           \
  X(q8_g16_min_wide, f32, isa)      \
  X(f16, f32, isa)                  \
  X(bf16, f32, isa)                 \
  X(f32, f32, isa)

#if defined(__x86_64__)
#define QUALIA_PRODUCTS_OF_THIS_MACHINE(X) \
  QUALIA_INT8_PRODUCTS(X, avx2)            \
  QUALIA_INT8_PRODUCTS(X, avx_vnni)        \
  QUALIA_INT8_PRODUCTS(X, avx512)          \
  QUALIA_TILE_PRODUCTS(X, amx)             \
  QUALIA_F32_PRODUCTS(X, avx2)             \
  QUALIA_F32_PRODUCTS(X, avx512)
#elif defined(__aarch64__)
#define QUALIA_PRODUCTS_OF_THIS_MACHINE(X) \
  QUALIA_INT8_PRODUCTS(X, dotprod)         \
  QUALIA_INT8_PRODUCTS(X, i8mm)
#else
#define QUALIA_PRODUCTS_OF_THIS_MACHINE(X)
#endif

#define QUALIA_PRODUCTS(X)          \
  QUALIA_INT8_PRODUCTS(X, portable) \
  QUALIA_F32_PRODUCTS(X, portable)  \
  QUALIA_PRODUCTS_OF_THIS_MACHINE(X)

namespace qualia::lanes::cpu {

#define QUALIA_PRODUCT(format, form, isa) \
  void product_##format##_##form##_##isa(const ProductArguments& arguments) noexcept;
QUALIA_PRODUCTS(QUALIA_PRODUCT)
#undef QUALIA_PRODUCT

// The whole list.
std::span<const ProductVariant> product_variants();

// The variant of the highest level at or below `isa`. REQUIRES: the form exists for the format.
ProductFunction find_product(PackedFormat format, ActivationForms form, Isa isa);

}  // namespace qualia::lanes::cpu
