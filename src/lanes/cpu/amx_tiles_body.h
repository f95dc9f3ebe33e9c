// Tiles: AMX's eight registers of 16 rows x 64 bytes, as wrappers of its instructions. Included
// inside an anonymous namespace and a target region; amx_tiles_shim_body.h has the same in plain
// C++. Thread-safety: a thread has its own tiles, which configure() switches on and release() off:
// state that is on costs 8 KiB at every context switch. Inline assembly: g++ 12's own wrappers take
// no template argument as a register's number, and do not tell the compiler that they read and
// write memory. Source: Intel SDM vol. 1, chapter 18.
#pragma once

struct Tiles {
  // `config`: 64 bytes: palette 1, bytes a row of each tile at 16 (uint16), rows of each at 48.
  // All tiles become zero.
  QUALIA_INLINE void configure(const uint8_t* config) noexcept {
    asm volatile("ldtilecfg %0" : : "m"(*reinterpret_cast<const uint8_t(*)[64]>(config)));
  }
  QUALIA_INLINE void release() noexcept { asm volatile("tilerelease"); }

  template <int kTile>
  QUALIA_INLINE void zero() noexcept {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  // Row i of the tile from source + i * stride_bytes.
  template <int kTile>
  QUALIA_INLINE void load(const void* source, size_t stride_bytes) noexcept {
    asm volatile("tileloadd (%1,%2,1), %%tmm%c0"
                 :
                 : "i"(kTile), "r"(source), "r"(stride_bytes)
                 : "memory");
  }
  template <int kTile>
  QUALIA_INLINE void store(void* target, size_t stride_bytes) noexcept {
    asm volatile("tilestored %%tmm%c0, (%1,%2,1)"
                 :
                 : "i"(kTile), "r"(target), "r"(stride_bytes)
                 : "memory");
  }
  // sums[i][j] += a[i][4 p + q] * b[p][4 j + q] over all p and q < 4, both of signed bytes.
  template <int kSums, int kA, int kB>
  QUALIA_INLINE void multiply() noexcept {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kA), "i"(kB));
  }
};
