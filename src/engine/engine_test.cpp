#include "engine/engine.h"

#include <gtest/gtest.h>

#include "engine/engine_fixture_test.h"
#include "engine/evaluation.h"

namespace qualia::engine {
namespace {

TEST_F(EngineTest, ChoosesTheLanesArgmaxStepByStep) {
  const auto done = run(request(kPrompt, 20, 0));
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->tokens, expected_tokens(kPrompt, 20));
  EXPECT_EQ(done->reason, done->tokens.size() == 20 ? EndReason::length : EndReason::stop);
}

TEST_F(EngineTest, GivesExactlyTheMaximumOfTokens) {
  for (const uint32_t count : {0U, 1U, 5U}) {
    const auto done = run(request(kPrompt, count, 0));
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(done->tokens.size(), count);
    EXPECT_EQ(done->reason, EndReason::length);
  }
}

TEST_F(EngineTest, ComputesALongPromptInChunksWithTheSameResult) {
  std::vector<TokenId> prompt(150);
  for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<TokenId>(i * 7 % 256);
  const auto done = run(request(prompt, 4, 0));
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->tokens, expected_tokens(prompt, 4));
  EXPECT_LE(lane_->largest_batch, 16U);
}

TEST_F(EngineTest, ServesSeveralRequestsInOneBatchWithoutMixingThem) {
  make(16, 200, 16);
  std::vector<std::vector<TokenId>> prompts;
  for (TokenId i = 0; i < 5; ++i) prompts.push_back({i, i, 3, 2, 1, i});
  for (size_t i = 0; i < prompts.size(); ++i)
    ASSERT_TRUE(engine_->submit(request(prompts[i], 12, i)).has_value());
  run_all();
  for (size_t i = 0; i < prompts.size(); ++i) {
    ASSERT_TRUE(ends_[i].has_value() && ends_[i]->has_value());
    EXPECT_EQ((*ends_[i])->tokens, expected_tokens(prompts[i], 12));
  }
  EXPECT_LT(lane_->steps, 5U * 12U);
}

TEST_F(EngineTest, StartsFromTheCachedBeginningOfAnEarlierPrompt) {
  std::vector<TokenId> prompt(100, 3);
  ASSERT_TRUE(run(request(prompt, 3, 0)).has_value());
  prompt.back() = 4;
  const auto done = run(request(prompt, 3, 0));
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->cached_tokens, 99U);
  EXPECT_EQ(done->tokens, expected_tokens(prompt, 3));
}

TEST_F(EngineTest, EndsWhereTheContextIsFull) {
  make(16, 8, 2);
  const auto done = run(request(kPrompt, std::nullopt, 0));
  ASSERT_TRUE(done.has_value());
  const auto wanted = expected_tokens(kPrompt, 4);
  EXPECT_EQ(done->tokens, wanted);
  EXPECT_EQ(done->reason, wanted.size() == 4 ? EndReason::context : EndReason::stop);
}

TEST_F(EngineTest, RefusesAPromptThatIsEmptyTooLongOrOutOfRange) {
  make(16, 8, 2);
  for (const std::vector<TokenId>& prompt :
       {std::vector<TokenId>{}, std::vector<TokenId>(9, 1), std::vector<TokenId>{-1},
        std::vector<TokenId>{static_cast<TokenId>(kVocabulary)}}) {
    const auto done = run(request(prompt, 1, 0));
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, ErrorCode::invalid_argument);
  }
}

TEST_F(EngineTest, StopsWithinOneBatchOfACancel) {
  bool cancel = false;
  Request one = request(kPrompt, std::nullopt, 0);
  one.is_cancelled = [&] { return cancel; };
  ASSERT_TRUE(engine_->submit(std::move(one)).has_value());
  engine_->step();
  cancel = true;
  const size_t steps = lane_->steps;
  run_all();
  EXPECT_EQ(lane_->steps, steps);
  ASSERT_TRUE(ends_[0].has_value() && ends_[0]->has_value());
  EXPECT_EQ((*ends_[0])->reason, EndReason::cancelled);
  EXPECT_EQ((*ends_[0])->tokens.size(), 1U);
}

TEST_F(EngineTest, StreamsTheSameTextThatItReturns) {
  std::string streamed;
  Request one = request(kPrompt, 50, 0);
  one.on_text = [&](std::string_view text) { streamed += text; };
  const auto done = run(std::move(one));
  ASSERT_TRUE(done.has_value());
  EXPECT_FALSE(done->text.empty());
  EXPECT_EQ(streamed, done->text);
}

TEST_F(EngineTest, EndsBeforeAStopString) {
  const auto whole = run(request(kPrompt, 12, 0));
  ASSERT_TRUE(whole.has_value());
  // Three bytes from the middle of the text; what is no UTF-8 in it shows as U+FFFD, also a
  // character.
  const std::string stop = whole->text.substr(whole->text.size() / 2, 3);
  Request one = request(kPrompt, 12, 0);
  one.stops = {stop};
  const auto done = run(std::move(one));
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->reason, EndReason::stop);
  EXPECT_EQ(done->text, whole->text.substr(0, whole->text.find(stop)));
  EXPECT_LT(done->tokens.size(), whole->tokens.size());
}

