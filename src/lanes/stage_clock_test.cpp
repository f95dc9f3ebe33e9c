#include "lanes/stage_clock.h"

#include <gtest/gtest.h>

namespace qualia::lanes {
namespace {

using profile::Snapshot;

// A clock that the test moves.
class StageClockTest : public testing::Test {
 protected:
  // A step of two layers whose stages take 10 ns each, `attend` as long as asked.
  bool run_step(uint64_t attend_ns = 10) {
    if (!clock_.begin_step(stage_count(2, 1))) return false;
    end(Stage::embedding, 0);
    for (size_t layer = 0; layer < 2; ++layer) {
      end(Stage::qkv, layer);
      end(Stage::attend, layer, attend_ns);
      end(Stage::attention_output, layer);
      end(Stage::gate_up, layer);
      end(Stage::down, layer);
    }
    end(Stage::output, 0);
    clock_.end_step([](Stage stage, uint32_t index) {
      return stage == Stage::qkv ? profile::Cost{100 + index, 7} : profile::Cost{};
    });
    return true;
  }

  void end(Stage stage, size_t index, uint64_t ns = 10) {
    now_ns_ += ns;
    clock_.end_stage(stage, index);
  }

  Snapshot snapshot() const { return clock_.reading().totals; }

  uint64_t now_ns_ = 1'000'000;
  uint64_t reads_ = 0;
  StageClock clock_{[this] {
    ++reads_;
    return now_ns_;
  }};
};

TEST_F(StageClockTest, IsNotReadBeforeItIsOnAndAfterItIsOff) {
  EXPECT_FALSE(run_step());
  clock_.set({.is_on = true});
  clock_.set({});
  EXPECT_FALSE(run_step());
  EXPECT_EQ(reads_, 0U);
  EXPECT_EQ(snapshot().steps, 0U);
}

TEST_F(StageClockTest, StagesLeaveNoTimeOut) {
  clock_.set({.is_on = true});
  EXPECT_TRUE(run_step());
  const Snapshot totals = snapshot();
  EXPECT_EQ(totals.attributed_ns(), 120U);
  EXPECT_EQ(totals.busy_ns, 120U);
  EXPECT_EQ(totals[Phase::embedding].calls, 1U);
  EXPECT_EQ(totals[Phase::gemm].calls, 8U);
  EXPECT_EQ(totals[Phase::attention].calls, 2U);
  EXPECT_EQ(totals[Phase::output_topk].calls, 1U);
  EXPECT_EQ(totals[Phase::fused_block].calls, 0U);
  EXPECT_EQ(totals.ops.at(1).name, "qkv");
  EXPECT_EQ(totals.ops.at(1).cost.bytes, 201U);
  EXPECT_EQ(totals.ops.at(1).cost.multiply_adds, 14U);
  EXPECT_EQ(reads_, 1 + stage_count(2, 1));
}

TEST_F(StageClockTest, APlantedSlowStageMovesOnlyItsPhase) {
  clock_.set({.is_on = true});
  run_step(10);
  const Snapshot before = snapshot();
  clock_.set({.is_on = true});
  run_step(1000);
  const Snapshot after = snapshot();
  EXPECT_EQ(before[Phase::attention].total_ns, 20U);
  EXPECT_EQ(after[Phase::attention].total_ns, 2000U);
  for (const Phase phase : {Phase::embedding, Phase::gemm, Phase::output_topk})
    EXPECT_EQ(after[phase].total_ns, before[phase].total_ns) << to_string(phase);
}

TEST_F(StageClockTest, RecordsOneStepInSoMany) {
  clock_.set({.is_on = true, .every = 3});
  int recorded = 0;
  for (int step = 0; step < 7; ++step) recorded += run_step() ? 1 : 0;
  EXPECT_EQ(recorded, 3);
  EXPECT_EQ(snapshot().steps, 3U);
  clock_.set({.is_on = true, .every = 0});
  EXPECT_TRUE(run_step());
  EXPECT_EQ(snapshot().steps, 1U);
}

}  // namespace
}  // namespace qualia::lanes
