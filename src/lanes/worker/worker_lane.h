// A lane hosted in a process of its own, so that the program outlives a device whose loss ends the
// process. load() starts qualia's helper program, which maps the weights itself and runs the named
// lane; a step is a few dozen bytes each way.
// Thread-safety: see lanes/lane.h. Each model has its own process, and may be moved to, and used
// from, any thread.
// Errors: those of the hosted lane; device_lost once the process dies, hangs or closes its socket:
// the sentence says how, and every later call of that model returns it at once. not_found when the
// helper program is missing, unsupported when it is of another build.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "lanes/lane.h"

namespace qualia::lanes {

struct WorkerOptions {
  std::filesystem::path helper_program{};
  std::string lane_name{};  // the lane that the worker hosts, and this lane's own name
  std::string build_id{};   // of this build; the helper program must be of the same
  // How long a worker may say nothing before it is taken for dead. Loading tells its progress;
  // between two of its messages may lie the compilation of every kernel.
  std::chrono::milliseconds load_silence_max{120'000};
  // A step of resident().batch_rows rows takes a fraction of a second; its first may compile.
  std::chrono::milliseconds step_silence_max{60'000};
};

std::unique_ptr<Lane> make_worker_lane(WorkerOptions options);

}  // namespace qualia::lanes
