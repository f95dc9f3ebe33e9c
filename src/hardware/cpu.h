// The host's processors as this process may use them.
// Thread-safety: pure; reads the system each time.
// Source: hwloc for cores and their kinds, the process's affinity mask, cgroup v1/v2 CPU quota.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "qualia/result.h"

namespace qualia::hardware {

struct CpuCount {
  size_t logical = 1;      // processing units this process may run on
  size_t physical = 1;     // cores among them
  size_t performance = 1;  // physical cores of the fastest kind; = physical when there is one kind
  std::optional<double> quota;  // CPUs' worth of time that the cgroup allows; unset: no limit
};

// Never fails: a host hwloc can't read counts as std::thread::hardware_concurrency cores.
CpuCount count_cpus();

// The same for a synthetic hwloc topology such as "core:8 pu:2" (tests). Errors: invalid_argument.
Result<CpuCount> count_cpus_of(const std::string& synthetic_topology);

// Threads for a compute lane: one per physical core, no more than the quota, at least one.
size_t default_thread_count(const CpuCount& cpus);

// CPUs' worth of time in a cgroup folder's cpu.max (v2) or cpu.cfs_quota_us (v1); unset: no limit.
std::optional<double> read_cpu_quota(const std::filesystem::path& cgroup_folder);

}  // namespace qualia::hardware
