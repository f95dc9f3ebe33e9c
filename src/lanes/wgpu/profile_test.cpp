// Profiling of whole steps: every dispatch in its phase, and a step without a profiler is the step
// it was.
#include "lanes/profile_cases.h"

#include <gtest/gtest.h>

#include "lanes/wgpu/model_harness.h"
#include "lanes/wgpu/recorded_api.h"

namespace qualia::lanes {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(HostProfile);

namespace wgpu {
namespace {

// Stamps inside passes, and the passes of one op of devices that have none there (row P10).
class StepProfile : public testing::TestWithParam<bool> {
 protected:
  OpenSetup setup() const {
    OpenSetup made;
    if (made.adapter && !GetParam()) {
      made.adapter->facts.features.timestamps_inside_passes = false;
    }
    return made;
  }
};

uint64_t calls_of(const profile::Snapshot& totals) {
  uint64_t calls = 0;
  for (const PhaseTotal& phase : totals.phases) calls += phase.calls;
  return calls;
}

TEST_P(StepProfile, FourPhasesHaveTimeAndEveryDispatchIsACall) {
  OpenSetup made = setup();
  if (!made.adapter) GTEST_SKIP() << "no software device";
  lanes::TestModel test(TestShape{64, 4, 2, 32, 96, 61, 2});
  const OpenModel open = open_model(test, std::move(made));
  TestSequence sequence{first_pages(2)};
  decode(*open.model, sequence, 2);
  ASSERT_TRUE(open.model->set_profiling({.is_on = true}).has_value());
  const uint64_t dispatches = open.model->calls().dispatches;
  const uint64_t passes = open.model->calls().passes;
  decode(*open.model, sequence, 5);
  const ProfileReading reading = open.model->profile().value();
  const profile::Snapshot& totals = reading.totals;
  EXPECT_EQ(reading.granularity, GetParam() ? "each dispatch" : "passes of one op");
  EXPECT_EQ(totals.steps, 5U);
  EXPECT_EQ(totals.dropped, 0U);
  const uint64_t expected = GetParam() ? open.model->calls().dispatches - dispatches
                                       : open.model->calls().passes - passes;
  EXPECT_EQ(calls_of(totals), expected);
  for (const Phase phase : {Phase::embedding, Phase::gemm, Phase::attention, Phase::output_topk}) {
    EXPECT_GT(totals[phase].total_ns, 0U) << to_string(phase);
  }
  if (!GetParam()) return;  // passes leave time between them
  EXPECT_LE(totals.attributed_ns(), totals.busy_ns);
  EXPECT_GE(totals.attributed_ns(), totals.busy_ns * 95 / 100);
}

TEST_P(StepProfile, CountsTheWeightsOfAStepWhole) {
  OpenSetup made = setup();
  if (!made.adapter) GTEST_SKIP() << "no software device";
  made.options.toggles.block_teams = 0;
  made.binding_bytes_max = 4096;  // several parts a matrix
  lanes::TestModel test(TestShape{64, 4, 2, 32, 96, 61, 2});
  const OpenModel open = open_model(test, std::move(made));
  ASSERT_TRUE(open.model->set_profiling({.is_on = true}).has_value());
  TestSequence sequence{first_pages(1)};
  decode(*open.model, sequence, 1);
  const profile::Snapshot totals = reading_of(*open.model);
  uint64_t weights = 0;
  for (const profile::OpTotal& op : totals.ops) {
    for (const char* name : {"qkv", "attention_output", "gate_up", "down", "output"}) {
      if (op.name == name) weights += op.cost.bytes;
    }
  }
  const uint64_t norms = 5 * 64 * sizeof(float);
  EXPECT_EQ(weights + norms + 64 * sizeof(float), open.model->resident().step_weight_bytes);
}

TEST_P(StepProfile, GivesTheSameLogitsAsWithoutIt) {
  OpenSetup made = setup();
  if (!made.adapter) GTEST_SKIP() << "no software device";
  lanes::TestModel test;
  const OpenModel open = open_model(test, std::move(made));
  TestSequence plain{first_pages(1)};
  decode(*open.model, plain, 2);
  const auto expected = feed(*open.model, plain, {5});
  ASSERT_TRUE(open.model->set_profiling({.is_on = true}).has_value());
  TestSequence profiled{first_pages(1)};
  decode(*open.model, profiled, 2);
  EXPECT_EQ(feed(*open.model, profiled, {5}), expected);
}

TEST_P(StepProfile, PromptWithoutAnOutputHasNoOutputCalls) {  // row P09
  OpenSetup made = setup();
  if (!made.adapter) GTEST_SKIP() << "no software device";
  lanes::TestModel test;
  const OpenModel open = open_model(test, std::move(made));
  ASSERT_TRUE(open.model->set_profiling({.is_on = true}).has_value());
  const std::vector<Row> rows{{.token = 1}, {.token = 2, .position = 1}};
  const std::vector<PageId> pages = first_pages(1);
  const SequenceView view{pages};
  ASSERT_TRUE(open.model->forward({rows, {&view, 1}}).has_value());
  const profile::Snapshot totals = reading_of(*open.model);
  EXPECT_EQ(totals[Phase::output_topk].calls, 0U);
  EXPECT_GT(totals[Phase::attention].calls, 0U);
  EXPECT_EQ(totals.dropped, 0U);
}

TEST_P(StepProfile, ModelMayGoWhileAProfiledStepIsPending) {
  OpenSetup made = setup();
  if (!made.adapter) GTEST_SKIP() << "no software device";
  lanes::TestModel test;
  OpenModel open = open_model(test, std::move(made));
  ASSERT_TRUE(open.model->set_profiling({.is_on = true}).has_value());
  const std::vector<Row> rows{{1, 0, 0, RowOutputKind::argmax}};
  const std::vector<PageId> pages = first_pages(1);
  const SequenceView view{pages};
  ASSERT_TRUE(open.model->submit({rows, {&view, 1}}).has_value());
  ASSERT_TRUE(open.model->submit({rows, {&view, 1}}).has_value());
  open.model.reset();
}

INSTANTIATE_TEST_SUITE_P(Stamps, StepProfile, testing::Bool(), [](const auto& test) {
  return std::string(test.param ? "InsidePasses" : "AroundPasses");
});

TEST(WgpuProfile, StepWithAProfilerThatIsOffIsTheStepWithoutOne) {
  OpenSetup plain;
  if (!plain.adapter) GTEST_SKIP() << "no software device";
  CallRecorder recorder(*plain.api);
  const auto step_calls = [&](bool was_on) {
    OpenSetup made;
    const std::shared_ptr<const Api> real = made.api;  // the adapter's, as long as the device
    made.api = recorded_api();
    lanes::TestModel test;
    const OpenModel open = open_model(test, std::move(made));
    TestSequence sequence{first_pages(1)};
    EXPECT_TRUE(open.model->set_profiling({.is_on = was_on}).has_value());
    decode(*open.model, sequence, 2);
    EXPECT_EQ(recorder.count("DeviceCreateQuerySet") > 0, was_on);
    EXPECT_TRUE(open.model->set_profiling({}).has_value());
    recorder.clear();
    decode(*open.model, sequence, 1);
    return recorder.calls();
  };
  const std::vector<std::string> without = step_calls(false);
  EXPECT_GT(without.size(), 20U);
  EXPECT_EQ(step_calls(true), without);
}

TEST(WgpuProfileLong, StepOfMoreStampsThanASetIsMeasuredWhole) {  // row P13
  OpenSetup made;
  if (!made.adapter) GTEST_SKIP() << "no software device";
  if (!made.adapter->facts.features.timestamps_inside_passes) GTEST_SKIP() << "no stamps in passes";
  lanes::TestModel test(TestShape{8, 1, 1, 8, 8, 11, 17});
  const OpenModel open = open_model(test, std::move(made), 8);
  ASSERT_TRUE(open.model->set_profiling({.is_on = true}).has_value());
  std::vector<Row> rows;
  for (uint32_t p = 0; p < kRowsMax; ++p) rows.push_back({1, 0, p});
  rows.back().output = RowOutputKind::argmax;
  const std::vector<PageId> pages = first_pages(8);
  const SequenceView view{pages};
  ASSERT_TRUE(open.model->forward({rows, {&view, 1}}).has_value());
  EXPECT_GT(open.model->calls().dispatches, StepTimer::kQueriesPerSet);
  const profile::Snapshot totals = reading_of(*open.model);
  EXPECT_EQ(totals.dropped, 0U);
  EXPECT_EQ(calls_of(totals), open.model->calls().dispatches);
}

TEST(WgpuProfile, RecordsOneStepInEvery) {
  OpenSetup made;
  if (!made.adapter) GTEST_SKIP() << "no software device";
  lanes::TestModel test;
  const OpenModel open = open_model(test, std::move(made));
  ASSERT_TRUE(open.model->set_profiling({.is_on = true, .every = 3}).has_value());
  TestSequence sequence{first_pages(1)};
  decode(*open.model, sequence, 7);
  EXPECT_EQ(reading_of(*open.model).steps, 3U);
  ASSERT_TRUE(open.model->set_profiling({}).has_value());
  decode(*open.model, sequence, 1);
  const profile::Snapshot off = reading_of(*open.model);
  EXPECT_EQ(off.steps + off.attributed_ns() + off.spans.size(), 0U);
}

TEST(WgpuProfile, DeviceWithoutTimestampsRefusesInWords) {
  OpenSetup made;
  if (!made.adapter) GTEST_SKIP() << "no software device";
  made.adapter->facts.features.timestamps = false;
  made.adapter->facts.features.timestamps_inside_passes = false;
  made.options.circuit = {"wgpu", "some GPU", "vulkan"};
  lanes::TestModel test;
  const OpenModel open = open_model(test, std::move(made));
  const Result<void> refused = open.model->set_profiling({.is_on = true});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_EQ(refused.error().message,
            "'wgpu / some GPU / vulkan' can't be profiled: the device has no timestamps.");
}

TEST(WgpuProfile, DeepContextsMoveOnlyAttention) {
  OpenSetup made;
  if (!made.adapter) GTEST_SKIP() << "no software device";
  if (!made.adapter->facts.features.timestamps_inside_passes) GTEST_SKIP() << "no stamps in passes";
  lanes::TestModel test(TestShape{64, 4, 2, 32, 96, 61, 2});
  constexpr uint32_t kDeep = 30;  // pages
  const OpenModel open = open_model(test, std::move(made), kDeep + 1);
  const auto profiled = [&](TestSequence& sequence) {
    EXPECT_TRUE(open.model->set_profiling({.is_on = true}).has_value());
    decode(*open.model, sequence, 20);
    return reading_of(*open.model);
  };
  TestSequence brief{{kDeep}};
  const profile::Snapshot few = profiled(brief);
  // What the pages hold does not matter to their time.
  TestSequence deep{first_pages(kDeep), (kDeep - 1) * kPagePositions};
  const profile::Snapshot many = profiled(deep);
  EXPECT_GT(shortest_ns(many, "attend"), 4 * shortest_ns(few, "attend"));
  for (const char* op : {"qkv", "attention_output", "gate_up", "down", "output"}) {
    EXPECT_LT(shortest_ns(many, op), 4 * shortest_ns(few, op)) << op;
  }
}

}  // namespace
}  // namespace wgpu
}  // namespace qualia::lanes
