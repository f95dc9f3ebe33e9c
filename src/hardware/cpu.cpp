#include "hardware/cpu.h"

#include <hwloc.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"
#include "hardware/cgroup.h"

namespace qualia::hardware {
namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, TopologyDeleter>;

Topology load_topology(const std::string* synthetic) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  if (synthetic && hwloc_topology_set_synthetic(raw, synthetic->c_str()) != 0) return nullptr;
  if (hwloc_topology_load(raw) != 0) return nullptr;
  return topology;
}

// Cores of the most efficient-in-performance kind: hwloc numbers kinds by rising performance.
size_t count_performance_cores(hwloc_topology_t topology, size_t physical) {
  const int kind_count = hwloc_cpukinds_get_nr(topology, 0);
  if (kind_count < 2) return physical;
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> kind(hwloc_bitmap_alloc(),
                                                                           &hwloc_bitmap_free);
  if (hwloc_cpukinds_get_info(topology, static_cast<unsigned>(kind_count - 1), kind.get(), nullptr,
                              nullptr, nullptr, 0) != 0)
    return physical;
  const int cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, kind.get(), HWLOC_OBJ_CORE);
  return cores > 0 ? static_cast<size_t>(cores) : physical;
}

CpuCount count(hwloc_topology_t topology) {
  const auto at_least_one = [](int value) { return static_cast<size_t>(std::max(value, 1)); };
  CpuCount cpus;
  // hwloc leaves out what the affinity mask of a restricted container forbids.
  cpus.logical = at_least_one(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU));
  cpus.physical = at_least_one(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE));
  cpus.performance = count_performance_cores(topology, cpus.physical);
  return cpus;
}

// `cpus` narrowed to the units in this process's affinity mask (taskset, cpuset).
void restrict_to_affinity(hwloc_topology_t topology) {
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> allowed(hwloc_bitmap_alloc(),
                                                                              &hwloc_bitmap_free);
  if (hwloc_get_cpubind(topology, allowed.get(), HWLOC_CPUBIND_PROCESS) != 0) return;
  if (hwloc_bitmap_iszero(allowed.get())) return;
  hwloc_topology_restrict(topology, allowed.get(), 0);
}

}  // namespace

CpuCount count_cpus() {
  CpuCount cpus;
  if (const Topology topology = load_topology(nullptr)) {
    restrict_to_affinity(topology.get());
    cpus = count(topology.get());
  } else {
    cpus.logical = std::max<size_t>(std::thread::hardware_concurrency(), 1);
    cpus.physical = cpus.performance = cpus.logical;
  }
  if (const auto folder = own_cgroup_folder("cpu")) cpus.quota = read_cpu_quota(*folder);
  return cpus;
}

Result<CpuCount> count_cpus_of(const std::string& synthetic_topology) {
  const Topology topology = load_topology(&synthetic_topology);
  if (!topology)
    return invalid_argument("'{}' is no topology that hwloc reads.", synthetic_topology);
  return count(topology.get());
}

size_t default_thread_count(const CpuCount& cpus) {
  size_t threads = cpus.physical;
  if (cpus.quota) {
    const double whole = std::max(1.0, std::floor(*cpus.quota));
    threads = std::min(threads, static_cast<size_t>(whole));
  }
  return std::max<size_t>(threads, 1);
}

std::optional<double> read_cpu_quota(const std::filesystem::path& cgroup_folder) {
  std::string quota;
  double period = 0;
  if (std::ifstream v2(cgroup_folder / "cpu.max"); v2 >> quota >> period) {
    if (quota == "max" || period <= 0) return std::nullopt;
    return std::strtod(quota.c_str(), nullptr) / period;
  }
  double quota_us = -1;
  if (std::ifstream v1(cgroup_folder / "cpu.cfs_quota_us"); !(v1 >> quota_us) || quota_us <= 0)
    return std::nullopt;
  if (std::ifstream v1(cgroup_folder / "cpu.cfs_period_us"); !(v1 >> period) || period <= 0)
    return std::nullopt;
  return quota_us / period;
}

}  // namespace qualia::hardware
