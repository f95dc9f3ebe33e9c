// The bounds of one template evaluation: steps, bytes alive, wall time.
// Thread-safety: one owner, the evaluation; every value made by it points here and must die first.
// The budget is sticky: the first limit that is passed is kept, work after that may answer anything
// quickly, and whoever owns the evaluation turns the kept sentence into its Error.
// Limits are chosen from use: the longest public template with 1,000 messages takes under 1 million
// steps and 20 copies of its text; the limits leave an order of magnitude above that.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace qualia::jinja {

inline constexpr size_t kStepsMax = 10'000'000;  // about a second of evaluation on one 2020s core
inline constexpr size_t kTextBytesMax = 16u << 20;  // one string: ten times the longest contexts
inline constexpr size_t kLiveBytesMax = 96u << 20;  // all values alive at once
inline constexpr size_t kValueDepthMax = 100;       // lists in lists
// Checked between operations; an answer, everything freed, must come within 2 s.
inline constexpr std::chrono::milliseconds kWallTimeMax{1000};

// Copying this many bytes costs about as much as one evaluation step.
inline constexpr size_t kBytesPerStep = 64;

class Budget {
 public:
  Budget() : deadline_(std::chrono::steady_clock::now() + kWallTimeMax) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  bool ok() const noexcept { return exhausted_.empty(); }
  // What was passed, "" while ok.
  const std::string& exhausted() const noexcept { return exhausted_; }

  // Takes steps; false once any limit is passed.
  bool spend(size_t steps) noexcept;
  bool spend_bytes(size_t bytes) noexcept { return spend(1 + bytes / kBytesPerStep); }
  // Whether a text of this size may be built.
  bool text_fits(size_t bytes) noexcept;

  void take_live(size_t bytes) noexcept;
  void give_live(size_t bytes) noexcept { live_bytes_ -= bytes; }

  void fail(std::string sentence) noexcept;

 private:
  size_t steps_ = 0;
  size_t next_clock_check_ = 0;
  size_t live_bytes_ = 0;
  std::string exhausted_;
  std::chrono::steady_clock::time_point deadline_;
};

// What a shared value weighs, given back when it dies. A null budget: made at parse time,
// unmetered.
class Metered {
 public:
  Metered(Budget* budget, size_t bytes) : budget_(budget), bytes_(bytes) {
    if (budget_ != nullptr) budget_->take_live(bytes_);
  }
  Metered(const Metered&) = delete;
  Metered& operator=(const Metered&) = delete;
  ~Metered() {
    if (budget_ != nullptr) budget_->give_live(bytes_);
  }

 private:
  Budget* budget_;
  size_t bytes_;
};

}  // namespace qualia::jinja
