// What the engine's tests share: a vocabulary of bytes, the fake lane's rule applied by hand, and
// an engine whose requests leave their results in a list.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/fake_lane_test.h"
#include "tokenizer/byte_letters.h"

namespace qualia::engine {

// 256 bytes, then <end>, which ends a turn.
inline constexpr TokenId kEnd = 256;
inline constexpr uint32_t kVocabulary = 257;

inline std::unique_ptr<const tokenizer::Tokenizer> byte_tokenizer() {
  tokenizer::Vocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte)
    vocabulary.tokens.emplace_back(
        tokenizer::letters_of_bytes(std::string(1, static_cast<char>(byte))));
  vocabulary.tokens.emplace_back("<end>");
  vocabulary.types.assign(256, tokenizer::TokenType::normal);
  vocabulary.types.push_back(tokenizer::TokenType::control);
  vocabulary.eos = kEnd;
  return tokenizer::Tokenizer::create(std::move(vocabulary)).value();
}

// What a request must give: the fake lane's rule, applied by hand.
inline std::vector<TokenId> expected_tokens(std::vector<TokenId> history, size_t count) {
  std::vector<TokenId> reply;
  while (reply.size() < count) {
    const TokenId next = FakeLane::answer(history, kVocabulary);
    if (next == kEnd) break;
    reply.push_back(next);
    history.push_back(next);
  }
  return reply;
}

// A prompt that shares no beginning with those of other numbers and gets at least 200 tokens.
inline std::vector<TokenId> talkative_prompt(size_t number, size_t length) {
  std::vector<TokenId> tokens(length, static_cast<TokenId>(number));
  while (expected_tokens(tokens, 200).size() < 200) tokens.back() = (tokens.back() + 1) % kEnd;
  return tokens;
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
            .on_end =
                [this, index](Result<Completion> end) {
                  order_.push_back(index);
                  ends_[index] = std::move(end);
                },
            .is_cancelled = {}};
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
  std::vector<std::optional<Result<Completion>>> ends_;  // by index of the request
  std::vector<size_t> order_;                            // indices in the order of their ends
};

inline const std::vector<TokenId> kPrompt{10, 20, 30, 40, 50};

}  // namespace qualia::engine
