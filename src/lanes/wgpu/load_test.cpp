// What the wgpu lane accepts, what it refuses and in which words, and what happens when its device
// has no room left or is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "lanes/batching_cases.h"
#include "lanes/wgpu/model_harness.h"
#include "lanes/wgpu/test_model.h"
#include "ops/top_k.h"

namespace qualia::lanes {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Batching);

namespace wgpu {
namespace {

using ops::WeightRole;
using testing::HasSubstr;

class WgpuLoad : public testing::Test {
 protected:
  void SetUp() override {
    circuit_ = software_circuit(*lane_, "vulkan");
    if (!circuit_) GTEST_SKIP() << "no software device through vulkan";
  }

  Error load_error(const lanes::TestModel& model, const ops::WeightMap& map) const {
    LoadOptions options;
    options.circuit = *circuit_;
    const Result<std::unique_ptr<LaneModel>> loaded = lane_->load(model.spec, map, options);
    EXPECT_FALSE(loaded.has_value());
    return loaded ? Error{} : loaded.error();
  }

  std::unique_ptr<Lane> lane_ = make_wgpu_lane(kVulkanGpuKernels.options());
  std::optional<CircuitInfo> circuit_;
};

TEST_F(WgpuLoad, RefusesAMissingWeightByRoleAndLayer) {
  lanes::TestModel test;
  test.values.erase({1, WeightRole::key});
  const Error error = load_error(test, test.write());
  EXPECT_EQ(error.code, ErrorCode::corrupt_file);
  EXPECT_EQ(error.message, "The key weight of layer 1 is missing.");
}

TEST_F(WgpuLoad, RefusesAWeightTypeItLacksByNameAndLane) {
  lanes::TestModel test;
  ops::WeightMap map = test.write();
  ops::WeightView view = *map.find(WeightRole::gate, 1);
  view.dtype = DType::iq4_xs;
  map.set(WeightRole::gate, 1, view);
  const Error error = load_error(test, map);
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_THAT(error.message, HasSubstr("IQ4_XS, which the wgpu lane does not compute"));
}

TEST_F(WgpuLoad, RefusesHeadsLargerThanItsKernel) {  // row N10
  lanes::TestModel test(TestShape{8, 1, 1, 514, 6, 11, 1, false});
  EXPECT_THAT(load_error(test, test.write()).message,
              HasSubstr("the wgpu lane computes up to 512"));
}

TEST_F(WgpuLoad, NamesACircuitThatIsNotThereAndThoseThatAre) {
  lanes::TestModel test;
  const std::string there = circuit_->label();
  circuit_->device = "no such GPU";
  const Error error = load_error(test, test.write());
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_THAT(error.message, HasSubstr("no such GPU"));
  EXPECT_THAT(error.message, HasSubstr(there));
}

TEST_F(WgpuLoad, ReportsPrecisionAndTheKvTypeThatGoesWithIt) {
  lanes::TestModel test;
  const auto report = [&](Precision precision, KvType kv) {
    LoadOptions options;
    options.circuit = *circuit_;
    options.precision = precision;
    options.kv = kv;
    return lane_->load(test.spec, test.write(), options).value()->resident();
  };
  EXPECT_EQ(report(Precision::fast, KvType::automatic).kv, KvType::int8);
  EXPECT_EQ(report(Precision::precise, KvType::automatic).kv, KvType::f16);
  const ResidentReport exact = report(Precision::exact, KvType::automatic);
  EXPECT_EQ(exact.kv, KvType::f32);
  EXPECT_EQ(exact.precision, Precision::exact);
  EXPECT_EQ(exact.circuit.label(), circuit_->label());
  EXPECT_GE(exact.weights_bytes, test.write().size_bytes());
  // Two layers of keys and values of one head of 8, each four bytes.
  EXPECT_EQ(exact.kv_page_bytes, 2U * 2 * kPagePositions * 8 * 4);
}

TEST_F(WgpuLoad, TellsItsProgressUpToTheWhole) {
  lanes::TestModel test;
  const ops::WeightMap map = test.write();
  std::vector<uint64_t> done;
  LoadOptions options;
  options.circuit = *circuit_;
  options.progress = [&](uint64_t now, uint64_t total) {
    EXPECT_EQ(total, map.size_bytes());
    done.push_back(now);
  };
  ASSERT_TRUE(lane_->load(test.spec, map, options).has_value());
  ASSERT_GT(done.size(), 2U);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), map.size_bytes());
}

