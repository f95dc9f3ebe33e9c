// Steps queued ahead by the engine on a real model: the reference lane's, said to compute in
// collect(), gives the same tokens as when nothing is queued behind a step.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "lanes/reference/test_model.h"

namespace qualia {
namespace {

using lanes::TokenId;

class WaitingModel final : public lanes::LaneModel {
 public:
  WaitingModel(std::unique_ptr<lanes::LaneModel> model, bool computes_in_submit, size_t& queued_max)
      : model_(std::move(model)), resident_(model_->resident()), queued_max_(queued_max) {
    resident_.computes_in_submit = computes_in_submit;
  }

  const lanes::ResidentReport& resident() const override { return resident_; }
  Result<void> reserve_pages(uint32_t page_count) override {
    return model_->reserve_pages(page_count);
  }
  Result<void> copy_page(lanes::PageId from, lanes::PageId to) override {
    return model_->copy_page(from, to);
  }
  Result<lanes::StepTicket> submit(const lanes::Batch& batch) override {
    queued_max_ = std::max(queued_max_, ++queued_);
    return model_->submit(batch);
  }
  Result<lanes::StepOutput> collect(lanes::StepTicket ticket) override {
    --queued_;
    return model_->collect(ticket);
  }

 private:
  std::unique_ptr<lanes::LaneModel> model_;
  lanes::ResidentReport resident_;
  size_t queued_ = 0;
  size_t& queued_max_;
};

struct Talk {
  std::vector<std::vector<TokenId>> replies;
  std::vector<uint32_t> cached_tokens;
  size_t queued_max = 0;
};

// Three requests at once, of different lengths and one across pages; then the longest goes on.
Talk talk(bool computes_in_submit) {
  lanes::reference::TestModel model;
  Talk talk;
  engine::Engine engine(
      std::make_unique<WaitingModel>(model.load(), computes_in_submit, talk.queued_max), nullptr,
      {.context = 300, .vocabulary_size = model.spec.vocabulary_size, .page_capacity = 16});
  const auto ask = [&](const std::vector<TokenId>& prompt, uint32_t max_tokens) {
    engine::Request request;
    request.prompt = prompt;
    request.sampler.temperature = 0;
    request.max_tokens = max_tokens;
    const size_t index = talk.replies.size();
    talk.replies.emplace_back();
    talk.cached_tokens.emplace_back();
    request.on_end = [&talk, index](Result<engine::Completion> done) {
      ASSERT_TRUE(done.has_value()) << done.error().message;
      talk.replies[index] = done->tokens;
      talk.cached_tokens[index] = done->cached_tokens;
    };
    EXPECT_TRUE(engine.submit(std::move(request)).has_value());
  };
  const auto run = [&] {
    while (engine.step()) {
    }
  };
  ask(lanes::random_tokens(5, model.spec.vocabulary_size, 1), 9);
  std::vector<TokenId> history = lanes::random_tokens(50, model.spec.vocabulary_size, 2);
  ask(history, 40);
  ask(lanes::random_tokens(64, model.spec.vocabulary_size, 3), 17);
  run();
  history.insert(history.end(), talk.replies[1].begin(), talk.replies[1].end());
  history.push_back(3);
  ask(history, 12);
  run();
  return talk;
}

TEST(StepAhead, GivesTheTokensOfTheReferenceLaneBitForBit) {
  const Talk queued = talk(false);
  const Talk plain = talk(true);
  EXPECT_EQ(queued.queued_max, 1 + engine::kStepsAhead);
  EXPECT_EQ(plain.queued_max, 1U);
  EXPECT_EQ(queued.replies, plain.replies);
  EXPECT_EQ(queued.cached_tokens, plain.cached_tokens);
  EXPECT_EQ(queued.replies[1].size(), 40U);
  EXPECT_EQ(queued.cached_tokens[3], 89U);
}

}  // namespace
}  // namespace qualia
