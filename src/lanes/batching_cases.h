// What may never change a lane's result: the batch a row is in, its neighbours, the chunks of a
// prompt, the number of threads, shared or copied pages, and where a token comes from. All bit for
// bit, or within the model's kBatchTolerance. A lane's batching_test.cpp instantiates them for its
// test model, a TestModel with load(thread_count). Thread-safety: none needed.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "lanes/test_model.h"

namespace qualia::lanes {
using Logits = std::vector<std::vector<float>>;

inline Logits feed_in_chunks(LaneModel& model, TestSequence sequence,
                             const std::vector<TokenId>& tokens, size_t chunk) {
  Logits all;
  for (size_t begin = 0; begin < tokens.size(); begin += chunk) {
    const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(begin);
    const size_t count = std::min(chunk, tokens.size() - begin);
    for (std::vector<float>& row :
         feed(model, sequence, {first, first + static_cast<std::ptrdiff_t>(count)})) {
      all.push_back(std::move(row));
    }
  }
  return all;
}

template <typename Model>
class Batching : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = Model::absent_reason()) GTEST_SKIP() << *reason;
  }
};
TYPED_TEST_SUITE_P(Batching);

TYPED_TEST_P(Batching, RowsOfABatchEqualRowsOneByOne) {
  TypeParam test;
  const std::unique_ptr<LaneModel> model = test.load(2);
  const std::vector<TokenId> tokens = random_tokens(130, test.spec.vocabulary_size, 1);
  const Logits one_by_one = feed_in_chunks(*model, {{0, 1, 2}}, tokens, 1);
  const Logits together = feed_in_chunks(*model, {{5, 4, 3}}, tokens, tokens.size());
  for (size_t p = 0; p < tokens.size(); ++p) {
    expect_same(together[p], one_by_one[p], TypeParam::kBatchTolerance);
  }
}

TYPED_TEST_P(Batching, LastLogitsOfAPromptDependOnNoChunkSize) {  // row N04
  TypeParam test(TestShape{16, 2, 1, 8, 12, 19, 2, true});
  const std::unique_ptr<LaneModel> model = test.load(2);
  for (const size_t length : {1U, 31U, 32U, 33U, 63U, 64U, 65U, 127U, 128U, 129U, 255U, 257U}) {
    const std::vector<TokenId> tokens = random_tokens(length, test.spec.vocabulary_size, 2);
    const Logits whole = feed_in_chunks(*model, {{0, 1, 2, 3, 4}}, tokens, length);
    for (const size_t chunk : {7U, 64U, 100U}) {
      SCOPED_TRACE(testing::Message() << length << " tokens in chunks of " << chunk);
      expect_same(feed_in_chunks(*model, {{9, 8, 7, 6, 5}}, tokens, chunk).back(), whole.back(),
                  TypeParam::kBatchTolerance);
    }
  }
}

TYPED_TEST_P(Batching, AnyThreadCountGivesTheSameBits) {
  TypeParam test(TestShape{40, 6, 2, 12, 50, 83, 2, true});
  const std::vector<TokenId> tokens = random_tokens(67, test.spec.vocabulary_size, 3);
  const Logits single = feed_in_chunks(*test.load(1), {{0, 1}}, tokens, 33);
  for (const size_t threads : {2U, 3U, 5U}) {
    EXPECT_EQ(feed_in_chunks(*test.load(threads), {{0, 1}}, tokens, 33), single) << threads;
  }
}

TYPED_TEST_P(Batching, SequencesInOneBatchDoNotInfluenceEachOther) {
  TypeParam test;
  const std::unique_ptr<LaneModel> model = test.load(2);
  const std::vector<TokenId> a = random_tokens(70, test.spec.vocabulary_size, 4);
  const std::vector<TokenId> b = random_tokens(70, test.spec.vocabulary_size, 5);
  const Logits alone_a = feed_in_chunks(*model, {{0, 1}}, a, 70);
  const Logits alone_b = feed_in_chunks(*model, {{2, 3}}, b, 70);

  const std::vector<PageId> pages_a = {7, 4};
  const std::vector<PageId> pages_b = {5, 6};
  const std::vector<SequenceView> sequences = {{pages_b}, {pages_a}};
  std::vector<Row> rows;  // interleaved, and the second sequence starts late
  for (uint32_t p = 0; p < 70; ++p) {
    rows.push_back({a[p], 1, p, RowOutputKind::logits});
    if (p >= 3) rows.push_back({b[p - 3], 0, p - 3, RowOutputKind::logits});
  }
  const Result<StepOutput> output = model->forward({rows, sequences});
  ASSERT_TRUE(output.has_value());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Logits& alone = rows[i].sequence == 1 ? alone_a : alone_b;
    SCOPED_TRACE(i);
    expect_same(output->rows[i].logits, alone[rows[i].position], TypeParam::kBatchTolerance);
  }
}

