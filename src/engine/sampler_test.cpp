#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace qualia::engine {
namespace {

using lanes::RowOutput;
using lanes::RowOutputKind;

RowOutput with_logits(std::vector<float> logits) {
  RowOutput output;
  output.argmax = static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
  output.logits = std::move(logits);
  return output;
}

std::map<TokenId, int> draws(SamplerOptions options, const RowOutput& output, int count) {
  Sampler sampler(std::move(options));
  std::map<TokenId, int> counts;
  for (int i = 0; i < count; ++i) ++counts[sampler.pick(output, {})];
  return counts;
}

SamplerOptions plain(float temperature) {
  return {
      .temperature = temperature, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 1, .logit_bias = {}};
}

TEST(Sampler, AsksForNoMoreThanItsOptionsNeed) {
  EXPECT_EQ(Sampler(plain(0)).output_kind(), RowOutputKind::argmax);
  EXPECT_EQ(Sampler(plain(1)).output_kind(), RowOutputKind::logits);
  SamplerOptions options = plain(1);
  options.top_k = 5;
  EXPECT_EQ(Sampler(options).output_kind(), RowOutputKind::top_k);
  options.repeat_penalty = 1.1F;
  EXPECT_EQ(Sampler(options).output_kind(), RowOutputKind::logits);
}

TEST(Sampler, DrawsInProportionToTheProbabilities) {
  const RowOutput output = with_logits({std::log(0.7F), std::log(0.2F), std::log(0.1F)});
  auto counts = draws(plain(1), output, 20000);
  EXPECT_NEAR(counts[0], 14000, 300);
  EXPECT_NEAR(counts[1], 4000, 250);
  EXPECT_NEAR(counts[2], 2000, 200);
}

TEST(Sampler, RepeatsItselfWithTheSameSeedOnly) {
  const RowOutput output = with_logits({1, 1, 1, 1, 1, 1, 1, 1});
  SamplerOptions other = plain(1);
  other.seed = 2;
  Sampler a(plain(1)), b(plain(1)), c(other);
  bool differs = false;
  for (int i = 0; i < 50; ++i) {
    const TokenId token = a.pick(output, {});
    EXPECT_EQ(token, b.pick(output, {}));
    differs = differs || token != c.pick(output, {});
  }
  EXPECT_TRUE(differs);
}

TEST(Sampler, TopKKeepsTheKBest) {
  SamplerOptions options = plain(10);
  options.top_k = 2;
  std::set<TokenId> seen;
  for (const auto& [token, count] : draws(options, with_logits({0, 3, 1, 2}), 200))
    seen.insert(token);
  EXPECT_EQ(seen, (std::set<TokenId>{1, 3}));
}

TEST(Sampler, TopPKeepsTheFewestThatReachP) {
  SamplerOptions options = plain(1);
  options.top_p = 0.75F;
  const RowOutput output = with_logits({std::log(0.5F), std::log(0.3F), std::log(0.2F)});
  std::set<TokenId> seen;
  for (const auto& [token, count] : draws(options, output, 500)) seen.insert(token);
  EXPECT_EQ(seen, (std::set<TokenId>{0, 1}));
}

TEST(Sampler, MinPDropsWhatIsFarBelowTheBest) {
  SamplerOptions options = plain(1);
  options.min_p = 0.5F;
  const RowOutput output = with_logits({std::log(0.5F), std::log(0.3F), std::log(0.2F)});
  std::set<TokenId> seen;
  for (const auto& [token, count] : draws(options, output, 500)) seen.insert(token);
  EXPECT_EQ(seen, (std::set<TokenId>{0, 1}));
}

// Row N18: the cuts come after the temperature, so a huge one makes everything equally likely.
TEST(Sampler, HugeTemperatureMakesEveryTokenLikely) {
  std::vector<float> logits(1000);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = -0.05F * static_cast<float>(i);
  const RowOutput output = with_logits(logits);
  std::set<TokenId> firsts;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SamplerOptions options = plain(1e6F);
    options.min_p = 0.05F;
    options.seed = seed;
    firsts.insert(Sampler(options).pick(output, {}));
  }
  EXPECT_GT(firsts.size(), 150U);
}

TEST(Sampler, RepeatPenaltyLowersRecentTokensOnly) {
  SamplerOptions options = plain(0);
  options.repeat_penalty = 2;
  options.repeat_window = 2;
  const RowOutput output = with_logits({3, 2, -1});
  const std::vector<TokenId> recent{2, 0};
  EXPECT_EQ(Sampler(options).pick(output, recent), 1);
  const std::vector<TokenId> long_ago{0, 2, 2};
  EXPECT_EQ(Sampler(options).pick(output, long_ago), 0);
}

TEST(Sampler, LogitBiasForbidsAndForces) {
  SamplerOptions options = plain(0);
  options.logit_bias = {{0, -HUGE_VALF}};
  EXPECT_EQ(Sampler(options).pick(with_logits({9, 5, 1}), {}), 1);
  options.logit_bias = {{2, 100.0F}};
  EXPECT_EQ(Sampler(options).pick(with_logits({9, 5, 1}), {}), 2);
  options.temperature = 1;
  options.logit_bias = {{0, -HUGE_VALF}, {1, -HUGE_VALF}, {2, -HUGE_VALF}};
  EXPECT_EQ(Sampler(options).pick(with_logits({9, 5, 1}), {}), 0);
}

// Row S11: silly numbers are named, not obeyed.
TEST(Sampler, RefusesOptionsOutOfRange) {
  const auto code = [](auto change) {
    SamplerOptions options;
    change(options);
    const auto checked = validate(options, 100);
    return checked ? ErrorCode::internal : checked.error().code;
  };
  const auto bad = ErrorCode::invalid_argument;
  EXPECT_EQ(code([](auto& o) { o.temperature = -1; }), bad);
  EXPECT_EQ(code([](auto& o) { o.temperature = NAN; }), bad);
  EXPECT_EQ(code([](auto& o) { o.top_p = 7; }), bad);
  EXPECT_EQ(code([](auto& o) { o.min_p = -0.1F; }), bad);
  EXPECT_EQ(code([](auto& o) { o.repeat_penalty = 0; }), bad);
  EXPECT_EQ(code([](auto& o) { o.logit_bias = {{100, 1.0F}}; }), bad);
  EXPECT_EQ(code([](auto& o) { o.logit_bias = {{-1, 1.0F}}; }), bad);
  EXPECT_EQ(code([](auto& o) { o.logit_bias = {{5, NAN}}; }), bad);
  EXPECT_EQ(code([](auto& o) { o.logit_bias = {{5, 1e30F}}; }), bad);
  EXPECT_TRUE(validate(SamplerOptions{}, 100).has_value());
}

}  // namespace
}  // namespace qualia::engine
