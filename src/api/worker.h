// How this build hosts a lane in its helper program, qualia-worker.
// Thread-safety: may be called from any thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "lanes/worker/worker_lane.h"
#include "qualia/result.h"

namespace qualia::api {

// The helper program of an installation, whose lib/ or bin/ holds `library`, which is the qualia
// library or a program that holds it. Errors: not_found.
Result<std::filesystem::path> find_worker_program(const std::filesystem::path& library);

// The lane that hosts the models of `lane_name` in worker processes, where that is to be: a driver
// may end the process that it runs in (wgpu-native does when a device is lost), so those of the
// wgpu lane are, unless `in_process` is asked for or the helper program is not found.
struct LaneHost {
  std::unique_ptr<lanes::Lane> worker{};  // null: the lane's models live in this process
  std::string reason{};                   // for people; empty where nothing was to be chosen
};
LaneHost choose_host(std::string_view lane_name, bool in_process);
// `hosted` are the worker_options() of the lane, or why there are none.
LaneHost choose_host(const Result<lanes::WorkerOptions>& hosted);

// What lanes::make_worker_lane() needs to host a lane of this build.
Result<lanes::WorkerOptions> worker_options(std::string lane_name);

}  // namespace qualia::api