TYPED_TEST_P(Batching, SequencesMayShareThePagesOfAPrefix) {
  TypeParam test;
  const std::unique_ptr<LaneModel> model = test.load(2);
  const std::vector<TokenId> prefix = random_tokens(kPagePositions, test.spec.vocabulary_size, 6);
  TestSequence first{{0, 1}};
  feed(*model, first, prefix);
  TestSequence second{{0, 2}, first.position};
  for (TestSequence* sequence : {&first, &second}) {
    const std::vector<TokenId> tail =
        random_tokens(5, test.spec.vocabulary_size, sequence == &first ? 7 : 8);
    std::vector<TokenId> whole = prefix;
    whole.insert(whole.end(), tail.begin(), tail.end());
    const Logits shared = feed(*model, *sequence, tail);
    expect_same(shared.back(), feed_in_chunks(*model, {{3, 4}}, whole, whole.size()).back(),
                TypeParam::kBatchTolerance);
  }
}

TYPED_TEST_P(Batching, CopiedPageContinuesAsTheOriginalAndApartFromIt) {
  TypeParam test;
  const std::unique_ptr<LaneModel> model = test.load(2);
  TestSequence original{{0}};
  feed(*model, original, {1, 2, 3, 4, 5});
  ASSERT_TRUE(model->copy_page(0, 9).has_value());
  TestSequence copy{{9}, original.position};
  const Logits from_copy = feed(*model, copy, {6, 7});
  feed(*model, original, {30, 31});  // must not show in the copy
  const Logits again = feed(*model, copy, {8});
  expect_same(again.back(), feed_in_chunks(*model, {{2}}, {1, 2, 3, 4, 5, 6, 7, 8}, 8).back(),
              TypeParam::kBatchTolerance);
  expect_same(from_copy.back(), feed_in_chunks(*model, {{2}}, {1, 2, 3, 4, 5, 6, 7}, 7).back(),
              TypeParam::kBatchTolerance);
}

TYPED_TEST_P(Batching, CopyOfAPageOntoItselfKeepsIt) {
  TypeParam test;
  const std::unique_ptr<LaneModel> model = test.load();
  TestSequence sequence{{0}};
  feed(*model, sequence, {1, 2, 3});
  ASSERT_TRUE(model->copy_page(0, 0).has_value());
  expect_same(feed(*model, sequence, {4}).back(),
              feed_in_chunks(*model, {{1}}, {1, 2, 3, 4}, 4).back(), TypeParam::kBatchTolerance);
}

TYPED_TEST_P(Batching, TruncatedSequenceForgetsWhatCameAfter) {
  TypeParam test;
  const std::unique_ptr<LaneModel> model = test.load();
  TestSequence sequence{{0}};
  feed(*model, sequence, {1, 2, 3, 20, 21, 22});
  sequence.position = 3;
  expect_same(feed(*model, sequence, {4}).back(),
              feed_in_chunks(*model, {{1}}, {1, 2, 3, 4}, 4).back(), TypeParam::kBatchTolerance);
}

TYPED_TEST_P(Batching, FeedbackRowEqualsItsExplicitToken) {
  TypeParam test;
  const std::unique_ptr<LaneModel> model = test.load(2);
  const std::vector<PageId> pages_a = {0};
  const std::vector<PageId> pages_b = {1};
  const std::vector<SequenceView> sequences = {{pages_a}, {pages_b}};
  const std::vector<Row> prompt = {{1, 0, 0, RowOutputKind::none},
                                   {2, 0, 1, RowOutputKind::argmax},
                                   {3, 1, 0, RowOutputKind::logits}};
  const std::vector<Row> next = {
      {-1, 1, 1, RowOutputKind::argmax, 1},  // of output 1, token ignored
      {-1, 0, 2, RowOutputKind::argmax, 0}};
  const std::vector<Row> after = {{-1, 1, 2, RowOutputKind::logits, 0}};
  // All three are queued before any is collected.
  const StepTicket first = model->submit({prompt, sequences}).value();
  const StepTicket second = model->submit({next, sequences}).value();
  const StepTicket third = model->submit({after, sequences}).value();
  const StepOutput a = model->collect(first).value();
  const StepOutput b = model->collect(second).value();
  const StepOutput c = model->collect(third).value();

  const TokenId chosen = a.rows[1].argmax;
  const TokenId chosen_next = b.rows[0].argmax;
  expect_same(c.rows[0].logits, feed_in_chunks(*model, {{2}}, {3, chosen, chosen_next}, 3).back(),
              TypeParam::kBatchTolerance);
  const std::vector<float> explicit_a =
      feed_in_chunks(*model, {{3}}, {1, 2, a.rows[0].argmax}, 3).back();
  EXPECT_NEAR(explicit_a[static_cast<size_t>(b.rows[1].argmax)],
              *std::max_element(explicit_a.begin(), explicit_a.end()), TypeParam::kBatchTolerance);
}

