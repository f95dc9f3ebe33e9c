#include "jinja/budget.h"

#include <fmt/core.h>

#include <utility>

namespace qualia::jinja {

namespace {
// Reading the clock costs about as much as a step; every 512 steps it is below 1 %.
constexpr size_t kStepsPerClockCheck = 512;
}  // namespace

bool Budget::spend(size_t steps) noexcept {
  if (!ok()) return false;
  if (steps > kStepsMax - steps_) {
    fail(fmt::format("evaluation takes more than {} steps", kStepsMax));
    return false;
  }
  steps_ += steps;
  if (steps_ < next_clock_check_) return true;
  next_clock_check_ = steps_ + kStepsPerClockCheck;
  if (std::chrono::steady_clock::now() <= deadline_) return true;
  fail(fmt::format("evaluation takes longer than {} ms", kWallTimeMax.count()));
  return false;
}

bool Budget::text_fits(size_t bytes) noexcept {
  if (bytes <= kTextBytesMax) return ok();
  fail(fmt::format("a text of {} bytes is built (limit {})", bytes, kTextBytesMax));
  return false;
}

void Budget::take_live(size_t bytes) noexcept {
  live_bytes_ += bytes;
  if (live_bytes_ > kLiveBytesMax) {
    fail(fmt::format("its values take more than {} bytes", kLiveBytesMax));
  }
}

void Budget::fail(std::string sentence) noexcept {
  if (exhausted_.empty()) exhausted_ = std::move(sentence);
}

}  // namespace qualia::jinja
