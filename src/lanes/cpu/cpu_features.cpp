#include "lanes/cpu/cpu_features.h"

#include <array>

#include "base/error.h"

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace qualia::lanes::cpu {
namespace {

struct NamedFeature {
  std::string_view name;
  bool CpuFeatures::*member;
};

constexpr std::array<NamedFeature, 7> kFeatures{{{"avx2", &CpuFeatures::avx2},
                                                 {"avx_vnni", &CpuFeatures::avx_vnni},
                                                 {"avx512", &CpuFeatures::avx512},
                                                 {"avx512_vnni", &CpuFeatures::avx512_vnni},
                                                 {"amx", &CpuFeatures::amx},
                                                 {"dotprod", &CpuFeatures::dotprod},
                                                 {"i8mm", &CpuFeatures::i8mm}}};

constexpr std::string_view kBlanks = " \t";

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// A set without the sets it is built on is of no use to the kernels.
CpuFeatures with_foundations(CpuFeatures features) {
  features.avx_vnni = features.avx_vnni && features.avx2;
  features.avx512 = features.avx512 && features.avx2;
  features.avx512_vnni = features.avx512_vnni && features.avx512;
  features.amx = features.amx && features.avx512;
  features.i8mm = features.i8mm && features.dotprod;
  return features;
}

#if defined(__x86_64__)

struct Registers {
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
};

// All zero where the processor lacks the leaf.
Registers cpuid(uint32_t leaf, uint32_t subleaf) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

// Which register files the operating system saves (XCR0).
uint64_t saved_state() {
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32U | low;
}

// Linux gives tiles, 8 KiB of state a thread, only to processes that ask; asking again is harmless.
bool may_use_tiles() {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

constexpr bool all_bits(uint64_t value, uint64_t bits) { return (value & bits) == bits; }
constexpr uint32_t bit(uint32_t index) { return uint32_t{1} << index; }

#endif

}  // namespace

#if defined(__x86_64__)

CpuFeatures detect_cpu_features() {
  constexpr uint32_t kOsxsave = bit(27);
  constexpr uint32_t kFmaAvxF16c = bit(12) | bit(28) | bit(29);
  constexpr uint64_t kYmmState = 0x6;
  constexpr uint64_t kZmmState = 0xE6;
  constexpr uint64_t kTileState = 0x60000;
  const Registers basic = cpuid(1, 0);
  if (!all_bits(basic.ecx, kOsxsave)) return {};
  const uint64_t saved = saved_state();
  const Registers extended = cpuid(7, 0);
  const Registers extended_1 = cpuid(7, 1);
  CpuFeatures features;
  features.avx2 = all_bits(saved, kYmmState) && all_bits(basic.ecx, kFmaAvxF16c) &&
                  all_bits(extended.ebx, bit(5));
  features.avx_vnni = all_bits(extended_1.eax, bit(4));
  features.avx512 =
      all_bits(saved, kZmmState) && all_bits(extended.ebx, bit(16) | bit(17) | bit(30) | bit(31));
  features.avx512_vnni = all_bits(extended.ecx, bit(11));
  features.amx = all_bits(saved, kTileState) &&
                 all_bits(extended.edx, bit(22) | bit(24) | bit(25)) &&
                 all_bits(extended.ecx, bit(8)) && may_use_tiles();
  return with_foundations(features);
}

#elif defined(__aarch64__) && defined(__linux__)

CpuFeatures detect_cpu_features() {
  CpuFeatures features;
  features.dotprod = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  features.i8mm = (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
  return with_foundations(features);
}

#else

CpuFeatures detect_cpu_features() { return {}; }

#endif

Result<CpuFeatures> hide_features(CpuFeatures features, std::string_view mask) {
  std::string_view rest = mask;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string_view name = trim(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    if (name.empty()) continue;
    bool known = false;
    for (const NamedFeature& feature : kFeatures) {
      if (feature.name != name) continue;
      features.*feature.member = false;
      known = true;
    }
    if (!known) {
      return invalid_argument(
          "The CPU mask names '{}' (known: avx2, avx_vnni, avx512, avx512_vnni, amx, dotprod, "
          "i8mm).",
          name);
    }
  }
  return with_foundations(features);
}

std::vector<Isa> allowed_isas(const CpuFeatures& features) {
  std::vector<Isa> isas{Isa::portable};
  if (features.avx2) isas.push_back(Isa::avx2);
  if (features.avx2 && features.avx_vnni) isas.push_back(Isa::avx_vnni);
  if (features.avx512 && features.avx512_vnni) isas.push_back(Isa::avx512);
  if (isas.back() == Isa::avx512 && features.amx) isas.push_back(Isa::amx);
  if (features.dotprod) isas.push_back(Isa::dotprod);
  if (features.dotprod && features.i8mm) isas.push_back(Isa::i8mm);
  return isas;
}

Isa best_isa(const CpuFeatures& features) { return allowed_isas(features).back(); }

std::string_view isa_name(Isa isa) {
  constexpr std::array<std::string_view, 7> kNames{
      "portable",        "avx2",         "avx2+vnni",        "avx512+vnni",
      "avx512+vnni+amx", "neon+dotprod", "neon+dotprod+i8mm"};
  return kNames[static_cast<size_t>(isa)];
}

std::string describe(const CpuFeatures& features) {
  std::string text;
  for (const NamedFeature& feature : kFeatures) {
    if (!(features.*feature.member)) continue;
    if (!text.empty()) text += ' ';
    text += feature.name;
  }
  return text.empty() ? "none" : text;
}

}  // namespace qualia::lanes::cpu
