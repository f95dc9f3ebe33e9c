#include "base/thread_pool.h"

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "base/log.h"

namespace qualia {

ThreadPool::ThreadPool(size_t thread_count) {
  QUALIA_CHECK(thread_count >= 1);
  workers_.reserve(thread_count - 1);
  try {
    for (size_t i = 1; i < thread_count; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error& refused) {
    log(LogLevel::warn, "The system grants {} threads ({} asked): {}.", workers_.size() + 1,
        thread_count, refused.what());
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::parallel_for(size_t count, size_t grain,
                              const std::function<void(size_t, size_t)>& body) {
  QUALIA_CHECK(grain >= 1);
  const std::lock_guard call_lock(call_mutex_);
  const Loop loop{count, grain, &body};
  next_.store(0, std::memory_order_relaxed);
  if (workers_.empty() || count <= grain) return take_ranges(loop);
  {
    const std::lock_guard lock(mutex_);
    loop_ = loop;
    busy_ = workers_.size();
    ++generation_;
  }
  wake_.notify_all();
  take_ranges(loop);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
}

void ThreadPool::work() {
  uint64_t seen = 0;
  while (true) {
    Loop loop;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
      if (stopping_) return;
      seen = generation_;
      loop = loop_;
    }
    take_ranges(loop);
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) done_.notify_one();
  }
}

void ThreadPool::take_ranges(const Loop& loop) {
  while (true) {
    const size_t begin = next_.fetch_add(loop.grain, std::memory_order_relaxed);
    if (begin >= loop.count) return;
    (*loop.body)(begin, begin + std::min(loop.grain, loop.count - begin));
  }
}

}  // namespace qualia
