#include "qualia/runtime.h"

#include <cstdlib>

#include "api/default_model.h"
#include "api/runtime_state.h"
#include "base/error.h"
#include "base/log.h"
#include "hardware/cpu.h"
#include "lanes/cpu/cpu_features.h"
#include "lanes/cpu/cpu_lane.h"
#include "lanes/reference/reference_lane.h"
#include "lanes/wgpu/wgpu_lane.h"

namespace qualia {

Result<Runtime> Runtime::create() {
  auto state = std::make_shared<State>();
  QUALIA_ASSIGN(state->environment, api::read_environment(std::getenv));
  if (state->environment.log_level) qualia::set_log_level(*state->environment.log_level);
  const hardware::CpuCount cpus = hardware::count_cpus();
  state->default_threads = state->environment.threads.value_or(
      static_cast<uint32_t>(hardware::default_thread_count(cpus)));
  QUALIA_ASSIGN(
      const lanes::cpu::CpuFeatures features,
      lanes::cpu::hide_features(lanes::cpu::detect_cpu_features(), state->environment.cpu_mask));
  state->lanes.push_back(lanes::make_cpu_lane(features));
  state->lanes.push_back(lanes::make_wgpu_lane());
  state->lanes.push_back(lanes::make_reference_lane());
  return Runtime(std::move(state));
}

std::vector<CircuitInfo> Runtime::circuits() const {
  std::vector<CircuitInfo> all;
  for (const auto& lane : state_->lanes)
    for (CircuitInfo& circuit : lane->circuits(state_->default_threads))
      all.push_back(std::move(circuit));
  return all;
}

size_t Runtime::default_threads() const { return state_->default_threads; }

Result<std::filesystem::path> Runtime::cache_folder() const {
  return api::cache_folder(state_->environment);
}

Result<std::filesystem::path> Runtime::default_model_path() const {
  QUALIA_ASSIGN(const std::filesystem::path folder, cache_folder());
  return folder / "models" / api::kDefaultModelFile;
}

Result<std::filesystem::path> Runtime::fetch_default_model(
    const std::function<bool()>& cancel) const {
  QUALIA_ASSIGN(const std::filesystem::path path, default_model_path());
  QUALIA_TRY(api::fetch_default_model(path, cancel));
  return path;
}

Result<void> set_log_level(std::string_view level) {
  QUALIA_ASSIGN(const LogLevel parsed, parse_log_level(level));
  set_log_level(parsed);
  return {};
}

}  // namespace qualia
