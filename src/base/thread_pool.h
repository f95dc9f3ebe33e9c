// A fixed set of worker threads that run one parallel loop at a time.
// Thread-safety: parallel_for may be called from any thread, but calls on one pool are serialised;
// the body must not call parallel_for on the same pool.
// Idle workers sleep; the calling thread takes part, so a pool of one runs everything in the
// caller.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace qualia {

class ThreadPool {
 public:
  // thread_count >= 1, the calling thread included. Where the system refuses a thread, the pool has
  // fewer; thread_count() tells.
  explicit ThreadPool(size_t thread_count);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  size_t thread_count() const { return workers_.size() + 1; }

  // Calls body(begin, end) over disjoint ranges that cover [0, count), each at most `grain` long
  // (>= 1), and returns when all have run. Ranges are taken in order, by whichever thread is free.
  // The body must not throw.
  void parallel_for(size_t count, size_t grain, const std::function<void(size_t, size_t)>& body);

 private:
  struct Loop {
    size_t count = 0;
    size_t grain = 1;
    const std::function<void(size_t, size_t)>* body = nullptr;
  };

  void work();
  void take_ranges(const Loop& loop);

  std::mutex call_mutex_;  // one parallel_for at a time
  std::mutex mutex_;       // guards loop_, generation_, busy_, stopping_
  std::condition_variable wake_;
  std::condition_variable done_;
  Loop loop_;
  uint64_t generation_ = 0;
  size_t busy_ = 0;
  bool stopping_ = false;
  std::atomic<size_t> next_{0};
  std::vector<std::thread> workers_;
};

}  // namespace qualia
