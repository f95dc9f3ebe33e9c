// Finding this process's control group.
// Thread-safety: pure; reads /proc and /sys each time.
// Source: the kernel's cgroup-v1 and cgroup-v2 documents.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace qualia::hardware {

// The folder with the limits of `controller` ("cpu", "memory") for this process, v2 or v1; nullopt
// where there is none.
std::optional<std::filesystem::path> own_cgroup_folder(std::string_view controller);

}  // namespace qualia::hardware