TEST_F(WgpuLoad, MatricesLargerThanABindingGiveTheSameLogitsInParts) {  // row B09
  for (const bool is_tied : {false, true}) {
    lanes::TestModel test(TestShape{64, 4, 2, 32, 96, 200, 1, is_tied});
    const std::vector<TokenId> tokens = random_tokens(4, 200, 12);
    const auto logits = [&](uint64_t binding_bytes_max) {
      WgpuLaneOptions options = kVulkanGpuKernels.options();
      options.binding_bytes_max = binding_bytes_max;
      LoadOptions load;
      load.circuit = *circuit_;
      const auto model = test.load_on(*make_wgpu_lane(options), load);
      return feed_in_chunks(*model, {{1}}, tokens, 1);
    };
    const Logits whole = logits(0);
    // Rows of 256 bytes: parts of 64 rows for blocks, and of 7 rows, which no block takes.
    for (const uint64_t bytes : {uint64_t{64 * 256}, uint64_t{7 * 256 + 100}}) {
      const Logits parts = logits(bytes);
      for (size_t p = 0; p < whole.size(); ++p) expect_same(parts[p], whole[p], 1e-4F);
    }
  }
}

TEST_F(WgpuLoad, RefusesARowLargerThanABinding) {  // row B09
  lanes::TestModel test;
  WgpuLaneOptions options = kVulkanGpuKernels.options();
  options.binding_bytes_max = 20;
  lane_ = make_wgpu_lane(options);
  const Error error = load_error(test, test.write());
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_THAT(error.message, HasSubstr("larger than a binding of the GPU (20 bytes)"));
}

TEST_F(WgpuLoad, TwoModelsRunOnOneDeviceByTurns) {
  lanes::TestModel test_a;
  lanes::TestModel test_b(TestShape{16, 2, 1, 8, 12, 19, 1, true});
  LoadOptions options;
  options.circuit = *circuit_;
  const auto a = test_a.load_on(*lane_, options);
  const Logits alone = feed_in_chunks(*a, {{0}}, {1, 2, 3, 4}, 1);
  const auto b = test_b.load_on(*lane_, options);
  TestSequence sequence_a{{1}};
  TestSequence sequence_b{{0}};
  for (TokenId token = 1; token <= 4; ++token) {
    const Logits logits_a = feed(*a, sequence_a, {token});
    const Logits logits_b = feed(*b, sequence_b, {token});
    EXPECT_EQ(logits_a.back(), alone[static_cast<size_t>(token - 1)]);
    EXPECT_EQ(logits_b.back().size(), 19U);
  }
}

TEST(WgpuModelTest, LogsNoErrorUnderValidation) {
  OpenSetup setup(Backend::vulkan, Checks::validation);
  if (!setup.adapter) GTEST_SKIP() << "no software device";
  lanes::TestModel test(TestShape{32, 2, 1, 16, 32, 1500, 2, true});
  test.matrix_dtype = DType::q8_0;
  setup.options.precision = Precision::fast;
  setup.options.kv = KvType::int8;
  const OpenModel open = open_model(test, std::move(setup));
  EXPECT_TRUE(open.model->set_profiling({.is_on = true}).has_value());
  TestSequence sequence{{0, 1}};
  feed(*open.model, sequence, random_tokens(65, 1500, 1));
  feed(*open.model, sequence, {1});
  EXPECT_TRUE(open.model->copy_page(1, 2).has_value());
  EXPECT_TRUE(open.model->reserve_pages(9).has_value());
  const std::vector<PageId> pages = {8};
  const SequenceView view{pages};
  const std::vector<Row> rows = {{1, 0, 0, RowOutputKind::top_k}};
  EXPECT_TRUE(open.model->forward({rows, {&view, 1}, 5}).has_value());
  const Result<void> errors = open.device->errors().take();
  EXPECT_TRUE(errors.has_value()) << errors.error().message;
}

