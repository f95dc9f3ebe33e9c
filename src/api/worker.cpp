#include "api/worker.h"

#include <utility>

#include "api/build_id.h"
#include "api/own_library.h"
#include "api/runtime_state.h"
#include "base/error.h"
#include "base/log.h"
#include "lanes/worker/worker_main.h"
#include "qualia/version.h"
#include "qualia/worker.h"

namespace qualia {

namespace api {

LaneHost choose_host(std::string_view lane_name, bool in_process) {
  if (lane_name != "wgpu") return {};
  if (in_process) return {.reason = "in this process, as was asked for"};
  return choose_host(worker_options(std::string(lane_name)));
}

LaneHost choose_host(const Result<lanes::WorkerOptions>& hosted) {
  if (hosted) {
    return {.worker = lanes::make_worker_lane(*hosted), .reason = "hosted in a worker process"};
  }
  log(LogLevel::info, "The model is loaded in this process: {}", hosted.error().message);
  return {.reason = "in this process, since the program qualia-worker is not found"};
}

// <prefix>/lib or <prefix>/bin, or one folder deeper (Debian's lib/x86_64-linux-gnu); no farther,
// since a program that lies anywhere above is not to be trusted.
Result<std::filesystem::path> find_worker_program(const std::filesystem::path& library) {
  std::error_code error;
  std::filesystem::path folder = library.parent_path();
  for (int depth = 0; depth < 2; ++depth) {
    folder = folder.parent_path();
    if (auto program = folder / kLibexecFolder / "qualia" / "qualia-worker";
        std::filesystem::exists(program, error))
      return program;
  }
  return not_found("The program qualia-worker is not beside '{}' ({}/qualia).", library.string(),
                   kLibexecFolder);
}

Result<lanes::WorkerOptions> worker_options(std::string lane_name) {
  QUALIA_ASSIGN(const std::filesystem::path library, own_library());
  QUALIA_ASSIGN(std::filesystem::path program, find_worker_program(library));
  return lanes::WorkerOptions{.helper_program = std::move(program),
                              .lane_name = std::move(lane_name),
                              .build_id = std::string(build_id())};
}

}  // namespace api

Result<void> run_worker(int socket) {
  QUALIA_ASSIGN(const Runtime runtime, Runtime::create());
  return lanes::worker_main(socket, runtime.state().lanes, build_id());
}

}  // namespace qualia