// Row N20: NaN ends its own request within a token and no other.
TEST_F(EngineTest, NanEndsOneRequestAndLeavesTheOthers) {
  lane_->poison = 99;
  ASSERT_TRUE(engine_->submit(request({99, 1, 2}, 5, 0)).has_value());
  ASSERT_TRUE(engine_->submit(request(kPrompt, 5, 1)).has_value());
  run_all();
  ASSERT_TRUE(ends_[0].has_value() && ends_[1].has_value());
  ASSERT_FALSE(ends_[0]->has_value());
  EXPECT_EQ(ends_[0]->error().code, ErrorCode::numeric);
  ASSERT_TRUE(ends_[1]->has_value());
  EXPECT_EQ((*ends_[1])->tokens, expected_tokens(kPrompt, 5));
}

TEST_F(EngineTest, ALostDeviceFailsTheRequestsInFlightOnly) {
  lane_->fail_next = true;
  EXPECT_EQ(run(request(kPrompt, 5, 0)).error().code, ErrorCode::device_lost);
  const auto done = run(request(kPrompt, 5, 0));
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->tokens, expected_tokens(kPrompt, 5));
}

// Row N12: an output matrix with more rows than the vocabulary has tokens.
TEST_F(EngineTest, TokensWithoutTextAreCountedAndShowNothing) {
  auto lane = std::make_unique<FakeLane>(kVocabulary + 50, 16);
  lane_ = lane.get();
  engine_ = std::make_unique<Engine>(
      std::move(lane), tokenizer_.get(),
      EngineLimits{.context = 200, .vocabulary_size = kVocabulary + 50, .page_capacity = 8});
  Request one = request(kPrompt, 3, 0);
  one.sampler.logit_bias = {{static_cast<TokenId>(kVocabulary + 7), 1e6F}};
  const auto done = run(std::move(one));
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->tokens, std::vector<TokenId>(3, static_cast<TokenId>(kVocabulary + 7)));
  EXPECT_EQ(done->text, "");
}

TEST_F(EngineTest, CountsThePromptTokensThatItComputes) {
  const std::vector<TokenId> prompt(100, 3);
  EXPECT_EQ(run(request(prompt, 2, 0))->prefill_tokens, 100U);
  EXPECT_EQ(run(request(prompt, 2, 0))->prefill_tokens, 1U);
  EXPECT_EQ(run(request(prompt, 0, 0))->prefill_tokens, 0U);
}

TEST_F(EngineTest, EveryRequestGetsRowsWhereTheLaneTakesFewerThanThereAreRequests) {
  make(2, 200, 16);
  for (size_t i = 0; i < 5; ++i)
    ASSERT_TRUE(engine_->submit(request(talkative_prompt(i, 3), 40, i)).has_value());
  // 5 requests of 42 rows at 2 rows a batch take 105 batches; served in turn, none ends early.
  for (int i = 0; i < 95; ++i) engine_->step();
  EXPECT_TRUE(order_.empty());
  run_all();
  for (size_t i = 0; i < 5; ++i)
    EXPECT_EQ((*ends_[i])->tokens, expected_tokens(talkative_prompt(i, 3), 40));
  EXPECT_EQ(lane_->largest_batch, 2U);
}

TEST_F(EngineTest, ScoresEveryPositionOfAText) {
  std::vector<TokenId> tokens(40);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<TokenId>(i);
  const auto scored = evaluate_logits(*engine_, tokens, 3, 2);
  ASSERT_TRUE(scored.has_value());
  ASSERT_EQ(scored->size(), 3U);
  EXPECT_EQ(scored->back().position, 39U);
  EXPECT_EQ(scored->back().top[0].token, FakeLane::answer(tokens, kVocabulary));
  EXPECT_EQ(scored->back().top.size(), 2U);
}

TEST_F(EngineTest, PerplexityCountsWholeWindowsOnly) {
  const std::vector<TokenId> tokens(50, 5);
  const auto report = evaluate_perplexity(*engine_, tokens, 20, {});
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->windows, 2U);
  EXPECT_EQ(report->tokens, 38U);
  EXPECT_EQ(report->argmax.size(), 40U);
  EXPECT_EQ(evaluate_perplexity(*engine_, tokens, 60, {}).error().code,
            ErrorCode::invalid_argument);
}

TEST_F(EngineTest, ScoringGivesItsPagesBackWhicheverWayItEnds) {
  const std::vector<TokenId> tokens(150, 5);
  const uint32_t free_pages = engine_->cache().free_pages();
  lane_->poison = 5;
  EXPECT_EQ(evaluate_logits(*engine_, tokens, 1, 1).error().code, ErrorCode::numeric);
  lane_->poison.reset();
  const auto throwing = [](uint32_t, const lanes::RowOutput&) -> Result<void> { throw 1; };
  EXPECT_THROW((void)engine_->score(tokens, 0, lanes::RowOutputKind::argmax, throwing), int);
  lane_->fail_next = true;
  EXPECT_FALSE(measure_speed(*engine_, {.prompt_tokens = 20}, {}).has_value());
  EXPECT_EQ(engine_->cache().free_pages(), free_pages);
}