TEST(WgpuModelTest, RefusesMorePagesThanFitWithBothNumbersAndGoesOn) {  // row B14
  OpenSetup setup;
  if (!setup.adapter) GTEST_SKIP() << "no software device";
  lanes::TestModel test;
  const OpenModel open = open_model(test, std::move(setup), 1);
  for (const uint32_t count : {0xFFFFFFFFU, 50'000'000U}) {
    const Result<void> refused = open.model->reserve_pages(count);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
    EXPECT_THAT(refused.error().message,
                HasSubstr(std::to_string(count) + " KV pages of 8192 bytes do not fit ("));
    EXPECT_THAT(refused.error().message, HasSubstr(" bytes are available)."));
  }
  TestSequence sequence{{0}};
  EXPECT_EQ(feed(*open.model, sequence, {1, 2}).size(), 2U);
  EXPECT_TRUE(open.model->reserve_pages(0).has_value());  // never shrinks
  EXPECT_EQ(feed(*open.model, sequence, {3}).size(), 1U);
}

// A device that gives no buffer while `has_room` is false.
bool& has_room() {
  static bool room = true;
  return room;
}
const Api*& full_device() {
  static const Api* real = nullptr;
  return real;
}
WGPUBuffer buffer_if_room(WGPUDevice device, const WGPUBufferDescriptor* descriptor) {
  return has_room() ? full_device()->DeviceCreateBuffer(device, descriptor) : nullptr;
}

TEST(WgpuModelTest, KeepsItsPagesWhenTheDeviceHasNoRoomForMore) {  // row B14
  OpenSetup setup;
  if (!setup.adapter) GTEST_SKIP() << "no software device";
  const std::shared_ptr<const Api> real = setup.api;
  full_device() = real.get();
  auto api = std::make_shared<Api>(*real);
  api->DeviceCreateBuffer = buffer_if_room;
  setup.api = api;
  lanes::TestModel test;
  const OpenModel open = open_model(test, std::move(setup), 1);
  TestSequence sequence{{0}};
  for (const TokenId token : {1, 2, 3}) feed(*open.model, sequence, {token});
  has_room() = false;
  const Result<void> refused = open.model->reserve_pages(2);
  has_room() = true;
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
  EXPECT_THAT(refused.error().message, HasSubstr("2 KV pages of 8192 bytes do not fit on the GPU"));
  const Logits after = feed(*open.model, sequence, {4});
  ASSERT_TRUE(open.model->reserve_pages(2).has_value());
  expect_same(after.back(), feed_in_chunks(*open.model, {{1}}, {1, 2, 3, 4}, 1).back(), 0.0F);
}

TEST(WgpuModelTest, KeepsPagesWhenMoreAreReserved) {
  OpenSetup setup;
  if (!setup.adapter) GTEST_SKIP() << "no software device";
  lanes::TestModel test;
  const OpenModel open = open_model(test, std::move(setup), 1);
  TestSequence grown{{0}};
  for (const TokenId token : {1, 2, 3}) feed(*open.model, grown, {token});
  ASSERT_TRUE(open.model->reserve_pages(41).has_value());
  EXPECT_EQ(feed(*open.model, grown, {4}).back(),
            feed_in_chunks(*open.model, {{40}}, {1, 2, 3, 4}, 1).back());
}

