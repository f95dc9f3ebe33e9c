// Steps queued ahead: how far, and that nothing but the time differs. The fake lane checks each
// queued step against the one before.

#include <gtest/gtest.h>

#include <random>

#include "engine/engine_fixture_test.h"

namespace qualia::engine {
namespace {

class StepAheadTest : public EngineTest {
 protected:
  // What `one` gives on a lane behind which nothing is queued.
  Completion plain(const std::vector<TokenId>& prompt, std::optional<uint32_t> max_tokens,
                   std::vector<std::string> stops = {}) {
    auto lane = std::make_unique<FakeLane>(kVocabulary, 16);
    FakeLane* const raw = lane.get();
    raw->set_computes_in_submit();
    Engine engine(
        std::move(lane), tokenizer_.get(),
        {.context = engine_->limits().context, .vocabulary_size = kVocabulary, .page_capacity = 8});
    Completion completion;
    Request one = request(prompt, max_tokens, 0);
    one.stops = std::move(stops);
    one.on_end = [&](Result<Completion> end) { completion = std::move(end).value(); };
    EXPECT_TRUE(engine.submit(std::move(one)).has_value());
    while (engine.step()) {
    }
    EXPECT_EQ(raw->queued_max, 1U);
    return completion;
  }

  void expect_same(const Completion& done, const Completion& wanted) {
    EXPECT_EQ(done.tokens, wanted.tokens);
    EXPECT_EQ(done.text, wanted.text);
    EXPECT_EQ(done.reason, wanted.reason);
    EXPECT_EQ(done.decode_tokens, wanted.decode_tokens);
    EXPECT_EQ(done.prefill_tokens, wanted.prefill_tokens);
  }

  // A prompt whose reply ends by itself after a few tokens.
  std::vector<TokenId> laconic_prompt() {
    std::vector<TokenId> prompt{1, 2, 3};
    for (size_t i = 0;; ++i) {
      prompt[0] = static_cast<TokenId>(i % 256);
      prompt[1] = static_cast<TokenId>(i / 256);
      const size_t length = expected_tokens(prompt, 40).size();
      if (length >= 5 && length < 40) return prompt;
    }
  }

