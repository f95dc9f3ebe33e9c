// Memory of the host as this process may use it, and how fast it reads.
// Thread-safety: pure; reads the system each time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/thread_pool.h"

namespace qualia::hardware {

// Bytes that can still be allocated without swapping: what the kernel calls MemAvailable, what the
// cgroup has left and what RLIMIT_AS leaves, whichever is least. nullopt: the system doesn't say.
std::optional<uint64_t> available_memory_bytes();

// Bytes a cgroup folder still allows (memory.max or memory.limit_in_bytes minus what is used and
// can't be reclaimed); nullopt: no limit.
std::optional<uint64_t> read_memory_left(const std::filesystem::path& cgroup_folder);

// Bytes per second that `pool` reads from memory: the best of several passes over a buffer far
// larger than the caches (256 MiB; half a second or so).
double measure_read_bandwidth(ThreadPool& pool);

}  // namespace qualia::hardware
