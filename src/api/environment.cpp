#include "api/environment.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

#include "base/error.h"

namespace qualia::api {
namespace {

constexpr std::array<std::string_view, 4> kBackends{"vulkan", "dx12", "metal", "gl"};

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

Result<uint32_t> parse_threads(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kThreadsMax)
    return invalid_argument("QUALIA_THREADS is '{}' (a whole number from 1 to {}).", text,
                            kThreadsMax);
  return value;
}

Result<std::string> parse_backend(std::string_view text) {
  std::string name = lower(text);
  if (std::ranges::find(kBackends, name) == kBackends.end())
    return invalid_argument("QUALIA_WGPU_BACKEND is '{}' (vulkan, dx12, metal, gl).", text);
  return name;
}

Result<LogLevel> parse_log(std::string_view text) {
  if (auto level = parse_log_level(text)) return level;
  return invalid_argument("QUALIA_LOG is '{}' (trace, debug, info, warn, error, off).", text);
}

Result<bool> parse_bool(const char* name, std::string_view text) {
  constexpr std::array<std::string_view, 4> kOn{"1", "true", "on", "yes"};
  constexpr std::array<std::string_view, 4> kOff{"0", "false", "off", "no"};
  const std::string word = lower(text);
  if (std::ranges::find(kOn, word) != kOn.end()) return true;
  if (std::ranges::find(kOff, word) != kOff.end()) return false;
  return invalid_argument("{} is '{}' (1, true, on, yes, 0, false, off, no).", name, text);
}

}  // namespace

Result<Environment> read_environment(const std::function<const char*(const char*)>& lookup) {
  const auto get = [&](const char* name) -> std::optional<std::string> {
    const char* value = lookup(name);
    if (!value || *value == '\0') return std::nullopt;
    return std::string(value);
  };
  Environment environment;
  if (const auto text = get("QUALIA_CACHE_DIR")) environment.cache_dir = *text;
  // The XDG base directory specification: a relative path there is invalid and ignored.
  if (const auto text = get("XDG_CACHE_HOME"); text && std::filesystem::path(*text).is_absolute())
    environment.xdg_cache_home = *text;
  if (const auto text = get("HOME")) environment.home = *text;
  if (const auto text = get("QUALIA_THREADS")) {
    QUALIA_ASSIGN(environment.threads, parse_threads(*text));
  }
  if (const auto text = get("QUALIA_LOG")) {
    QUALIA_ASSIGN(environment.log_level, parse_log(*text));
  }
  environment.cpu_mask = get("QUALIA_CPU_MASK").value_or("");
  if (const auto text = get("QUALIA_WGPU_BACKEND")) {
    QUALIA_ASSIGN(environment.wgpu_backend, parse_backend(*text));
  }
  if (const auto text = get("QUALIA_LLM_GPU_PROFILE")) {
    QUALIA_ASSIGN(environment.gpu_profile, parse_bool("QUALIA_LLM_GPU_PROFILE", *text));
  }
  return environment;
}

Result<std::filesystem::path> cache_folder(const Environment& environment) {
  if (environment.cache_dir) {
    std::error_code error;
    const auto folder = std::filesystem::absolute(*environment.cache_dir, error);
    if (error)
      return io("Folder '{}' has no absolute path: {}.", environment.cache_dir->string(),
                error.message());
    return folder;
  }
  if (environment.xdg_cache_home) return *environment.xdg_cache_home / "qualia";
  if (environment.home) return *environment.home / ".cache" / "qualia";
  return not_found(
      "No cache folder is known: QUALIA_CACHE_DIR, XDG_CACHE_HOME and HOME are unset.");
}

}  // namespace qualia::api
