// What qualia's helper program does: serves one lane of this build over a socket.
// Thread-safety: call it once, from the main thread, in a process that does nothing else.
// Errors: invalid_argument when `fd` is no socket; internal when the other end breaks the protocol.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "lanes/lane.h"

namespace qualia::lanes {

// Returns once the other end has closed, and takes `fd` over. Should the parent process die while
// the lane is busy, the process ends at once.
Result<void> worker_main(int fd, std::span<const std::unique_ptr<Lane>> lanes,
                         std::string_view build_id);

}  // namespace qualia::lanes
