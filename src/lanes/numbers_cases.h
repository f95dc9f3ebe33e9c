// Numbers that have gone wrong in other engines: odd vocabularies, large residuals, NaN weights. A
// lane's numbers_test.cpp instantiates them for its test model, a TestModel with
// load(thread_count) and kTolerance, the error of a number near 1.
// Thread-safety: none needed.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "lanes/test_model.h"

namespace qualia::lanes {
using ops::WeightRole;

inline RowOutput last_output(LaneModel& model, const std::vector<TokenId>& tokens,
                             RowOutputKind kind) {
  const std::vector<PageId> pages = {0, 1};
  const SequenceView sequence{pages};
  std::vector<Row> rows;
  for (uint32_t p = 0; p < tokens.size(); ++p) rows.push_back({tokens[p], 0, p});
  rows.back().output = kind;
  return model.forward({rows, {&sequence, 1}, 1}).value().rows.front();
}

template <typename Model>
class Numbers : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = Model::absent_reason()) GTEST_SKIP() << *reason;
  }
};
TYPED_TEST_SUITE_P(Numbers);

TYPED_TEST_P(Numbers, LastIdOfAnOddVocabularyCanWin) {  // row N12
  for (const uint32_t vocabulary : TypeParam::odd_vocabularies()) {
    TypeParam test(TestShape{8, 1, 1, 4, 6, vocabulary, 1, false});
    std::vector<float>& output = test.at(WeightRole::output);
    // Every logit is 0 but the last, whose sign flips with its row: it wins once and loses once.
    std::fill(output.begin(), output.end() - 8, 0.0F);
    std::vector<TokenId> winners;
    for (const float sign : {1.0F, -1.0F}) {
      for (auto entry = output.end() - 8; entry != output.end(); ++entry) *entry *= sign;
      winners.push_back(last_output(*test.load(2), {1}, RowOutputKind::top_k).argmax);
    }
    std::sort(winners.begin(), winners.end());
    EXPECT_EQ(winners, (std::vector<TokenId>{0, static_cast<TokenId>(vocabulary) - 1}));
  }
}

TYPED_TEST_P(Numbers, ResidualStreamCarriesSumsBeyondTheLargestHalf) {  // row N03
  TypeParam test(TestShape{2, 1, 1, 2, 1, 2, 1, false});
  for (auto& [key, value] : test.values) std::fill(value.floats.begin(), value.floats.end(), 0.0F);
  test.at(WeightRole::token_embedding) = {60000, 0, 60000, 0};
  test.at(WeightRole::attention_norm, 0) = {1, 1};
  test.at(WeightRole::value, 0) = {1, 0, 0, 0};  // the norm of (60000, 0) is (sqrt 2, 0)
  const float root = std::sqrt(2.0F);
  test.at(WeightRole::attention_output, 0) = {10000 / root, 0, 70000 / root, 0};
  test.at(WeightRole::feed_forward_norm, 0) = {1, 1};
  test.at(WeightRole::output_norm) = {1, 1};
  test.at(WeightRole::output) = {1, 0, 0, 1};
  // 60000 + 10000 beside 0 + 70000: equal halves after the last norm.
  const RowOutput output = last_output(*test.load(), {1}, RowOutputKind::logits);
  EXPECT_TRUE(output.is_finite);
  EXPECT_NEAR(output.logits[0], 1.0F, TypeParam::kTolerance);
  EXPECT_NEAR(output.logits[1], 1.0F, TypeParam::kTolerance);
}

TYPED_TEST_P(Numbers, NaNInAWeightMakesEveryRowNotFinite) {  // row N20
  for (const WeightRole role : {WeightRole::attention_norm, WeightRole::query, WeightRole::down}) {
    TypeParam test;
    test.at(role, 1)[3] = std::nanf("");
    const std::unique_ptr<LaneModel> model = test.load(2);
    for (const RowOutputKind kind :
         {RowOutputKind::argmax, RowOutputKind::top_k, RowOutputKind::logits}) {
      const RowOutput output = last_output(*model, {1, 2, 3}, kind);
      EXPECT_FALSE(output.is_finite);
      EXPECT_GE(output.argmax, 0);
      EXPECT_LT(static_cast<uint32_t>(output.argmax), test.spec.vocabulary_size);
    }
  }
}

TYPED_TEST_P(Numbers, InfinityInTheOutputMatrixIsReported) {
  TypeParam test;
  test.at(WeightRole::output)[5] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(last_output(*test.load(), {1}, RowOutputKind::argmax).is_finite);
}

TYPED_TEST_P(Numbers, NaNOfOneSequenceStaysOutOfTheOthers) {  // row N20
  TypeParam test;
  const std::vector<TokenId> good = {1, 2, 3, 4};
  test.at(WeightRole::token_embedding)[5 * test.spec.width] = std::nanf("");
  const std::unique_ptr<LaneModel> model = test.load(2);
  TestSequence alone{{0}};
  const std::vector<float> expected = feed(*model, alone, good).back();

  const std::vector<PageId> pages_good = {1};
  const std::vector<PageId> pages_bad = {2};
  const std::vector<SequenceView> sequences = {{pages_good}, {pages_bad}};
  std::vector<Row> rows;
  for (uint32_t p = 0; p < 4; ++p) {
    rows.push_back({p == 1 ? 5 : 1, 1, p, RowOutputKind::argmax});
    rows.push_back({good[p], 0, p, RowOutputKind::logits});
  }
  const StepOutput output = model->forward({rows, sequences}).value();
  EXPECT_TRUE(output.rows[0].is_finite);  // before the bad token
  EXPECT_FALSE(output.rows[2].is_finite);
  EXPECT_FALSE(output.rows[6].is_finite);  // attends to it
  EXPECT_TRUE(output.rows[7].is_finite);
  expect_same(output.rows[7].logits, expected, TypeParam::kBatchTolerance);

  // Its page is clean again once other tokens are written over it.
  TestSequence later{{2}};
  expect_same(feed(*model, later, good).back(), expected, TypeParam::kBatchTolerance);
}

REGISTER_TYPED_TEST_SUITE_P(Numbers, LastIdOfAnOddVocabularyCanWin,
                            ResidualStreamCarriesSumsBeyondTheLargestHalf,
                            NaNInAWeightMakesEveryRowNotFinite, InfinityInTheOutputMatrixIsReported,
                            NaNOfOneSequenceStaysOutOfTheOthers);

}  // namespace qualia::lanes
