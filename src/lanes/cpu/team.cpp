#include "lanes/cpu/team.h"

#include <system_error>

namespace qualia::lanes::cpu {
namespace {

// Tells the core that this is a spin loop, so that it saves power and gives way to its sibling.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void wait_for_change(const std::atomic<uint32_t>& value, uint32_t seen) noexcept {
  // Reading the clock takes about as long as a pause on some machines: look at it now and then.
  constexpr int kLooksPerClock = 64;
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kLooksPerClock; ++i) {
      if (value.load(std::memory_order_acquire) != seen) return;
      relax();
    }
  } while (std::chrono::steady_clock::now() - start < kSpinTime);
  while (value.load(std::memory_order_acquire) == seen) {
    value.wait(seen, std::memory_order_acquire);
  }
}

void Barrier::arrive_and_wait() noexcept {
  const uint32_t generation = generation_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count_) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.store(generation + 1, std::memory_order_release);
    generation_.notify_all();
    return;
  }
  wait_for_change(generation_, generation);
}

Team::Team(size_t size) {
  workers_.reserve(size - 1);
  // The workers wait for the first generation, so the barrier may be made after them.
  for (size_t thread = 1; thread < size; ++thread) {
    try {
      workers_.emplace_back([this, thread] { work(thread); });
    } catch (const std::system_error&) {
      break;
    }
  }
  barrier_ = std::make_unique<Barrier>(this->size());
}

Team::~Team() {
  program_ = nullptr;
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Team::run(const std::function<void(size_t)>& program) {
  if (workers_.empty()) return program(0);
  program_ = &program;
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  program(0);
  barrier();
}

void Team::work(size_t thread) {
  for (uint32_t seen = 0;; ++seen) {
    wait_for_change(generation_, seen);
    if (program_ == nullptr) return;
    (*program_)(thread);
    barrier();
  }
}

}  // namespace qualia::lanes::cpu
