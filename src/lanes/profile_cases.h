// Cases of profiling that every lane with clocks of the host passes. A lane's test file
// instantiates them with its test model, as for batching_cases.h.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string_view>
#include <vector>

#include "lanes/test_model.h"

namespace qualia::lanes {

inline profile::Snapshot reading_of(LaneModel& model) {
  const Result<ProfileReading> reading = model.profile();
  EXPECT_TRUE(reading.has_value());
  return reading->totals;
}

inline void decode(LaneModel& model, TestSequence& sequence, size_t count) {
  for (size_t i = 0; i < count; ++i) feed(model, sequence, {1});
}

inline std::vector<PageId> first_pages(uint32_t count) {
  std::vector<PageId> pages(count);
  for (uint32_t i = 0; i < count; ++i) pages[i] = i;
  return pages;
}

// The shortest call of an op: what other processes take does not count.
inline uint64_t shortest_ns(const profile::Snapshot& totals, std::string_view op) {
  uint64_t shortest = std::numeric_limits<uint64_t>::max();
  for (const profile::Span& span : totals.spans)
    if (totals.ops[span.op].name == op) shortest = std::min(shortest, span.end_ns - span.begin_ns);
  return shortest;
}

template <typename Model>
class HostProfile : public testing::Test {};
TYPED_TEST_SUITE_P(HostProfile);

TYPED_TEST_P(HostProfile, RecordsNothingUnlessItIsOn) {
  TypeParam test;
  const auto model = test.load(2);
  TestSequence sequence{first_pages(1)};
  decode(*model, sequence, 2);
  EXPECT_EQ(reading_of(*model).steps, 0U);
  ASSERT_TRUE(model->set_profiling({.is_on = true}).has_value());
  decode(*model, sequence, 1);
  EXPECT_EQ(reading_of(*model).steps, 1U);
  ASSERT_TRUE(model->set_profiling({}).has_value());
  decode(*model, sequence, 1);
  const profile::Snapshot off = reading_of(*model);
  EXPECT_EQ(off.steps + off.attributed_ns() + off.spans.size(), 0U);
}

TYPED_TEST_P(HostProfile, GivesTheSameLogitsAsWithoutIt) {
  TypeParam test;
  const auto tokens = random_tokens(20, test.spec.vocabulary_size, 3);
  TestSequence plain{first_pages(1)};
  const auto expected = feed(*test.load(2), plain, tokens);
  const auto model = test.load(2);
  ASSERT_TRUE(model->set_profiling({.is_on = true}).has_value());
  TestSequence profiled{first_pages(1)};
  EXPECT_EQ(feed(*model, profiled, tokens), expected);
}

TYPED_TEST_P(HostProfile, CountsCallsPerLayerAndStepAndSumsWithinTheWallTime) {
  TypeParam test;
  const auto model = test.load(2);
  ASSERT_TRUE(model->set_profiling({.is_on = true}).has_value());
  TestSequence sequence{first_pages(1)};
  const auto start = std::chrono::steady_clock::now();
  decode(*model, sequence, 5);
  const std::chrono::nanoseconds wall = std::chrono::steady_clock::now() - start;
  const profile::Snapshot totals = reading_of(*model);
  const size_t layers = test.spec.layers.size();
  EXPECT_EQ(totals.steps, 5U);
  EXPECT_EQ(totals.dropped, 0U);
  EXPECT_EQ(totals[Phase::embedding].calls, 5U);
  EXPECT_EQ(totals[Phase::gemm].calls, 4 * layers * 5);
  EXPECT_EQ(totals[Phase::attention].calls, layers * 5);
  EXPECT_EQ(totals[Phase::output_topk].calls, 5U);
  for (const Phase phase : {Phase::embedding, Phase::gemm, Phase::attention, Phase::output_topk})
    EXPECT_GT(totals[phase].total_ns, 0U) << to_string(phase);
  EXPECT_EQ(totals.attributed_ns(), totals.busy_ns);  // stages leave no time out
  EXPECT_LE(totals.busy_ns, static_cast<uint64_t>(wall.count()));
}

TYPED_TEST_P(HostProfile, PromptWithoutAnOutputHasNoOutputCalls) {  // row P09
  TypeParam test;
  const auto model = test.load();
  ASSERT_TRUE(model->set_profiling({.is_on = true}).has_value());
  const std::vector<Row> rows{{.token = 1}, {.token = 2, .position = 1}};
  const std::vector<PageId> pages = first_pages(1);
  const SequenceView view{pages};
  ASSERT_TRUE(model->forward({rows, {&view, 1}}).has_value());
  const profile::Snapshot totals = reading_of(*model);
  EXPECT_EQ(totals[Phase::output_topk].calls, 0U);
  EXPECT_EQ(totals[Phase::attention].calls, test.spec.layers.size());
}

TYPED_TEST_P(HostProfile, CountsOutputsInTheirParts) {
  TypeParam test;
  const auto model = test.load(2);
  ASSERT_TRUE(model->set_profiling({.is_on = true}).has_value());
  TestSequence sequence{first_pages(1)};
  feed(*model, sequence, random_tokens(40, test.spec.vocabulary_size, 5));  // 32 and 8
  const profile::Snapshot totals = reading_of(*model);
  EXPECT_EQ(totals[Phase::output_topk].calls, 2U);
  const uint64_t each = uint64_t{test.spec.vocabulary_size} * test.spec.width;
  EXPECT_EQ(totals.ops.at(6).cost.multiply_adds, 40 * each);
}

TYPED_TEST_P(HostProfile, LongContextsMoveOnlyAttention) {
  TypeParam test(TestShape{64, 4, 2, 32, 96, 61, 2});
  constexpr uint32_t kLong = 30;  // pages
  const auto model = test.load(1, kLong + 1);
  const auto profiled = [&](TestSequence& sequence) {
    EXPECT_TRUE(model->set_profiling({.is_on = true}).has_value());
    decode(*model, sequence, 20);
    return reading_of(*model);
  };
  TestSequence brief{{kLong}};
  const profile::Snapshot few = profiled(brief);
  TestSequence deep{first_pages(kLong)};
  for (uint32_t page = 0; page + 1 < kLong; ++page)
    feed(*model, deep, random_tokens(kPagePositions, test.spec.vocabulary_size, page));
  const profile::Snapshot many = profiled(deep);
  // 1,856 positions and more, against at most 20; the widest margin that noise could need.
  EXPECT_GT(shortest_ns(many, "attend"), 4 * shortest_ns(few, "attend"));
  for (const char* op : {"qkv", "attention_output", "gate_up", "down", "output"})
    EXPECT_LT(shortest_ns(many, op), 4 * shortest_ns(few, op)) << op;
  EXPECT_EQ(many.ops.at(1).cost.bytes, few.ops.at(1).cost.bytes);
  EXPECT_GT(many.ops.at(2).cost.bytes, 50 * few.ops.at(2).cost.bytes);
}

REGISTER_TYPED_TEST_SUITE_P(HostProfile, RecordsNothingUnlessItIsOn, GivesTheSameLogitsAsWithoutIt,
                            CountsCallsPerLayerAndStepAndSumsWithinTheWallTime,
                            PromptWithoutAnOutputHasNoOutputCalls, CountsOutputsInTheirParts,
                            LongContextsMoveOnlyAttention);

}  // namespace qualia::lanes
