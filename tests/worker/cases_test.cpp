// The cases that every lane passes, on the reference lane in a worker process: the same bits.
#include "lanes/batching_cases.h"
#include "lanes/numbers_cases.h"
#include "lanes/profile_cases.h"
#include "lanes/reference/reference_lane.h"
#include "worker_fixture.h"

namespace qualia::lanes {

INSTANTIATE_TYPED_TEST_SUITE_P(Worker, Batching, worker::TestModel);
INSTANTIATE_TYPED_TEST_SUITE_P(Worker, Numbers, worker::TestModel);
INSTANTIATE_TYPED_TEST_SUITE_P(Worker, HostProfile, worker::TestModel);

namespace worker {
namespace {

TEST(WorkerModel, GivesTheBitsOfTheHostedLaneInOutputsOfAnySize) {
  TestModel test(TestShape{16, 2, 1, 8, 12, 4999, 1, true});
  const std::unique_ptr<LaneModel> hosted = test.load(2);
  const std::unique_ptr<LaneModel> direct = test.load_on(*make_reference_lane(), {}, 16);
  const std::vector<TokenId> tokens = random_tokens(100, test.spec.vocabulary_size, 1);
  // Shared blocks grow and are used again.
  for (const size_t chunk : {1U, 7U, 100U, 3U}) {
    EXPECT_EQ(feed_in_chunks(*hosted, {{0, 1}}, tokens, chunk),
              feed_in_chunks(*direct, {{0, 1}}, tokens, chunk));
  }
}

TEST(WorkerModel, KeepsLogitsOfQueuedStepsApart) {
  TestModel test(TestShape{16, 2, 1, 8, 12, 2000, 1, true});
  const std::unique_ptr<LaneModel> model = test.load();
  const std::vector<PageId> pages = {0};
  const SequenceView sequence{pages};
  std::vector<StepTicket> tickets;
  for (uint32_t i = 0; i < 5; ++i) {
    const Row row{static_cast<TokenId>(i), 0, i, RowOutputKind::logits};
    tickets.push_back(model->submit({{&row, 1}, {&sequence, 1}}).value());
  }
  const Logits expected = feed_in_chunks(*test.load(), {{1}}, {0, 1, 2, 3, 4}, 5);
  for (size_t i = 0; i < 5; ++i)
    EXPECT_EQ(model->collect(tickets[i]).value().rows[0].logits, expected[i]);
}

TEST(WorkerModel, ReportsWhatTheHostedLaneReports) {
  TestModel test;
  const std::unique_ptr<LaneModel> hosted = test.load(2);
  LoadOptions options;
  options.thread_count = 2;
  const std::unique_ptr<LaneModel> direct = test.load_on(*make_reference_lane(), options);
  EXPECT_EQ(hosted->resident().circuit.label(), direct->resident().circuit.label());
  EXPECT_EQ(hosted->resident().kv, direct->resident().kv);
  EXPECT_EQ(hosted->resident().weights_bytes, direct->resident().weights_bytes);
  EXPECT_EQ(hosted->resident().step_weight_bytes, direct->resident().step_weight_bytes);
  EXPECT_EQ(hosted->resident().kv_page_bytes, direct->resident().kv_page_bytes);
  EXPECT_EQ(hosted->resident().batch_rows, direct->resident().batch_rows);
  EXPECT_TRUE(direct->resident().computes_in_submit);
  EXPECT_FALSE(hosted->resident().computes_in_submit);
}

TEST(WorkerModel, ReadsTheProfileOfTheHostedLane) {
  TestModel test;
  const auto read = [](LaneModel& model) {
    EXPECT_TRUE(model.set_profiling({.is_on = true, .every = 2}).has_value());
    TestSequence sequence{{0}};
    decode(model, sequence, 4);
    return model.profile().value();
  };
  const std::unique_ptr<LaneModel> hosted_model = test.load();
  const ProfileReading hosted = read(*hosted_model);
  const std::unique_ptr<LaneModel> direct_model = test.load_on(*make_reference_lane(), {});
  const ProfileReading direct = read(*direct_model);
  EXPECT_EQ(hosted.granularity, direct.granularity);
  EXPECT_FALSE(hosted.granularity.empty());
  EXPECT_EQ(hosted.totals.steps, 2U);
  EXPECT_EQ(hosted.totals.spans.size(), direct.totals.spans.size());
  ASSERT_EQ(hosted.totals.ops.size(), direct.totals.ops.size());
  for (size_t i = 0; i < direct.totals.ops.size(); ++i) {
    EXPECT_EQ(hosted.totals.ops[i].name, direct.totals.ops[i].name);
    EXPECT_EQ(hosted.totals.ops[i].cost.bytes, direct.totals.ops[i].cost.bytes);
  }
}

TEST(WorkerModel, SaysWhyTheHostedLaneCanNotBeProfiled) {
  const auto model = load_trouble("works").value();
  const Result<void> started = model->set_profiling({.is_on = true});
  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error().code, ErrorCode::unsupported);
  EXPECT_TRUE(run_row(*model).has_value());
}

TEST(WorkerModel, CopiesPagesBetweenQueuedStepsInOrder) {
  TestModel test;
  const std::unique_ptr<LaneModel> model = test.load();
  const std::vector<PageId> original = {0};
  const std::vector<PageId> copy = {1};
  const std::vector<SequenceView> sequences = {{original}, {copy}};
  const Row first{1, 0, 0, RowOutputKind::none};
  const Row second{2, 1, 1, RowOutputKind::logits};
  const StepTicket before = model->submit({{&first, 1}, sequences}).value();
  ASSERT_TRUE(model->copy_page(0, 1).has_value());
  const StepTicket after = model->submit({{&second, 1}, sequences}).value();
  EXPECT_TRUE(model->collect(before).has_value());
  const std::vector<float> logits = model->collect(after).value().rows[0].logits;
  EXPECT_EQ(logits, feed_in_chunks(*model, {{2}}, {1, 2}, 2).back());
}

}  // namespace
}  // namespace worker
}  // namespace qualia::lanes