  // The next turn of a talk takes up all that the last one computed, and goes on right.
  void expect_talk_goes_on(std::vector<TokenId> history, const std::vector<TokenId>& reply) {
    history.insert(history.end(), reply.begin(), reply.end());
    const size_t computed = history.size() - 1;
    history.push_back(77);
    const auto done = run(request(history, 6, 0));
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(done->cached_tokens, computed);
    EXPECT_EQ(done->tokens, expected_tokens(history, 6));
  }
};

TEST_F(StepAheadTest, TwoStepsWaitBehindTheOneThatRuns) {
  const std::vector<TokenId> prompt = talkative_prompt(1, 20);
  const auto done = run(request(prompt, 100, 0));
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(lane_->queued_max, 1 + kStepsAhead);
  EXPECT_EQ(lane_->queued_count(), 0U);
  // The last tokens are no surprise: 2 batches of the prompt, 99 tokens fed back, none in vain.
  EXPECT_EQ(lane_->steps, 2U + 99U);
  expect_same(*done, plain(prompt, 100));
}

TEST_F(StepAheadTest, ALaneThatComputesInSubmitGetsNothingAhead) {
  lane_->set_computes_in_submit();
  ASSERT_TRUE(run(request(talkative_prompt(1, 20), 50, 0)).has_value());
  EXPECT_EQ(lane_->queued_max, 1U);
}

TEST_F(StepAheadTest, NothingIsQueuedForASamplerThatNeedsMoreThanTheBestToken) {
  Request warm = request(kPrompt, 20, 0);
  warm.sampler.temperature = 1;
  ASSERT_TRUE(run(std::move(warm)).has_value());
  Request penalised = request(kPrompt, 20, 0);
  penalised.sampler.repeat_penalty = 1.1F;
  ASSERT_TRUE(run(std::move(penalised)).has_value());
  EXPECT_EQ(lane_->queued_max, 1U);
}

TEST_F(StepAheadTest, AReplyThatEndsItselfLeavesTheStepsBehindItVoid) {
  const std::vector<TokenId> prompt = laconic_prompt();
  const auto done = run(request(prompt, std::nullopt, 0));
  ASSERT_TRUE(done.has_value());
  expect_same(*done, plain(prompt, std::nullopt));
  EXPECT_EQ(done->reason, EndReason::stop);
  // The end was told before the steps behind it were waited for.
  EXPECT_EQ(lane_->queued_count(), kStepsAhead);
  engine_->cache();
  EXPECT_EQ(lane_->queued_count(), 0U);
}

TEST_F(StepAheadTest, AfterAnEndTheCacheHoldsTheAcceptedTokensAndNoOthers) {
  const std::vector<TokenId> prompt = laconic_prompt();
  const auto done = run(request(prompt, std::nullopt, 0));
  ASSERT_TRUE(done.has_value());
  // The token that ended the reply was fed to a queued step too, but nobody claims it.
  std::vector<TokenId> longer = prompt;
  longer.insert(longer.end(), done->tokens.begin(), done->tokens.end());
  longer.push_back(kEnd);
  longer.push_back(5);
  const auto next = run(request(longer, 6, 0));
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->cached_tokens, prompt.size() + done->tokens.size());
  EXPECT_EQ(next->tokens, expected_tokens(longer, 6));
}

TEST_F(StepAheadTest, AStopStringEndsTheSameTextAsWithoutQueueing) {
  const std::vector<TokenId> prompt = talkative_prompt(3, 10);
  const std::string whole = plain(prompt, 40).text;
  const std::string stop = whole.substr(whole.size() / 2, 3);
  Request one = request(prompt, 40, 0);
  one.stops = {stop};
  const auto done = run(std::move(one));
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(lane_->queued_max, 1 + kStepsAhead);
  EXPECT_EQ(done->reason, EndReason::stop);
  expect_same(*done, plain(prompt, 40, {stop}));
  expect_talk_goes_on(prompt, done->tokens);
}

TEST_F(StepAheadTest, GivesExactlyTheMaximumOfTokensWithNoStepInVain) {
  for (const uint32_t count : {1U, 2U, 3U, 4U, 9U}) {
    make(16, 200, 8);
    const std::vector<TokenId> prompt = talkative_prompt(2, 10);
    const auto done = run(request(prompt, count, 0));
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(done->tokens, expected_tokens(prompt, count));
    EXPECT_EQ(lane_->steps, count);
    expect_talk_goes_on(prompt, done->tokens);
  }
}

TEST_F(StepAheadTest, TheContextEndsAReplyWithNoStepBeyondIt) {
  make(16, 40, 8);  // a context that ends within a page
  const std::vector<TokenId> prompt = talkative_prompt(2, 10);
  const auto done = run(request(prompt, std::nullopt, 0));
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->reason, EndReason::context);
  EXPECT_EQ(done->tokens, expected_tokens(prompt, 31));
  EXPECT_EQ(lane_->steps, 31U);
}

TEST_F(StepAheadTest, ACancelledRequestLeavesTheStepsOfTheOthersGood) {
  bool cancel = false;
  const std::vector<TokenId> first = talkative_prompt(1, 5);
  const std::vector<TokenId> second = talkative_prompt(2, 5);
  Request one = request(first, std::nullopt, 0);
  one.is_cancelled = [&] { return cancel; };
  ASSERT_TRUE(engine_->submit(std::move(one)).has_value());
  ASSERT_TRUE(engine_->submit(request(second, 30, 1)).has_value());
  for (int i = 0; i < 7; ++i) engine_->step();
  EXPECT_EQ(lane_->queued_count(), kStepsAhead);
  cancel = true;
  run_all();
  EXPECT_EQ((*ends_[0])->reason, EndReason::cancelled);
  EXPECT_EQ((*ends_[0])->tokens, expected_tokens(first, 7));
  EXPECT_EQ((*ends_[1])->tokens, expected_tokens(second, 30));
  // No step was computed twice: the second's prompt and its 29 tokens, one batch each.
  EXPECT_EQ(lane_->steps, 30U);
  expect_talk_goes_on(first, (*ends_[0])->tokens);
}

TEST_F(StepAheadTest, RequestsOfDifferentLengthsEndEachInItsOwnTime) {
  const std::vector<uint32_t> counts{3, 20, 11};
  for (size_t i = 0; i < counts.size(); ++i)
    ASSERT_TRUE(engine_->submit(request(talkative_prompt(i, 4 + i), counts[i], i)).has_value());
  run_all();
  EXPECT_EQ(order_, (std::vector<size_t>{0, 2, 1}));
  EXPECT_EQ(lane_->queued_max, 1 + kStepsAhead);
  for (size_t i = 0; i < counts.size(); ++i)
    EXPECT_EQ((*ends_[i])->tokens, expected_tokens(talkative_prompt(i, 4 + i), counts[i]));
}

