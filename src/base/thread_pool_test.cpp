#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace qualia {
namespace {

// How often each index of [0, count) is visited.
std::vector<int> visits(ThreadPool& pool, size_t count, size_t grain) {
  std::vector<int> seen(count, 0);
  pool.parallel_for(count, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) ++seen[i];
  });
  return seen;
}

TEST(ThreadPool, VisitsEachIndexOnce) {
  for (const size_t threads : {1U, 2U, 3U, 8U}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.thread_count(), threads);
    for (const size_t count : {1U, 2U, 7U, 64U, 1000U})
      for (const size_t grain : {1U, 3U, 64U, 5000U})
        EXPECT_EQ(visits(pool, count, grain), std::vector<int>(count, 1))
            << threads << " threads, " << count << " by " << grain;
  }
}

TEST(ThreadPool, AnEmptyLoopCallsNothing) {
  ThreadPool pool(3);
  std::atomic<int> calls = 0;
  pool.parallel_for(0, 1, [&](size_t, size_t) { ++calls; });
  EXPECT_EQ(calls, 0);
}

TEST(ThreadPool, RangesAreNoLongerThanTheGrain) {
  ThreadPool pool(4);
  std::atomic<size_t> longest = 0;
  std::atomic<size_t> total = 0;
  pool.parallel_for(1001, 10, [&](size_t begin, size_t end) {
    size_t seen = longest;
    while (end - begin > seen && !longest.compare_exchange_weak(seen, end - begin)) {
    }
    total += end - begin;
  });
  EXPECT_EQ(longest, 10U);
  EXPECT_EQ(total, 1001U);
}

TEST(ThreadPool, AGrainNearTheLimitOfSizesDoesNotWrap) {
  ThreadPool pool(2);
  EXPECT_EQ(visits(pool, 5, SIZE_MAX), std::vector<int>(5, 1));
}

TEST(ThreadPool, APoolOfOneRunsInTheCaller) {
  ThreadPool pool(1);
  std::set<std::thread::id> ids;
  pool.parallel_for(100, 1, [&](size_t, size_t) { ids.insert(std::this_thread::get_id()); });
  EXPECT_EQ(ids, std::set{std::this_thread::get_id()});
}

TEST(ThreadPool, EveryWorkerTakesPart) {
  constexpr size_t kThreads = 3;
  ThreadPool pool(kThreads);
  // Each range waits until all threads hold one, which only works when all of them take part.
  std::atomic<size_t> arrived = 0;
  pool.parallel_for(kThreads, 1, [&](size_t, size_t) {
    ++arrived;
    while (arrived < kThreads) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, kThreads);
}

TEST(ThreadPool, WritesOfOneLoopAreSeenByTheNext) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  ThreadPool pool(4);
  std::vector<uint64_t> values(257);
  std::iota(values.begin(), values.end(), uint64_t{0});
  constexpr uint64_t kLoops = 2000;
  for (uint64_t loop = 0; loop < kLoops; ++loop)
    pool.parallel_for(values.size(), 1 + random() % 300, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) values[i] += 1;
    });
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], i + kLoops);
}

TEST(ThreadPool, CallsFromSeveralThreadsAreSerialised) {
  ThreadPool pool(3);
  std::atomic<int> inside = 0;
  std::atomic<bool> overlapped = false;
  std::atomic<size_t> total = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      for (int loop = 0; loop < 200; ++loop) {
        std::atomic<int> mine = 0;
        pool.parallel_for(16, 2, [&](size_t begin, size_t end) {
          // Ranges of one loop may overlap in time; ranges of two callers must not.
          int expected = 0;
          if (!inside.compare_exchange_strong(expected, caller + 1) && expected != caller + 1)
            overlapped = true;
          total += end - begin;
          if (++mine == 8) inside = 0;
        });
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_FALSE(overlapped);
  EXPECT_EQ(total, size_t{4} * 200 * 16);
}

TEST(ThreadPool, StartsAndStopsWithoutWork) {
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(ThreadPool(1 + i % 5).thread_count(), 1 + i % 5);
}

TEST(ThreadPoolDeathTest, RefusesAPoolOfNone) {
  EXPECT_DEATH(ThreadPool pool(0), "thread_count >= 1 does not hold");
}

}  // namespace
}  // namespace qualia
