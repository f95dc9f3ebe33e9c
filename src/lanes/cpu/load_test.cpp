// What the CPU lane accepts, what it refuses and in which words, and what it reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "lanes/cpu/cpu_model.h"
#include "lanes/cpu/test_model.h"

namespace qualia::lanes::cpu {
namespace {

using ops::WeightRole;
using testing::HasSubstr;

Error load_error(const lanes::TestModel& model, const ops::WeightMap& map) {
  const Result<std::unique_ptr<LaneModel>> loaded =
      make_cpu_lane(detect_cpu_features())->load(model.spec, map, {});
  EXPECT_FALSE(loaded.has_value());
  return loaded ? Error{} : loaded.error();
}

TEST(CpuLane, NamesItsOneCircuitByTheSetsItMayUse) {
  EXPECT_EQ(make_cpu_lane({})->circuits(1).at(0).label(), "cpu / CPU, 1 thread / portable");
  CpuFeatures features;
  features.avx2 = true;
  const std::vector<CircuitInfo> circuits = make_cpu_lane(features)->circuits(2);
  ASSERT_EQ(circuits.size(), 1U);
  EXPECT_EQ(circuits[0].label(), "cpu / CPU, 2 threads / avx2");
}

TEST(CpuLane, RefusesAMissingWeightByRoleAndLayer) {
  FastModel test;
  test.values.erase({1, WeightRole::key});
  EXPECT_EQ(load_error(test, test.write()).message, "The key weight of layer 1 is missing.");
}

TEST(CpuLane, RefusesAWeightTypeItLacksByNameAndLane) {
  FastModel test;
  ops::WeightMap map = test.write();
  ops::WeightView view = *map.find(WeightRole::gate, 1);
  view.dtype = DType::iq4_xs;
  map.set(WeightRole::gate, 1, view);
  const Error error = load_error(test, map);
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_THAT(error.message, HasSubstr("IQ4_XS, which the cpu lane does not compute"));
}

TEST(CpuLane, RefusesHeadsLargerThanItsKernel) {  // row N10
  FastModel test(TestShape{8, 1, 1, 514, 6, 11, 1, false});
  EXPECT_THAT(load_error(test, test.write()).message, HasSubstr("the cpu lane computes up to 512"));
}

TEST(CpuLane, ReportsPrecisionAndTheKvTypeThatGoesWithIt) {
  FastModel test;
  const auto lane = make_cpu_lane(detect_cpu_features());
  const auto report = [&](Precision precision, KvType kv) {
    LoadOptions options;
    options.precision = precision;
    options.kv = kv;
    return (*lane->load(test.spec, test.write(), options))->resident();
  };
  EXPECT_EQ(report(Precision::fast, KvType::automatic).kv, KvType::int8);
  EXPECT_EQ(report(Precision::precise, KvType::automatic).kv, KvType::f16);
  EXPECT_EQ(report(Precision::exact, KvType::automatic).kv, KvType::f32);
  EXPECT_EQ(report(Precision::fast, KvType::f32).kv, KvType::f32);
  EXPECT_EQ(report(Precision::precise, KvType::f16).precision, Precision::precise);
}

TEST(CpuLane, ReportsTheBytesOfAStepAndOfAPage) {
  FastQ8Model test(TestShape{64, 2, 1, 64, 96, 48, 2, true});
  const std::unique_ptr<LaneModel> model = test.load(2);
  const ResidentReport& report = model->resident();
  // Q8_0 keeps its bytes: every matrix here has whole panels of 16 rows.
  const uint64_t values = 2 * (64 * (128 + 64 + 64 + 128) + 3 * 64 * 96) + 64 * 48;
  const uint64_t norms = 5 * 64 * sizeof(float);
  EXPECT_EQ(report.weights_bytes, values / 32 * 34 + norms);
  EXPECT_EQ(report.step_weight_bytes, values / 32 * 34 + norms + 64 / 32 * 34);
  // Two layers of keys and values: a byte each, and two bytes for every 32 of them.
  EXPECT_EQ(report.kv_page_bytes, 2U * 2 * kPagePositions * (64 + 64 / 32 * 2));
  EXPECT_EQ(report.circuit.device, "CPU, 2 threads");
}

TEST(CpuLane, TiedOutputIsHeldOnce) {  // row N11
  const auto held = [](bool tied) {
    FastQ8Model test(TestShape{64, 2, 1, 64, 96, 48, 1, tied});
    return test.load(1)->resident().weights_bytes;
  };
  EXPECT_EQ(held(true), held(false));  // untied, embedding rows are read from the file
}

TEST(CpuLane, TellsItsProgressUpToTheWhole) {
  FastModel test;
  const ops::WeightMap map = test.write();
  std::vector<uint64_t> done;
  LoadOptions options;
  options.thread_count = 2;
  options.progress = [&](uint64_t now, uint64_t total) {
    EXPECT_EQ(total, map.size_bytes());
    done.push_back(now);
  };
  ASSERT_TRUE(make_cpu_lane(detect_cpu_features())->load(test.spec, map, options).has_value());
  ASSERT_GT(done.size(), 2U);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), map.size_bytes());
}

TEST(CpuLane, RefusesMorePagesThanMemoryHasAndGoesOn) {
  FastModel test(TestShape{8, 16, 16, 512, 6, 11, 8, false});
  const std::unique_ptr<LaneModel> model = test.load(1, 1);
  const Result<void> result = model->reserve_pages(0xFFFFFFFF);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::out_of_memory);
  EXPECT_THAT(result.error().message, HasSubstr("KV pages of 8912896 bytes"));
  TestSequence sequence{{0}};
  EXPECT_EQ(feed(*model, sequence, {1, 2}).size(), 2U);
  EXPECT_TRUE(model->reserve_pages(0).has_value());  // never shrinks
}

TEST(CpuLane, KeepsPagesWhenMoreAreReserved) {
  FastModel test;
  const std::unique_ptr<LaneModel> model = test.load(1, 1);
  TestSequence grown{{0}};
  feed(*model, grown, {1, 2, 3});
  ASSERT_TRUE(model->reserve_pages(41).has_value());
  TestSequence fresh{{40}};
  EXPECT_EQ(feed(*model, grown, {4}).back(), feed(*model, fresh, {1, 2, 3, 4}).back());
}

TEST(BatchRows, FallWithTheModelAndRiseWithThreadsAndSets) {
  const auto rows = [](uint64_t work, Isa isa, size_t threads) {
    return batch_rows(work, isa, Precision::fast, threads);
  };
  EXPECT_EQ(rows(106'000'000, Isa::avx2, 2), 141U);
  EXPECT_EQ(rows(106'000'000, Isa::avx512, 2), 471U);
  EXPECT_EQ(rows(1'000'000, Isa::portable, 2), 500U);
  EXPECT_EQ(rows(1'000'000, Isa::avx2, 2), 512U);
  EXPECT_EQ(rows(100'000'000'000, Isa::avx512, 1), 32U);
}

}  // namespace
}  // namespace qualia::lanes::cpu
