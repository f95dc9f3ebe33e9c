// The environment variables of qualia, read once into one typed struct.
// Thread-safety: value. Each variable is documented in docs/environment.md.
// Errors: invalid_argument names the variable, its value and what is allowed. An empty value is
// unset.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/log.h"
#include "qualia/result.h"

namespace qualia::api {

// Host threads that may be asked for: far above any machine, so that a slip of the pen is noticed.
inline constexpr uint32_t kThreadsMax = 4096;

struct Environment {
  std::optional<std::filesystem::path> cache_dir;  // QUALIA_CACHE_DIR
  std::optional<uint32_t> threads;                 // QUALIA_THREADS
  std::optional<LogLevel> log_level;               // QUALIA_LOG
  std::string cpu_mask;                            // QUALIA_CPU_MASK, empty: hides nothing
  std::optional<std::string> wgpu_backend;         // QUALIA_WGPU_BACKEND, lower case
  bool gpu_profile = false;                        // QUALIA_LLM_GPU_PROFILE
  std::optional<std::filesystem::path> xdg_cache_home;
  std::optional<std::filesystem::path> home;
};

// `lookup` gives a variable's value or nullptr; std::getenv for the process's own.
Result<Environment> read_environment(const std::function<const char*(const char*)>& lookup);

// Errors: not_found when no variable names a folder; io when QUALIA_CACHE_DIR is relative and there
// is no working folder.
Result<std::filesystem::path> cache_folder(const Environment& environment);

}  // namespace qualia::api