TEST_F(StepAheadTest, ARequestThatArrivesMeanwhileStartsAfterTheQueuedSteps) {
  ASSERT_TRUE(engine_->submit(request(talkative_prompt(1, 5), 60, 0)).has_value());
  for (int i = 0; i < 5; ++i) engine_->step();
  EXPECT_EQ(lane_->queued_count(), kStepsAhead);
  ASSERT_TRUE(engine_->submit(request(talkative_prompt(2, 40), 5, 1)).has_value());
  const size_t steps = lane_->steps;
  for (size_t i = 0; i < kStepsAhead; ++i) engine_->step();
  EXPECT_EQ(lane_->steps, steps);
  run_all();
  EXPECT_EQ(order_, (std::vector<size_t>{1, 0}));
  EXPECT_EQ((*ends_[0])->tokens, expected_tokens(talkative_prompt(1, 5), 60));
  EXPECT_EQ((*ends_[1])->tokens, expected_tokens(talkative_prompt(2, 40), 5));
}

TEST_F(StepAheadTest, APageShortageWaitsForTheQueuedStepsAndChangesNoToken) {
  make(256, 256, 4);
  ASSERT_TRUE(engine_->submit(request(talkative_prompt(1, 120), 100, 0)).has_value());
  ASSERT_TRUE(engine_->submit(request(talkative_prompt(2, 120), 100, 1)).has_value());
  run_all();
  EXPECT_EQ(lane_->queued_max, 1 + kStepsAhead);
  EXPECT_EQ((*ends_[0])->tokens, expected_tokens(talkative_prompt(1, 120), 100));
  EXPECT_EQ((*ends_[1])->tokens, expected_tokens(talkative_prompt(2, 120), 100));
}

TEST_F(StepAheadTest, AQueuedStepThatFailsEndsItsRequestsAndNoLaterOnes) {
  lane_->fail_collect_of = 6;
  std::string streamed;
  Request one = request(talkative_prompt(1, 5), 60, 0);
  one.on_text = [&](std::string_view text) { streamed += text; };
  ASSERT_TRUE(engine_->submit(std::move(one)).has_value());
  ASSERT_TRUE(engine_->submit(request(talkative_prompt(2, 5), 60, 1)).has_value());
  run_all();
  EXPECT_EQ(ends_[0]->error().code, ErrorCode::device_lost);
  EXPECT_EQ(ends_[1]->error().code, ErrorCode::device_lost);
  EXPECT_FALSE(streamed.empty());
  const auto done = run(request(talkative_prompt(1, 5), 60, 0));
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->cached_tokens, 0U);
  EXPECT_EQ(done->tokens, expected_tokens(talkative_prompt(1, 5), 60));
}

TEST_F(StepAheadTest, AStepThatIsRefusedEndsItsRequestsAfterTheTokensBeforeIt) {
  lane_->fail_submit_of = 6;
  const std::vector<TokenId> prompt = talkative_prompt(1, 5);
  ASSERT_TRUE(engine_->submit(request(prompt, std::nullopt, 0)).has_value());
  std::string streamed;
  Request other = request(talkative_prompt(2, 5), std::nullopt, 1);
  other.on_text = [&](std::string_view text) { streamed += text; };
  ASSERT_TRUE(engine_->submit(std::move(other)).has_value());
  run_all();
  EXPECT_EQ(ends_[0]->error().code, ErrorCode::device_lost);
  EXPECT_EQ(ends_[1]->error().code, ErrorCode::device_lost);
  EXPECT_EQ(lane_->queued_count(), 0U);
  EXPECT_EQ(engine_->cache().sequence_count(), 0U);
  // Five steps came before it. Text that could still become a character is held back.
  const std::string whole = plain(talkative_prompt(2, 5), 5).text;
  EXPECT_FALSE(streamed.empty());
  EXPECT_EQ(streamed, whole.substr(0, streamed.size()));
  EXPECT_EQ(run(request(prompt, 30, 0))->tokens, expected_tokens(prompt, 30));
}

