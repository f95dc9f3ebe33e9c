#include "profile/recorder.h"

#include <gtest/gtest.h>

#include "profile/ticks.h"

namespace qualia::profile {
namespace {

TEST(Recorder, SumsCallsPerOpAndPhase) {
  Recorder recorder;
  const uint32_t qkv = recorder.op("qkv", Phase::gemm);
  const uint32_t attend = recorder.op("attend", Phase::attention);
  EXPECT_EQ(recorder.op("qkv", Phase::gemm), qkv);
  recorder.add(qkv, 100, 150, {1000, 2000});
  recorder.add(attend, 150, 170);
  recorder.add(qkv, 170, 180, {1000, 2000});
  recorder.end_step();
  const Snapshot snapshot = recorder.snapshot();
  EXPECT_EQ(snapshot[Phase::gemm].total_ns, 60U);
  EXPECT_EQ(snapshot[Phase::gemm].calls, 2U);
  EXPECT_DOUBLE_EQ(snapshot[Phase::attention].micros(), 0.02);
  EXPECT_EQ(snapshot.ops[qkv].cost.bytes, 2000U);
  EXPECT_EQ(snapshot.ops[qkv].cost.multiply_adds, 4000U);
  EXPECT_EQ(snapshot.busy_ns, 80U);
  EXPECT_EQ(snapshot.attributed_ns(), 80U);
  EXPECT_EQ(snapshot.steps, 1U);
  EXPECT_EQ(snapshot.spans.at(1).begin_ns, 50U);
}

TEST(Recorder, DropsBackwardsAndMissingSamples) {  // rows P05, P06
  Recorder recorder;
  const uint32_t op = recorder.op("qkv", Phase::gemm);
  recorder.add(op, 200, 100);
  recorder.add(op, 200, 0);
  recorder.add(op, 0, 0);
  recorder.drop();
  EXPECT_FALSE(recorder.any_recorded());
  EXPECT_EQ(recorder.snapshot().dropped, 4U);
  EXPECT_EQ(recorder.snapshot()[Phase::gemm].calls, 0U);
  EXPECT_EQ(recorder.snapshot().busy_ns, 0U);
}

TEST(Recorder, ResetKeepsTheOpsAndClearsTheSums) {
  Recorder recorder;
  const uint32_t op = recorder.op("qkv", Phase::gemm);
  recorder.add(op, 1, 5, {1, 1});
  recorder.end_step();
  recorder.reset();
  EXPECT_FALSE(recorder.any_recorded());
  EXPECT_EQ(recorder.op("qkv", Phase::gemm), op);
  const Snapshot snapshot = recorder.snapshot();
  EXPECT_EQ(snapshot.ops.at(op).calls + snapshot.ops.at(op).cost.bytes + snapshot.steps, 0U);
  EXPECT_TRUE(snapshot.spans.empty());
}

TEST(Recorder, StepOfNoCallsIsNoStep) {  // row P09
  Recorder recorder;
  recorder.end_step();
  EXPECT_EQ(recorder.snapshot().steps, 0U);
}

TEST(TickClock, RefusesPeriodsAndWidthsThatMeasureNothing) {  // row P04
  EXPECT_FALSE(TickClock({0.0, 64}).is_usable());
  EXPECT_FALSE(TickClock({std::nan(""), 64}).is_usable());
  EXPECT_FALSE(TickClock({INFINITY, 64}).is_usable());
  EXPECT_FALSE(TickClock({-1.0, 64}).is_usable());
  EXPECT_FALSE(TickClock({1.0, 0}).is_usable());
  EXPECT_FALSE(ticks_between({0.0, 64}, 1, 2).has_value());
}

TEST(TickClock, CountsExactlyAcrossAWrapAndDropsBackwards) {
  EXPECT_EQ(ticks_between({1.0, 36}, (uint64_t{1} << 36) - 10, 5), 15U);
  EXPECT_FALSE(ticks_between({1.0, 36}, 100, 90).has_value());
  EXPECT_FALSE(ticks_between({1.0, 64}, 100, 90).has_value());
  EXPECT_FALSE(ticks_between({1.0, 64}, 100, 0).has_value());
  const uint64_t large = (uint64_t{1} << 60) + 1;
  EXPECT_EQ(ticks_between({1.0, 64}, large, large + 3), 3U);
  EXPECT_EQ(ticks_to_ns({1.0, 64}, large), large);
  EXPECT_EQ(ticks_to_ns({83.333, 64}, 12), 1000U);
}

}  // namespace
}  // namespace qualia::profile
