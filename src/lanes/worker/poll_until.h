// poll() with a deadline that signals don't cut short.
// Thread-safety: pure.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <span>

namespace qualia::lanes::worker {

using Clock = std::chrono::steady_clock;

// true: one of them is ready (see their revents); false: the deadline has passed.
inline bool poll_until(std::span<pollfd> wanted, Clock::time_point deadline) {
  while (true) {
    // Rounded up, so that the last millisecond is waited for and not spun through.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    const auto timeout = std::clamp<int64_t>(left.count(), 0, 1'000'000'000);
    const int count = ::poll(wanted.data(), wanted.size(), static_cast<int>(timeout));
    if (count > 0) return true;
    if (count == 0 && Clock::now() >= deadline) return false;
    if (count < 0 && errno != EINTR) return false;
  }
}

}  // namespace qualia::lanes::worker
