#include "hardware/cgroup.h"

#include <fstream>
#include <string>

namespace qualia::hardware {
namespace {

// Inside a container the path in /proc/self/cgroup may lie outside the mount: its root serves then.
std::optional<std::filesystem::path> existing(const std::filesystem::path& mount,
                                              std::string_view inside) {
  std::error_code ignored;
  std::filesystem::path folder = mount;
  folder += inside;
  if (std::filesystem::is_directory(folder, ignored)) return folder;
  if (std::filesystem::is_directory(mount, ignored)) return mount;
  return std::nullopt;
}

bool lists_controller(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    const size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == wanted) return true;
    if (comma == std::string_view::npos) return false;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

std::optional<std::filesystem::path> own_cgroup_folder(std::string_view controller) {
  // Lines "hierarchy:controllers:path"; v2 has hierarchy 0 and no controllers.
  std::ifstream lines("/proc/self/cgroup");
  std::string line;
  std::optional<std::filesystem::path> unified;
  while (std::getline(lines, line)) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    const std::string_view inside = std::string_view(line).substr(second + 1);
    if (lists_controller(controllers, controller))
      return existing(std::filesystem::path("/sys/fs/cgroup") / controller, inside);
    if (controllers.empty()) unified = existing("/sys/fs/cgroup", inside);
  }
  return unified;
}

}  // namespace qualia::hardware