TYPED_TEST_P(Batching, OutputsComeInRowOrderAndInTheFormAskedFor) {
  TypeParam test;
  const std::unique_ptr<LaneModel> model = test.load(2);
  const std::vector<PageId> pages = {0};
  const SequenceView sequence{pages};
  const std::vector<TokenId> tokens = random_tokens(40, test.spec.vocabulary_size, 9);
  const Logits logits = feed_in_chunks(*model, {{1}}, tokens, 40);
  constexpr RowOutputKind kKinds[] = {RowOutputKind::top_k, RowOutputKind::none,
                                      RowOutputKind::argmax, RowOutputKind::logits};
  std::vector<Row> rows;
  for (uint32_t p = 0; p < 40; ++p) rows.push_back({tokens[p], 0, p, kKinds[p % 4]});
  const StepOutput output = model->forward({rows, {&sequence, 1}, 3}).value();
  ASSERT_EQ(output.rows.size(), 30U);
  size_t next = 0;
  for (uint32_t p = 0; p < 40; ++p) {
    if (rows[p].output == RowOutputKind::none) continue;
    const RowOutput& row = output.rows[next++];
    const auto best = std::max_element(logits[p].begin(), logits[p].end());
    EXPECT_EQ(row.argmax, best - logits[p].begin());
    EXPECT_TRUE(row.is_finite);
    if (rows[p].output == RowOutputKind::logits) {
      expect_same(row.logits, logits[p], TypeParam::kBatchTolerance);
    } else {
      EXPECT_TRUE(row.logits.empty());
    }
    ASSERT_EQ(row.top.size(), rows[p].output == RowOutputKind::top_k ? 3U : 0U);
    if (row.top.empty()) continue;
    EXPECT_EQ(row.top[0].token, row.argmax);
    EXPECT_NEAR(row.top[0].logit, *best, TypeParam::kBatchTolerance);
    EXPECT_GE(row.top[0].logit, row.top[1].logit);
    EXPECT_NEAR(row.top[2].logit, logits[p][static_cast<size_t>(row.top[2].token)],
                TypeParam::kBatchTolerance);
  }
}

TYPED_TEST_P(Batching, TopKBeyondTheVocabularyGivesAllOfIt) {
  TypeParam test;
  const std::unique_ptr<LaneModel> model = test.load();
  const std::vector<PageId> pages = {0};
  const SequenceView sequence{pages};
  const std::vector<Row> rows = {{1, 0, 0, RowOutputKind::top_k}};
  const StepOutput output = model->forward({rows, {&sequence, 1}, 1'000'000'000}).value();
  EXPECT_EQ(output.rows[0].top.size(), test.spec.vocabulary_size);
}

TYPED_TEST_P(Batching, EmptyBatchGivesNoOutput) {
  TypeParam test;
  const std::unique_ptr<LaneModel> model = test.load(2);
  const Result<StepOutput> output = model->forward({});
  ASSERT_TRUE(output.has_value());
  EXPECT_TRUE(output->rows.empty());
}

REGISTER_TYPED_TEST_SUITE_P(Batching, RowsOfABatchEqualRowsOneByOne,
                            LastLogitsOfAPromptDependOnNoChunkSize, AnyThreadCountGivesTheSameBits,
                            SequencesInOneBatchDoNotInfluenceEachOther,
                            SequencesMayShareThePagesOfAPrefix,
                            CopiedPageContinuesAsTheOriginalAndApartFromIt,
                            CopyOfAPageOntoItselfKeepsIt, TruncatedSequenceForgetsWhatCameAfter,
                            FeedbackRowEqualsItsExplicitToken,
                            OutputsComeInRowOrderAndInTheFormAskedFor,
                            TopKBeyondTheVocabularyGivesAllOfIt, EmptyBatchGivesNoOutput);

}  // namespace qualia::lanes
