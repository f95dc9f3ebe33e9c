#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/evaluation.h"
#include "engine/fake_lane_test.h"
#include "tokenizer/byte_letters.h"

namespace qualia::engine {
namespace {

// 256 bytes, then <end>, which ends a turn.
constexpr TokenId kEnd = 256;
constexpr uint32_t kVocabulary = 257;

std::unique_ptr<const tokenizer::Tokenizer> byte_tokenizer() {
  tokenizer::Vocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte)
    vocabulary.tokens.emplace_back(tokenizer::letters_of_bytes(std::string(1, static_cast<char>(byte))));
  vocabulary.tokens.emplace_back("<end>");
  vocabulary.types.assign(256, tokenizer::TokenType::normal);
  vocabulary.types.push_back(tokenizer::TokenType::control);
  vocabulary.eos = kEnd;
  return tokenizer::Tokenizer::create(std::move(vocabulary)).value();
}

// What a request must give: the fake lane's rule, applied by hand.
std::vector<TokenId> expected_tokens(std::vector<TokenId> history, size_t count) {
  std::vector<TokenId> reply;
  while (reply.size() < count) {
    const TokenId next = FakeLane::answer(history, kVocabulary);
    if (next == kEnd) break;
    reply.push_back(next);
    history.push_back(next);
  }
  return reply;
}

class EngineTest : public testing::Test {
 protected:
  void SetUp() override { make(16, 200, 8); }

  void make(uint32_t batch_rows, uint32_t context, uint32_t pages) {
    auto lane = std::make_unique<FakeLane>(kVocabulary, batch_rows);
    lane_ = lane.get();
    engine_ = std::make_unique<Engine>(
        std::move(lane), tokenizer_.get(),
        EngineLimits{.context = context, .vocabulary_size = kVocabulary, .page_capacity = pages});
  }

  Request request(std::vector<TokenId> prompt, std::optional<uint32_t> max_tokens, size_t index) {
    if (ends_.size() <= index) ends_.resize(index + 1);
    return {.prompt = std::move(prompt),
            .sampler = {.temperature = 0, .logit_bias = {}},
            .max_tokens = max_tokens,
            .stops = {},
            .on_text = {},
            .on_end = [this, index](Result<Completion> end) { ends_[index] = std::move(end); }};
  }

  Result<Completion> run(Request one) {
    const auto submitted = engine_->submit(std::move(one));
    if (!submitted) return tl::unexpected<Error>(submitted.error());
    run_all();
    return *ends_[0];
  }

  void run_all() {
    while (engine_->step()) {
    }
  }

  std::unique_ptr<const tokenizer::Tokenizer> tokenizer_ = byte_tokenizer();
  FakeLane* lane_ = nullptr;  // owned by engine_
  std::unique_ptr<Engine> engine_;
  std::vector<std::optional<Result<Completion>>> ends_;
};

const std::vector<TokenId> kPrompt{10, 20, 30, 40, 50};

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
  std::atomic<bool> cancel{false};
  Request one = request(kPrompt, std::nullopt, 0);
  one.cancel = &cancel;
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
  // Three bytes from the middle of the text; what is no UTF-8 in it shows as U+FFFD, also a character.
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

TEST_F(EngineTest, ARequestWaitsUntilAnotherGivesItsPagesBack) {
  make(256, 200, 4);
  ASSERT_TRUE(engine_->submit(request(std::vector<TokenId>(180, 1), 4, 0)).has_value());
  ASSERT_TRUE(engine_->submit(request(std::vector<TokenId>(170, 2), 4, 1)).has_value());
  run_all();
  for (const auto& end : ends_) {
    ASSERT_TRUE(end.has_value());
    EXPECT_TRUE(end->has_value()) << end->error().message;
  }
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
  EXPECT_EQ(evaluate_perplexity(*engine_, tokens, 60, {}).error().code, ErrorCode::invalid_argument);
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

}  // namespace
}  // namespace qualia::engine
