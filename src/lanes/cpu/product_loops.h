// Helpers of the product kernels that hold no vector code. Included inside target regions, after
// everything else, so that they belong to the variant that uses them.
// Thread-safety: none needed.
#pragma once

// Loops over registers must be unrolled whole: an array indexed at run time would live in memory.
#if defined(__clang__)
#define QUALIA_UNROLL _Pragma("unroll")
#else
#define QUALIA_UNROLL _Pragma("GCC unroll 32")
#endif

// Kernels' parts must end up in one loop body, whatever their size.
#define QUALIA_INLINE [[gnu::always_inline]] inline

// Keeps a sum in its register here: g++ 12 otherwise regroups additions of whole numbers, holds all
// their inputs at once and spills (measured on AVX2: 97 -> 68 GMAC/s).
#if defined(__aarch64__)
#define QUALIA_PIN(vector) asm volatile("" : "+w"(vector))
#else
#define QUALIA_PIN(vector) asm volatile("" : "+v"(vector))
#endif

// What was stored before is loaded again after: compilers otherwise keep a block's unpacked codes
// in registers and spill them, instead of reading them where they were put.
#define QUALIA_RELOAD() asm volatile("" : : : "memory")

// Makes a pointer opaque: g++ 12 otherwise keeps one register, on the stack, for every address
// that is a constant away from it.
#define QUALIA_OPAQUE(pointer) asm volatile("" : "+r"(pointer))
