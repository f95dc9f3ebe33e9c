// How this build hosts a lane in its helper program, qualia-worker.
// Thread-safety: pure.
#pragma once

#include <filesystem>
#include <string>

#include "lanes/worker/worker_lane.h"
#include "qualia/result.h"

namespace qualia::api {

// The helper program of an installation, whose lib/ or bin/ holds `library`, which is the qualia
// library or a program that holds it. Errors: not_found.
Result<std::filesystem::path> find_worker_program(const std::filesystem::path& library);

// What lanes::make_worker_lane() needs to host a lane of this build.
Result<lanes::WorkerOptions> worker_options(std::string lane_name);

}  // namespace qualia::api
