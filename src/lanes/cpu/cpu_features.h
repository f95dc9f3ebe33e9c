// Instruction sets of this processor, found once at start, and the level the CPU lane runs at.
// Thread-safety: pure; detection reads CPUID (and XGETBV: a set counts only where the system saves
// its registers), and asks Linux to let this process use tiles.
// Levels rise: each is chosen where the processor and the mask allow all sets it is built on.
// Errors: invalid_argument names an unknown set and lists the known ones.
// Source: Intel SDM vol. 2A, CPUID leaves 1 and 7; AMD APM vol. 3, appendix E; Linux,
// Documentation/arch/x86/xstate.rst.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qualia/result.h"

namespace qualia::lanes::cpu {

// Instruction sets by the names that QUALIA_CPU_MASK takes.
struct CpuFeatures {
  bool avx2 = false;         // with FMA and F16C, which every AVX2 processor of Intel and AMD has
  bool avx_vnni = false;     // 256-bit vpdpbusd without AVX-512
  bool avx512 = false;       // F, BW, DQ and VL
  bool avx512_vnni = false;  // vpdpbusd on AVX-512
  bool amx = false;          // tiles with int8 and bf16, and GFNI, which every such processor has
  bool dotprod = false;      // AArch64: sdot and udot
  bool i8mm = false;         // AArch64: smmla

  friend bool operator==(const CpuFeatures&, const CpuFeatures&) = default;
};

// What kernels are compiled for, slowest first among those of a kind of processor.
enum class Isa : uint8_t { portable, avx2, avx_vnni, avx512, amx, dotprod, i8mm };

CpuFeatures detect_cpu_features();

// `features` without the sets that `mask` names ("avx512,amx"; spaces are allowed) and without
// those built on them: hiding avx2 leaves portable code. An empty mask hides nothing.
Result<CpuFeatures> hide_features(CpuFeatures features, std::string_view mask);

// The best level that `features` allow.
Isa best_isa(const CpuFeatures& features);

// Every level that `features` allow, portable first (tests and benchmarks run them all).
std::vector<Isa> allowed_isas(const CpuFeatures& features);

// "portable", "avx2", "avx2+vnni", "avx512+vnni", "avx512+vnni+amx", "neon+dotprod",
// "neon+dotprod+i8mm"
std::string_view isa_name(Isa isa);

// "avx2 avx_vnni avx512 avx512_vnni", or "none".
std::string describe(const CpuFeatures& features);

}  // namespace qualia::lanes::cpu