TEST_F(StepAheadTest, ARefusedStepIsNoFaultOfAReplyThatEndedBeforeIt) {
  const std::vector<TokenId> prompt = laconic_prompt();
  // The reply of n tokens ends with step n + 1; step n + 3 is queued when step n + 1 has not come.
  lane_->fail_submit_of = expected_tokens(prompt, 40).size() + 3;
  const auto done = run(request(prompt, std::nullopt, 0));
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(lane_->steps, *lane_->fail_submit_of);
  expect_same(*done, plain(prompt, std::nullopt));
}

TEST_F(StepAheadTest, NanInAQueuedStepEndsItsRequestOnly) {
  const std::vector<TokenId> first = talkative_prompt(1, 5);
  const std::vector<TokenId> second = talkative_prompt(2, 5);
  const std::vector<TokenId> expected = expected_tokens(second, 60);
  const std::vector<TokenId> reply = expected_tokens(first, 60);
  // A token that the first says late and the second never.
  for (size_t i = 5; i < reply.size() && !lane_->poison; ++i)
    if (std::ranges::find(expected, reply[i]) == expected.end()) lane_->poison = reply[i];
  ASSERT_TRUE(lane_->poison.has_value());
  ASSERT_TRUE(engine_->submit(request(first, 60, 0)).has_value());
  ASSERT_TRUE(engine_->submit(request(second, 60, 1)).has_value());
  run_all();
  EXPECT_EQ(ends_[0]->error().code, ErrorCode::numeric);
  ASSERT_TRUE(ends_[1]->has_value());
  EXPECT_EQ((*ends_[1])->tokens, expected);
}

TEST_F(StepAheadTest, ScoringInTheMiddleOfAReplyFindsTheLaneAtRest) {
  const std::vector<TokenId> prompt = talkative_prompt(1, 5);
  ASSERT_TRUE(engine_->submit(request(prompt, 30, 0)).has_value());
  for (int i = 0; i < 4; ++i) engine_->step();
  const std::vector<TokenId> text(20, 9);
  TokenId last = -1;
  ASSERT_TRUE(engine_
                  ->score(text, 0, lanes::RowOutputKind::argmax,
                          [&](uint32_t, const lanes::RowOutput& output) -> Result<void> {
                            last = output.argmax;
                            return {};
                          })
                  .has_value());
  EXPECT_EQ(last, FakeLane::answer(text, kVocabulary));
  run_all();
  EXPECT_EQ((*ends_[0])->tokens, expected_tokens(prompt, 30));
}

TEST_F(StepAheadTest, TheCallbacksOfAnEndedRequestAreNotCalledAgain) {
  int polls = 0;
  Request one = request(laconic_prompt(), std::nullopt, 0);
  one.is_cancelled = [&] { return ++polls < 0; };
  ASSERT_TRUE(run(std::move(one)).has_value());
  EXPECT_EQ(lane_->queued_count(), kStepsAhead);
  const int polls_before = polls;
  EXPECT_FALSE(engine_->step());
  EXPECT_EQ(polls, polls_before);
  EXPECT_EQ(order_.size(), 1U);
}

TEST_F(StepAheadTest, EveryMixOfEndsGivesTheTokensOfTheUnqueuedEngine) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  for (int round = 0; round < 30; ++round) {
    make(1 + below(40), 200, 4 + below(6));
    ends_.clear();
    std::vector<std::vector<TokenId>> prompts;
    std::vector<uint32_t> counts;
    for (uint32_t i = 0; i < 2 + below(6); ++i) {
      prompts.emplace_back(1 + below(80), static_cast<TokenId>(below(4)));
      prompts.back().back() = static_cast<TokenId>(below(256));
      counts.push_back(1 + below(90));
      Request one = request(prompts.back(), counts.back(), i);
      if (below(4) == 0) one.sampler.logit_bias = {{0, 0.0F}};  // greedy, but by the logits
      ASSERT_TRUE(engine_->submit(std::move(one)).has_value());
      for (uint32_t steps = below(40); steps > 0; --steps) engine_->step();
    }
    run_all();
    for (size_t i = 0; i < prompts.size(); ++i) {
      ASSERT_TRUE(ends_[i].has_value() && ends_[i]->has_value());
      EXPECT_EQ((*ends_[i])->tokens, expected_tokens(prompts[i], counts[i]));
    }
  }
}

}  // namespace
}  // namespace qualia::engine
