// What happens when requests need more KV pages than there are. Pages have 64 positions.

#include <gtest/gtest.h>

#include <random>

#include "engine/engine_fixture_test.h"

namespace qualia::engine {
namespace {

class PageShortageTest : public EngineTest {
 protected:
  void submit(const std::vector<TokenId>& prompt, uint32_t max_tokens) {
    const size_t index = prompts_.size();
    prompts_.push_back(prompt);
    ASSERT_TRUE(engine_->submit(request(prompt, max_tokens, index)).has_value());
    counts_.push_back(max_tokens);
  }

  void expect_all_right() {
    for (size_t i = 0; i < prompts_.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "request " << i);
      ASSERT_TRUE(ends_[i].has_value());
      ASSERT_TRUE(ends_[i]->has_value()) << ends_[i]->error().message;
      EXPECT_EQ((*ends_[i])->tokens, expected_tokens(prompts_[i], counts_[i]));
    }
  }

  std::vector<std::vector<TokenId>> prompts_;
  std::vector<uint32_t> counts_;
};

TEST_F(PageShortageTest, AWaitingPromptStartsWhenAnotherRequestEnds) {
  make(256, 200, 4);
  submit(talkative_prompt(1, 180), 4);
  submit(talkative_prompt(2, 170), 4);
  run_all();
  expect_all_right();
  EXPECT_EQ(order_, (std::vector<size_t>{0, 1}));
}

TEST_F(PageShortageTest, TheYoungerOfTwoThatHoldHalfThePagesGivesWayAndEndsLater) {
  make(256, 256, 4);
  submit(talkative_prompt(1, 120), 100);
  submit(talkative_prompt(2, 120), 100);
  run_all();
  expect_all_right();
  EXPECT_EQ(order_, (std::vector<size_t>{0, 1}));
}

TEST_F(PageShortageTest, APausedRequestComputesOnlyWhatOthersTookAgain) {
  make(256, 512, 8);
  submit(talkative_prompt(1, 250), 70);
  submit(talkative_prompt(2, 250), 70);
  run_all();
  expect_all_right();
  // The first takes one page of the second: 500 prompt rows, 140 reply rows, 64 rows again.
  EXPECT_LE(lane_->rows, 500U + 140U + 2U * 64U);
}

TEST_F(PageShortageTest, StartsInOrderOfArrivalSoThatALargePromptIsNotPassedByForEver) {
  make(256, 256, 4);
  submit(talkative_prompt(1, 100), 60);
  submit(talkative_prompt(2, 200), 2);
  submit(talkative_prompt(3, 10), 2);
  run_all();
  expect_all_right();
  EXPECT_EQ(order_[0], 0U);
}

TEST_F(PageShortageTest, StreamsNothingTwiceAfterAPause) {
  make(256, 256, 4);
  submit(talkative_prompt(1, 120), 100);
  const std::vector<TokenId> second = talkative_prompt(2, 120);
  std::string streamed;
  Request paused = request(second, 100, 1);
  paused.on_text = [&](std::string_view text) { streamed += text; };
  ASSERT_TRUE(engine_->submit(std::move(paused)).has_value());
  run_all();
  ASSERT_TRUE(ends_[1].has_value() && ends_[1]->has_value());
  EXPECT_EQ(streamed, (*ends_[1])->text);
  EXPECT_EQ((*ends_[1])->tokens, expected_tokens(second, 100));
}

TEST_F(PageShortageTest, AWaitingRequestCanBeCancelled) {
  make(256, 256, 4);
  submit(talkative_prompt(1, 200), 50);
  bool cancel = false;
  Request waiting = request(talkative_prompt(2, 200), 5, 1);
  waiting.is_cancelled = [&] { return cancel; };
  ASSERT_TRUE(engine_->submit(std::move(waiting)).has_value());
  engine_->step();
  cancel = true;
  engine_->step();
  ASSERT_TRUE(ends_[1].has_value() && ends_[1]->has_value());
  EXPECT_EQ((*ends_[1])->reason, EndReason::cancelled);
  run_all();
  expect_all_right();
}

TEST_F(PageShortageTest, ALaneOutOfMemoryPausesTheYoungerAndFailsOnlyWhoIsAlone) {
  make(256, 1024, 16);
  lane_->page_limit = 4;
  submit(talkative_prompt(1, 120), 100);
  submit(talkative_prompt(2, 120), 100);
  run_all();
  expect_all_right();
  ASSERT_TRUE(engine_->submit(request(talkative_prompt(3, 300), 1, 2)).has_value());
  run_all();
  ASSERT_FALSE(ends_[2]->has_value());
  EXPECT_EQ(ends_[2]->error().code, ErrorCode::out_of_memory);
}

TEST_F(PageShortageTest, TheContextIsNoLongerThanAllPagesHold) {
  make(256, 1000, 2);
  const auto done = run(request(talkative_prompt(1, 100), std::nullopt, 0));
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->reason, EndReason::context);
  EXPECT_EQ(done->tokens.size(), 128U - 100U + 1U);
  EXPECT_EQ(run(request(talkative_prompt(1, 129), 1, 0)).error().code, ErrorCode::invalid_argument);
}

TEST_F(PageShortageTest, EveryMixOfRequestsEndsWithTheRightTokens) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  for (int round = 0; round < 20; ++round) {
    make(1 + below(40), 256, 4 + below(4));
    ends_.clear();
    prompts_.clear();
    counts_.clear();
    const uint32_t count = 2 + below(8);
    for (uint32_t i = 0; i < count; ++i) {
      // Few numbers, so that beginnings are shared too.
      submit(talkative_prompt(below(3), 1 + below(200)), 1 + below(56));
      for (uint32_t steps = below(30); steps > 0; --steps) engine_->step();
    }
    run_all();
    expect_all_right();
  }
}

}  // namespace
}  // namespace qualia::engine