TEST_F(EngineTest, BenchNamesItsTestsAsLlamaBenchDoes) {
  const auto rows = measure_speed(
      *engine_, {.prompt_tokens = 30, .generated_tokens = 4, .depth = 10, .repetitions = 2}, {});
  ASSERT_TRUE(rows.has_value());
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[0].test, "pp30 @ d10");
  EXPECT_EQ((*rows)[1].test, "tg4 @ d10");
  EXPECT_EQ((*rows)[1].tok_s.size(), 2U);
  EXPECT_EQ(measure_speed(*engine_, {.depth = 199}, {}).error().code, ErrorCode::invalid_argument);
}

TEST_F(EngineTest, BenchDecodesSequencesSideBySideAndCountsAllTheirTokens) {
  const uint32_t free_pages = engine_->cache().free_pages();
  const SpeedOptions one{.prompt_tokens = 0, .generated_tokens = 4, .repetitions = 1};
  SpeedOptions three = one;
  three.sequences = 3;
  const auto alone = measure_speed(*engine_, one, {});
  const auto rows = measure_speed(*engine_, three, {});
  ASSERT_TRUE(alone.has_value() && rows.has_value());
  EXPECT_EQ(rows->front().test, "tg4 x3");
  EXPECT_LT(rows->front().bytes_per_token, alone->front().bytes_per_token);
  EXPECT_EQ(engine_->cache().free_pages(), free_pages);
  three.sequences = 0;
  EXPECT_FALSE(measure_speed(*engine_, three, {}).has_value());
}

TEST_F(EngineTest, ProfileRecordsThePromptAndTheReplyButNotTheDepth) {
  const uint32_t free_pages = engine_->cache().free_pages();
  const auto run =
      measure_profile(*engine_, {.prompt_tokens = 20, .generated_tokens = 5, .depth = 30}, {});
  ASSERT_TRUE(run.has_value()) << run.error().message;
  EXPECT_EQ(run->reading.totals[Phase::attention].calls, 25U);
  EXPECT_EQ(run->steps, 7U);  // batches of 16
  EXPECT_EQ(run->reading.totals.steps, 7U);
  EXPECT_EQ(run->reading.granularity, "each row");
  EXPECT_GT(run->wall_ns, 0U);
  EXPECT_FALSE(lane_->is_recorded);
  EXPECT_EQ(engine_->cache().free_pages(), free_pages);
}

TEST_F(EngineTest, ProfileIsOffAgainAfterAFault) {
  uint64_t polls = 0;
  const Hooks hooks{.progress = {}, .cancel = [&] { return ++polls > 9; }};
  EXPECT_EQ(measure_profile(*engine_, {.generated_tokens = 20}, hooks).error().code,
            ErrorCode::cancelled);
  EXPECT_GT(polls, 9U);
  EXPECT_FALSE(lane_->is_recorded);
}

TEST_F(EngineTest, ProfileRefusesWhatItCanNotRun) {
  EXPECT_EQ(measure_profile(*engine_, {.generated_tokens = 0}, {}).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(
      measure_profile(*engine_, {.prompt_tokens = 100, .generated_tokens = 50, .depth = 51}, {})
          .error()
          .message,
      "The profile needs 201 positions (the context has 200).");
  lane_->has_clock = false;
  EXPECT_EQ(measure_profile(*engine_, {}, {}).error().message, "The fake lane has no clock.");
}

TEST_F(EngineTest, ProfiledBenchHasTheLastRunOfEachTestOrTheReasonWhyNot) {
  const SpeedOptions options{.prompt_tokens = 20,
                             .generated_tokens = 4,
                             .depth = 10,
                             .repetitions = 2,
                             .is_profiled = true};
  const auto rows = measure_speed(*engine_, options, {});
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ((*rows)[0].profile.value().reading.totals[Phase::attention].calls, 20U);
  EXPECT_EQ((*rows)[1].profile.value().reading.totals[Phase::attention].calls, 4U);
  lane_->has_clock = false;
  const auto unrecorded = measure_speed(*engine_, options, {});
  ASSERT_TRUE(unrecorded.has_value());
  for (const SpeedRow& row : *unrecorded) {
    EXPECT_FALSE(row.profile.has_value());
    EXPECT_EQ(row.profile_error.value().message, "The fake lane has no clock.");
  }
  SpeedOptions off = options;
  off.is_profiled = false;
  const auto plain = measure_speed(*engine_, off, {});
  ASSERT_TRUE(plain.has_value());
  EXPECT_FALSE((*plain)[0].profile || (*plain)[0].profile_error);
}

}  // namespace
}  // namespace qualia::engine
