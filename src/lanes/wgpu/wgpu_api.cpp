#include "lanes/wgpu/wgpu_api.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/log.h"

namespace qualia::lanes::wgpu {
namespace {

constexpr uint32_t kVersionMajor = 29;

// The library lies beside the one that holds this code, or in lib/ beside a program's bin/.
std::vector<std::filesystem::path> candidates() {
  Dl_info info{};
  std::vector<std::filesystem::path> paths;
  if (dladdr(reinterpret_cast<const void*>(&load_api), &info) != 0 && info.dli_fname) {
    std::error_code ignored;
    const auto folder = std::filesystem::canonical(info.dli_fname, ignored).parent_path();
    paths.push_back(folder / "libwgpu_native.so");
    paths.push_back(folder.parent_path() / "lib" / "libwgpu_native.so");
  }
  return paths;
}

Result<void*> open_library() {
  std::string reason = "no folder is known";
  for (const std::filesystem::path& path : candidates()) {
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    reason = dlerror();
  }
  return not_found("wgpu-native is not there: {}.", reason);
}

void log_wgpu(WGPULogLevel level, WGPUStringView message, void*) {
  log(level == WGPULogLevel_Error || level == WGPULogLevel_Warn ? LogLevel::debug : LogLevel::trace,
      "wgpu: {}", text(message));
}

}  // namespace

Result<std::shared_ptr<const Api>> load_api() {
  QUALIA_ASSIGN(void* const library, open_library());
  auto api = std::make_shared<Api>();
#define QUALIA_WGPU_FIND(name)                                                         \
  api->name = reinterpret_cast<decltype(&::wgpu##name)>(dlsym(library, "wgpu" #name)); \
  if (!api->name) return unsupported("wgpu-native has no function '{}'.", "wgpu" #name);
  QUALIA_WGPU_FUNCTIONS(QUALIA_WGPU_FIND)
#undef QUALIA_WGPU_FIND
  const uint32_t version = api->GetVersion();
  if (version >> 24U != kVersionMajor) {
    return unsupported("wgpu-native has version {}.{} (this build is for {}).", version >> 24U,
                       version >> 16U & 0xFFU, kVersionMajor);
  }
  // Mesa's device-selection layer complains on standard error where there is no session.
  if (!std::getenv("XDG_RUNTIME_DIR")) setenv("NODEVICE_SELECT", "1", 0);
  api->SetLogCallback(log_wgpu, nullptr);
  api->SetLogLevel(WGPULogLevel_Warn);
  return std::shared_ptr<const Api>(std::move(api));
}

}  // namespace qualia::lanes::wgpu
