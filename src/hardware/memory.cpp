#include "hardware/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>
#include <string>

#include "hardware/cgroup.h"

namespace qualia::hardware {
namespace {

std::optional<uint64_t> read_number(const std::filesystem::path& path) {
  uint64_t value = 0;
  if (std::ifstream file(path); file >> value) return value;
  return std::nullopt;
}

// The value of "<key> <number>" or "<key>: <number> kB" in a file of such lines.
std::optional<uint64_t> read_field(const std::filesystem::path& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    uint64_t value = 0;
    if ((word == key || word == key + ":") && file >> value) return value;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

std::optional<uint64_t> address_space_left() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const auto used_kib = read_field("/proc/self/status", "VmSize");
  const uint64_t used = used_kib.value_or(0) * 1024;
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

// Page cache that the kernel gives back before it refuses an allocation.
uint64_t reclaimable_bytes(const std::filesystem::path& cgroup_folder) {
  const auto stat = cgroup_folder / "memory.stat";
  return read_field(stat, "inactive_file").value_or(0) +
         read_field(stat, "active_file").value_or(0);
}

uint64_t sum_words(const uint64_t* words, size_t count) {
  // A cache line a step into independent sums, asked for a page before: the processor's own
  // prefetch stops at 4-KiB pages, and kernels that look further ahead would seem to beat memory.
  constexpr size_t kAheadWords = 4096 / sizeof(uint64_t);
  uint64_t sums[8] = {};
  for (size_t i = 0; i + 8 <= count; i += 8) {
    __builtin_prefetch(words + i + kAheadWords);
    for (size_t j = 0; j < 8; ++j) sums[j] += words[i + j];
  }
  uint64_t total = 0;
  for (const uint64_t sum : sums) total += sum;
  return total;
}

}  // namespace

std::optional<uint64_t> read_memory_left(const std::filesystem::path& cgroup_folder) {
  auto limit = read_number(cgroup_folder / "memory.max");
  auto used = read_number(cgroup_folder / "memory.current");
  if (!limit) {
    limit = read_number(cgroup_folder / "memory.limit_in_bytes");
    used = read_number(cgroup_folder / "memory.usage_in_bytes");
  }
  // v1 says "no limit" by a number close to 2^63.
  if (!limit || *limit > (uint64_t{1} << 60)) return std::nullopt;
  const uint64_t in_use = used.value_or(0);
  const uint64_t held = in_use - std::min(in_use, reclaimable_bytes(cgroup_folder));
  return *limit > held ? *limit - held : 0;
}

std::optional<uint64_t> available_memory_bytes() {
  std::optional<uint64_t> least;
  const auto take = [&least](std::optional<uint64_t> bytes) {
    if (bytes && (!least || *bytes < *least)) least = bytes;
  };
  if (const auto kib = read_field("/proc/meminfo", "MemAvailable")) take(*kib * 1024);
  if (const auto folder = own_cgroup_folder("memory")) take(read_memory_left(*folder));
  take(address_space_left());
  return least;
}

double measure_read_bandwidth(ThreadPool& pool) {
  constexpr size_t kWords = (size_t{256} << 20) / sizeof(uint64_t);  // 256 MiB: no cache holds it
  constexpr size_t kGrain = (size_t{8} << 20) / sizeof(uint64_t);
  constexpr size_t kHugePageBytes = size_t{2} << 20;
  constexpr int kPasses = 10;
  const std::unique_ptr<uint64_t[], decltype(&std::free)> buffer(
      static_cast<uint64_t*>(std::aligned_alloc(kHugePageBytes, kWords * sizeof(uint64_t))),
      &std::free);
  if (!buffer) return 0;
#if defined(MADV_HUGEPAGE)
  static_cast<void>(madvise(buffer.get(), kWords * sizeof(uint64_t), MADV_HUGEPAGE));
#endif
  pool.parallel_for(kWords, kGrain, [&](size_t begin, size_t end) {
    std::fill(buffer.get() + begin, buffer.get() + end, begin);
  });
  double best = 0;
  std::atomic<uint64_t> sink{0};
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    pool.parallel_for(kWords, kGrain, [&](size_t begin, size_t end) {
      sink.fetch_add(sum_words(buffer.get() + begin, end - begin), std::memory_order_relaxed);
    });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (seconds.count() > 0)
      best = std::max(best, static_cast<double>(kWords * sizeof(uint64_t)) / seconds.count());
  }
  return best;
}

}  // namespace qualia::hardware