TEST(WgpuModelTest, TopKOnTheDeviceIsTopKOnTheHost) {
  OpenSetup setup;
  if (!setup.adapter) GTEST_SKIP() << "no software device";
  constexpr uint32_t kVocabulary = 3001;
  lanes::TestModel test(TestShape{8, 1, 1, 8, 8, kVocabulary, 1, false});
  // Many equal rows of the output matrix: ties across blocks of the sort, and zeros of both signs.
  std::vector<float>& output = test.at(WeightRole::output);
  for (size_t row = 0; row < kVocabulary; ++row) {
    if (row % 3 == 0) std::copy_n(&output[row % 7 * 8], 8, &output[row * 8]);
    if (row % 5 == 0) std::fill_n(&output[row * 8], 8, row % 2 == 0 ? 0.0F : -0.0F);
  }
  const OpenModel open = open_model(test, std::move(setup), 2);
  const std::vector<PageId> pages[] = {{0}, {1}};
  const SequenceView views[] = {{pages[0]}, {pages[1]}};
  const std::vector<Row> rows = {{1, 0, 0, RowOutputKind::logits}, {1, 1, 0, RowOutputKind::top_k}};
  for (const uint32_t k : {1U, 2U, 40U, 512U, 513U, 1024U, 5000U}) {
    SCOPED_TRACE(k);
    const StepOutput step = open.model->forward({rows, views, k}).value();
    const std::vector<float>& logits = step.rows[0].logits;
    std::vector<uint32_t> expected(std::min(k, kVocabulary));
    ops::top_k_f32(logits.data(), logits.size(), k, expected.data());
    ASSERT_EQ(step.rows[1].top.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(step.rows[1].top[i].token, static_cast<TokenId>(expected[i])) << i;
      ASSERT_EQ(step.rows[1].top[i].logit, logits[expected[i]]) << i;
    }
    EXPECT_EQ(step.rows[0].argmax, static_cast<TokenId>(expected[0]));
    EXPECT_EQ(step.rows[1].argmax, static_cast<TokenId>(expected[0]));
  }
}

TEST(WgpuModelTest, ArgmaxTakesTheLowestOfEqualLogits) {
  OpenSetup setup;
  if (!setup.adapter) GTEST_SKIP() << "no software device";
  constexpr uint32_t kVocabulary = 3001;
  lanes::TestModel test(TestShape{8, 1, 1, 8, 8, kVocabulary, 1, false});
  std::vector<float>& output = test.at(WeightRole::output);
  std::fill(output.begin(), output.end(), 0.0F);
  // Equal rows in two slices, of both signs: one of them is above zero.
  for (const size_t row : {700U, 2100U, 2101U}) std::fill_n(&output[row * 8], 8, 1.0F);
  for (const size_t row : {701U, 2200U}) std::fill_n(&output[row * 8], 8, -1.0F);
  const OpenModel open = open_model(test, std::move(setup), 1);
  const std::vector<PageId> pages = {0};
  const SequenceView view{pages};
  const std::vector<Row> rows = {{1, 0, 0, RowOutputKind::logits}};
  const RowOutput row = open.model->forward({rows, {&view, 1}}).value().rows[0];
  EXPECT_EQ(row.argmax, row.logits[700] > 0.0F ? 700 : 701);
}

TEST(WgpuModelTest, StepsQueuedAheadTakeTheTokensOfThoseBefore) {
  OpenSetup setup;
  if (!setup.adapter) GTEST_SKIP() << "no software device";
  lanes::TestModel test;
  const OpenModel open = open_model(test, std::move(setup), 2);
  // One after the other, each token explicit.
  TestSequence plain{{0}};
  std::vector<TokenId> expected;
  TokenId token = 3;
  for (int i = 0; i < 12; ++i) {
    const std::vector<float> logits = feed(*open.model, plain, {token}).back();
    token = static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    expected.push_back(token);
  }
  // Three in flight.
  const std::vector<PageId> pages = {1};
  const SequenceView view{pages};
  std::vector<TokenId> actual;
  std::deque<StepTicket> tickets;
  const auto collect = [&] {
    actual.push_back(open.model->collect(tickets.front()).value().rows[0].argmax);
    tickets.pop_front();
  };
  for (uint32_t i = 0; i < 12; ++i) {
    const Row row{3, 0, i, RowOutputKind::argmax, i == 0 ? kNoFeedback : 0};
    tickets.push_back(open.model->submit({{&row, 1}, {&view, 1}}).value());
    if (tickets.size() == 3) collect();
  }
  while (!tickets.empty()) collect();
  EXPECT_EQ(actual, expected);
  EXPECT_EQ(open.model->calls().submits, open.model->calls().maps);
}

