// A progress bar on standard error, for work that takes over two seconds on a terminal.
// Thread-safety: one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace qualia::cli {

class ProgressBar {
 public:
  ProgressBar(std::string label, bool quiet);
  ~ProgressBar() { end(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(uint64_t done, uint64_t total);
  // Takes the bar off the screen for good: what follows has the line.
  void end();
  // update() as a function, which must not outlive the bar.
  std::function<void(uint64_t, uint64_t)> hook();

 private:
  std::string label_;
  bool enabled_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  int percent_ = -1;
};

}  // namespace qualia::cli
