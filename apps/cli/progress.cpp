#include "progress.h"

#include <fmt/core.h>

#include <cstdio>
#include <utility>

#include "output.h"

namespace qualia::cli {
namespace {

constexpr int kCells = 30;
constexpr std::chrono::seconds kSilence{2};  // shorter work shows no bar

}  // namespace

ProgressBar::ProgressBar(std::string label, bool quiet)
    : label_(std::move(label)), enabled_(!quiet && standard_error_is_terminal()) {}

void ProgressBar::end() {
  // Carriage return, erase to the end of the line.
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = enabled_ = false;
}

void ProgressBar::update(uint64_t done, uint64_t total) {
  if (!enabled_ || total == 0 || std::chrono::steady_clock::now() - start_ < kSilence) return;
  const auto percent =
      static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(total));
  if (percent == percent_) return;
  percent_ = percent;
  shown_ = true;
  const int full = percent * kCells / 100;
  const std::string bar = std::string(static_cast<size_t>(full), '=') +
                          std::string(static_cast<size_t>(kCells - full), ' ');
  const std::string line = fmt::format("\r{} [{}] {:3} %", label_, bar, percent);
  std::fputs(line.c_str(), stderr);
}

std::function<void(uint64_t, uint64_t)> ProgressBar::hook() {
  return [this](uint64_t done, uint64_t total) { update(done, total); };
}

}  // namespace qualia::cli
