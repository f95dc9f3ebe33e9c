// Shares: how threads divide work that is cut before it begins, by the speed that each showed.
// Cores may differ in kind (performance and efficiency cores) or be held up by other programs; even
// parts would make all wait for the slowest.
// Thread-safety: part() and record() for distinct threads may run in parallel; update() alone.
#pragma once

#include <cstddef>
#include <vector>

#include "lanes/cpu/team.h"

namespace qualia::lanes::cpu {

class Shares {
 public:
  explicit Shares(size_t thread_count) : threads_(thread_count) {}

  // Part `thread` of `count` units: consecutive ranges that cover all of them.
  Range part(size_t count, size_t thread) const;

  // `thread` did `units` of work in `seconds` since the last update().
  void record(size_t thread, double units, double seconds);

  // Takes over what was recorded. One slow turn changes little: a speed follows its recent mean,
  // and parts stay even until speeds differ by a seventh.
  void update();

 private:
  struct alignas(kApart) Thread {
    double recorded = 0.0;  // units a second, 0: none
    double speed = 0.0;     // their mean, 0: unknown
    double end = 0.0;       // of the thread's part, where the whole is 1; 0: even parts
  };
  std::vector<Thread> threads_;
  bool is_even_ = true;
};

}  // namespace qualia::lanes::cpu
