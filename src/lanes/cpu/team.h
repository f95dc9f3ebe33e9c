// Team: threads that run one program together, step by step (SPMD), with barriers between steps.
// Thread-safety: run() has one caller at a time; barrier() is for the threads inside run().
// The caller is thread 0. A thread that waits spins for kSpinMicroseconds and then sleeps, so that
// an idle team costs nothing and a barrier inside a step costs less than a microsecond.
// Errors: where the system refuses a thread, the team has fewer; size() tells.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace qualia::lanes::cpu {

// Two neighbouring cache lines: x86-64 prefetches lines in pairs.
inline constexpr size_t kApart = 128;

// About what two wake-ups from a futex take; longer spinning would only burn an idle machine, and
// on an overbooked one it holds up the very thread that is waited for.
inline constexpr std::chrono::microseconds kSpinTime{80};

// Waits until `value` differs from `seen`: spins, then sleeps.
void wait_for_change(const std::atomic<uint32_t>& value, uint32_t seen) noexcept;

// Lets `count` threads pass when all of them have arrived. Counting and waiting use separate lines.
class Barrier {
 public:
  explicit Barrier(size_t count) : count_(static_cast<uint32_t>(count)) {}
  void arrive_and_wait() noexcept;

 private:
  alignas(kApart) std::atomic<uint32_t> arrived_{0};
  alignas(kApart) std::atomic<uint32_t> generation_{0};
  alignas(kApart) uint32_t count_;
};

class Team {
 public:
  // size >= 1, the calling thread included.
  explicit Team(size_t size);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  size_t size() const { return workers_.size() + 1; }

  // Calls program(thread) for 0 .. size() - 1, each on its own thread, and returns when all have
  // returned. The program must not throw.
  void run(const std::function<void(size_t thread)>& program);

  // REQUIRES: every thread of the running program calls it equally often.
  void barrier() noexcept {
    if (!workers_.empty()) barrier_->arrive_and_wait();
  }

 private:
  void work(size_t thread);

  alignas(kApart) std::atomic<uint32_t> generation_{0};
  alignas(kApart) const std::function<void(size_t)>* program_ = nullptr;  // nullptr: end
  std::unique_ptr<Barrier> barrier_;
  std::vector<std::thread> workers_;
};

// Part `index` of `count` things cut into `parts` even, consecutive ranges.
struct Range {
  size_t begin = 0;
  size_t end = 0;
  size_t size() const { return end - begin; }
};
inline Range part_of(size_t count, size_t index, size_t parts) {
  return {count * index / parts, count * (index + 1) / parts};
}

}  // namespace qualia::lanes::cpu
