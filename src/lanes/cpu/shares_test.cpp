#include "lanes/cpu/shares.h"

#include <gtest/gtest.h>

namespace qualia::lanes::cpu {
namespace {

void expect_cover(const Shares& shares, size_t count, size_t threads) {
  size_t next = 0;
  for (size_t thread = 0; thread < threads; ++thread) {
    const Range part = shares.part(count, thread);
    EXPECT_EQ(part.begin, next);
    EXPECT_LE(part.begin, part.end);
    next = part.end;
  }
  EXPECT_EQ(next, count);
}

// A turn in which thread i does its part at speeds[i] units a second.
void take_turn(Shares& shares, const std::vector<double>& speeds, size_t count) {
  for (size_t thread = 0; thread < speeds.size(); ++thread) {
    const auto units = static_cast<double>(shares.part(count, thread).size());
    shares.record(thread, units, units / speeds[thread]);
  }
  shares.update();
}

TEST(Shares, AreEvenAtFirstAndBetweenLikeThreads) {
  Shares shares(3);
  expect_cover(shares, 100, 3);
  for (int turn = 0; turn < 50; ++turn) take_turn(shares, {100.0, 108.0, 104.0}, 99);
  for (size_t thread = 0; thread < 3; ++thread) EXPECT_EQ(shares.part(99, thread).size(), 33U);
}

TEST(Shares, FollowTheSpeedOfCoresOfTwoKinds) {
  Shares shares(4);
  for (int turn = 0; turn < 50; ++turn) take_turn(shares, {200.0, 200.0, 100.0, 100.0}, 600);
  EXPECT_EQ(shares.part(600, 0).size(), 200U);
  EXPECT_EQ(shares.part(600, 3).size(), 100U);
  for (const size_t count : {0U, 1U, 3U, 7U, 601U}) expect_cover(shares, count, 4);
}

TEST(Shares, ForgetOneTurnThatWasHeldUp) {
  Shares shares(2);
  for (int turn = 0; turn < 50; ++turn) take_turn(shares, {100.0, 100.0}, 100);
  take_turn(shares, {100.0, 5.0}, 100);
  EXPECT_EQ(shares.part(100, 1).size(), 50U);
}

TEST(Shares, RecoverWhenASlowThreadIsFreeAgain) {
  Shares shares(2);
  for (int turn = 0; turn < 50; ++turn) take_turn(shares, {100.0, 50.0}, 90);
  EXPECT_EQ(shares.part(90, 1).size(), 30U);
  for (int turn = 0; turn < 80; ++turn) take_turn(shares, {100.0, 100.0}, 90);
  EXPECT_EQ(shares.part(90, 1).size(), 45U);
}

}  // namespace
}  // namespace qualia::lanes::cpu
