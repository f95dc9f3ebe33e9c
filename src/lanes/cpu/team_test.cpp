// The team: every thread runs, barriers hold, few or many threads, one or many runs.
#include "lanes/cpu/team.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <ctime>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

namespace qualia::lanes::cpu {
namespace {

TEST(Team, RunsTheProgramOnceOnEveryThread) {
  for (const size_t size : {1U, 2U, 3U, 7U}) {
    Team team(size);
    ASSERT_EQ(team.size(), size);
    std::vector<std::thread::id> ids(size);
    std::vector<int> calls(size);
    team.run([&](size_t thread) {
      ids[thread] = std::this_thread::get_id();
      ++calls[thread];
    });
    EXPECT_EQ(ids[0], std::this_thread::get_id());
    EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), size);
    EXPECT_EQ(calls, std::vector<int>(size, 1));
  }
}

// Each thread adds what its neighbour wrote before the barrier: a barrier that lets one thread pass
// too soon gives another sum.
uint64_t chained_sums(Team& team, size_t steps) {
  const size_t size = team.size();
  std::vector<uint64_t> current(size);
  std::iota(current.begin(), current.end(), 1U);
  std::vector<uint64_t> next(size);
  team.run([&](size_t thread) {
    for (size_t step = 0; step < steps; ++step) {
      std::vector<uint64_t>& from = step % 2 == 0 ? current : next;
      std::vector<uint64_t>& to = step % 2 == 0 ? next : current;
      to[thread] = from[thread] + 3 * from[(thread + 1) % size];
      team.barrier();
    }
  });
  const std::vector<uint64_t>& last = steps % 2 == 0 ? current : next;
  return std::accumulate(last.begin(), last.end(), uint64_t{0});
}

TEST(Team, BarriersKeepTheStepsOfAllThreadsApart) {
  for (const size_t size : {1U, 2U, 3U, 4U}) {
    Team team(size);
    // The sum of all is multiplied by 4 in each step (modulo 2^64).
    uint64_t expected = size * (size + 1) / 2;
    for (size_t step = 0; step < 20; ++step) expected *= 4;
    EXPECT_EQ(chained_sums(team, 20), expected) << size;
  }
}

TEST(Team, SurvivesManyShortRuns) {
  Team team(3);
  uint64_t total = 0;
  for (size_t run = 0; run < 2000; ++run) total += chained_sums(team, run % 5);
  uint64_t expected = 0;
  for (size_t run = 0; run < 2000; ++run) expected += uint64_t{6} << (2 * (run % 5));
  EXPECT_EQ(total, expected);
}

TEST(Team, FinishesWithFarMoreThreadsThanCores) {
  const size_t size = 8 * std::max(1U, std::thread::hardware_concurrency());
  Team team(size);
  uint64_t expected = size * (size + 1) / 2;
  for (size_t step = 0; step < 25; ++step) expected *= 4;
  EXPECT_EQ(chained_sums(team, 25), expected);
}

TEST(Team, SeesWhatAnyCallerWroteBeforeTheRun) {
  Team team(2);
  for (int i = 0; i < 50; ++i) {
    std::thread caller([&] {
      int value = i;
      int seen[2] = {};
      team.run([&](size_t thread) { seen[thread] = value; });
      EXPECT_EQ(seen[0], i);
      EXPECT_EQ(seen[1], i);
    });
    caller.join();
  }
}

TEST(Team, CostsNothingWhileIdle) {
  Team team(4);
  team.run([](size_t) {});
  const auto cpu_seconds = [] {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  // A quarter of a second of wall time in which nothing happens.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(250);
  const double before = cpu_seconds();
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable never_told;
  never_told.wait_until(lock, end, [] { return false; });
  EXPECT_LT(cpu_seconds() - before, 0.05);
}

TEST(PartOf, CoversEverythingOnceAndEvenly) {
  for (const size_t count : {0U, 1U, 5U, 36U, 1000U}) {
    for (const size_t parts : {1U, 2U, 3U, 7U}) {
      size_t next = 0;
      for (size_t index = 0; index < parts; ++index) {
        const Range range = part_of(count, index, parts);
        EXPECT_EQ(range.begin, next);
        EXPECT_LE(range.size(), count / parts + 1);
        next = range.end;
      }
      EXPECT_EQ(next, count);
    }
  }
}

}  // namespace
}  // namespace qualia::lanes::cpu
