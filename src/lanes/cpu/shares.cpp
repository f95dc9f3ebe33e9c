#include "lanes/cpu/shares.h"

#include <algorithm>

namespace qualia::lanes::cpu {

Range Shares::part(size_t count, size_t thread) const {
  if (is_even_) return part_of(count, thread, threads_.size());
  const auto until = [&](size_t index) {
    return static_cast<size_t>(threads_[index].end * static_cast<double>(count) + 0.5);
  };
  const size_t begin = thread == 0 ? 0 : until(thread - 1);
  return {begin, thread + 1 == threads_.size() ? count : until(thread)};
}

void Shares::record(size_t thread, double units, double seconds) {
  if (seconds > 0.0) threads_[thread].recorded = units / seconds;
}

void Shares::update() {
  constexpr double kNew = 0.1;
  constexpr double kUneven = 8.0 / 7.0;
  double sum = 0.0;
  double slowest = 0.0;
  double fastest = 0.0;
  for (Thread& thread : threads_) {
    if (thread.recorded <= 0.0) return;  // some thread had no part: nothing to compare
    thread.speed = thread.speed == 0.0 ? thread.recorded
                                       : (1.0 - kNew) * thread.speed + kNew * thread.recorded;
    thread.recorded = 0.0;
    slowest = slowest == 0.0 ? thread.speed : std::min(slowest, thread.speed);
    fastest = std::max(fastest, thread.speed);
    sum += thread.speed;
  }
  is_even_ = fastest < slowest * kUneven;
  double end = 0.0;
  for (Thread& thread : threads_) {
    end += thread.speed / sum;
    thread.end = end;
  }
}

}  // namespace qualia::lanes::cpu