TEST(WgpuModelTest, EveryCallFailsFastOnceTheDeviceIsLost) {  // row B10
  OpenSetup setup;
  if (!setup.adapter) GTEST_SKIP() << "no software device";
  lanes::TestModel test;
  OpenModel open = open_model(test, std::move(setup), 1);
  const std::vector<PageId> pages = {0};
  const SequenceView view{pages};
  const std::vector<Row> rows = {{1, 0, 0, RowOutputKind::argmax}};
  const Batch batch{rows, {&view, 1}};
  ASSERT_TRUE(open.model->forward(batch).has_value());
  const StepTicket pending = open.model->submit(batch).value();
  open.device->errors().lose("the driver was reset");
  const auto expect_lost = [](const auto& result) {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::device_lost);
    EXPECT_EQ(result.error().message, "The GPU is lost: the driver was reset.");
  };
  for (int turn = 0; turn < 2; ++turn) {
    expect_lost(open.model->submit(batch));
    if (turn == 0) expect_lost(open.model->collect(pending));  // a ticket is collected once
    expect_lost(open.model->reserve_pages(20));
    expect_lost(open.model->copy_page(0, 0));
  }
  open.model.reset();  // waits for nothing
}

TEST(ErrorLogTest, TellsMemoryThatRanOutFromOtherErrorsAndForgetsThem) {
  ErrorLog log;
  EXPECT_TRUE(log.take().has_value());
  log.add(WGPUErrorType_Validation, "Not enough memory left.");
  log.add(WGPUErrorType_Validation, "what came of it");
  const Error memory = log.take().error();
  EXPECT_EQ(memory.code, ErrorCode::out_of_memory);
  EXPECT_EQ(memory.message, "The GPU has no memory left: Not enough memory left.");
  EXPECT_TRUE(log.take().has_value());
  log.add(WGPUErrorType_OutOfMemory, "out");
  EXPECT_EQ(log.take().error().code, ErrorCode::out_of_memory);
  log.add(WGPUErrorType_Validation, "bad call");
  const Error refused = log.take().error();
  EXPECT_EQ(refused.code, ErrorCode::internal);
  EXPECT_EQ(refused.message, "The GPU refuses a call: bad call");
  log.lose("first");
  log.lose("second");
  for (int turn = 0; turn < 2; ++turn) {
    const Error lost = log.take().error();
    EXPECT_EQ(lost.code, ErrorCode::device_lost);
    EXPECT_EQ(lost.message, "The GPU is lost: first.");
  }
  EXPECT_TRUE(log.is_lost());
}

TEST(AdapterTest, SaysWhatAnAdapterLacksToRunModels) {  // row B08
  AdapterFacts facts;
  facts.features.immediates = true;
  facts.limits.maxComputeInvocationsPerWorkgroup = 0;
  facts.limits.maxStorageBuffersPerShaderStage = 0;
  EXPECT_EQ(facts.unusable_reason(), "it has no compute");
  facts.limits.maxComputeInvocationsPerWorkgroup = 64;
  EXPECT_EQ(facts.unusable_reason(), "it runs 64 invocations a workgroup (128 are needed)");
  facts.limits.maxComputeInvocationsPerWorkgroup = 256;
  EXPECT_EQ(facts.unusable_reason(), "it binds 0 storage buffers (8 are needed)");
  facts.limits.maxStorageBuffersPerShaderStage = 8;
  EXPECT_EQ(facts.unusable_reason(), "");
  facts.features.immediates = false;
  EXPECT_EQ(facts.unusable_reason(), "it has no immediates");
}

TEST(AdapterTest, EqualNamesGetNumbersInOrder) {  // row B13
  std::vector<AdapterEntry> entries(4);
  entries[0].facts.name = entries[1].facts.name = entries[3].facts.name = "NVIDIA H200";
  entries[2].facts.name = "llvmpipe";
  number_equal_names(entries);
  std::vector<std::string> names;
  for (const AdapterEntry& entry : entries) names.push_back(entry.facts.name);
  EXPECT_THAT(names,
              testing::ElementsAre("NVIDIA H200", "NVIDIA H200 #2", "llvmpipe", "NVIDIA H200 #3"));
}

}  // namespace
}  // namespace wgpu
}  // namespace qualia::lanes
