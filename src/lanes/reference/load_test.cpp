// What the reference lane accepts, what it refuses and in which words, and what it reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "lanes/reference/batch_rows.h"
#include "lanes/reference/test_model.h"

namespace qualia::lanes::reference {
namespace {

using ops::WeightRole;
using testing::HasSubstr;

Error load_error(const TestModel& model, const ops::WeightMap& map,
                 const LoadOptions& options = {}) {
  const Result<std::unique_ptr<LaneModel>> loaded =
      make_reference_lane()->load(model.spec, map, options);
  EXPECT_FALSE(loaded.has_value());
  return loaded ? Error{} : loaded.error();
}

// The map with one view changed.
template <typename Change>
ops::WeightMap changed(ops::WeightMap map, WeightRole role, uint32_t layer, const Change& change) {
  ops::WeightView view = *map.find(role, layer);
  change(view);
  map.set(role, layer, view);
  return map;
}

TEST(ReferenceLane, NamesItsOneCircuit) {
  const std::vector<CircuitInfo> circuits = make_reference_lane()->circuits(2);
  ASSERT_EQ(circuits.size(), 1U);
  EXPECT_EQ(circuits[0].label(), "reference / CPU, 2 threads / scalar");
  EXPECT_EQ(make_reference_lane()->circuits(1)[0].device, "CPU, 1 thread");
}

TEST(ReferenceLane, RefusesAMissingWeightByRoleAndLayer) {
  TestModel test;
  test.values.erase({1, WeightRole::key});
  const Error error = load_error(test, test.write());
  EXPECT_EQ(error.code, ErrorCode::corrupt_file);
  EXPECT_EQ(error.message, "The key weight of layer 1 is missing.");
  test.values.erase({ops::kNoLayer, WeightRole::output});
  EXPECT_EQ(load_error(test, test.write()).message, "The output weight is missing.");
}

TEST(ReferenceLane, RefusesAWrongShapeWithBothShapes) {
  TestModel test;
  const ops::WeightMap map = changed(test.write(), WeightRole::up, 0, [](ops::WeightView& view) {
    view.shape = {{20, 24, 1, 1}, 2};
  });
  const Error error = load_error(test, map);
  EXPECT_EQ(error.code, ErrorCode::corrupt_file);
  EXPECT_EQ(error.message, "Tensor '" + TestModel::name({0, WeightRole::up}) +
                               "' has shape [20, 24] ([24, 20] is needed).");
}

TEST(ReferenceLane, RefusesAWeightTypeItLacksByName) {
  TestModel test;
  const ops::WeightMap map = changed(test.write(), WeightRole::gate, 1,
                                     [](ops::WeightView& view) { view.dtype = DType::iq4_xs; });
  const Error error = load_error(test, map);
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_THAT(error.message, HasSubstr(TestModel::name({1, WeightRole::gate})));
  EXPECT_THAT(error.message, HasSubstr("IQ4_XS"));
}

TEST(ReferenceLane, RefusesRowsThatAreNoWholeBlocks) {
  TestModel test;
  const ops::WeightMap map = changed(test.write(), WeightRole::gate, 1,
                                     [](ops::WeightView& view) { view.dtype = DType::q4_0; });
  const Error error = load_error(test, map);
  EXPECT_EQ(error.code, ErrorCode::corrupt_file);
  EXPECT_THAT(error.message, HasSubstr("rows of 24 values (Q4_0 stores multiples of 32)"));
}

TEST(ReferenceLane, RefusesAWeightOfTheWrongSize) {
  TestModel test;
  const ops::WeightMap map = changed(test.write(), WeightRole::output_norm, ops::kNoLayer,
                                     [](ops::WeightView& view) { view.size_bytes -= 4; });
  EXPECT_THAT(load_error(test, map).message, HasSubstr("has 92 bytes (96 are needed)"));
}

TEST(ReferenceLane, RefusesAWeightOutsideItsFile) {
  TestModel test;
  for (const uint64_t offset : {uint64_t{1} << 40, ~uint64_t{0}}) {
    const ops::WeightMap map =
        changed(test.write(), WeightRole::value, 0,
                [offset](ops::WeightView& view) { view.file_offset = offset; });
    const Error error = load_error(test, map);
    EXPECT_EQ(error.code, ErrorCode::corrupt_file);
    EXPECT_THAT(error.message, HasSubstr(std::to_string(offset)));
  }
}

TEST(ReferenceLane, PassesOnThatAFileIsMissing) {
  TestModel test;
  const ops::WeightMap map = changed(test.write(), WeightRole::value, 0, [](ops::WeightView& view) {
    view.file = "no such folder/no such file";
  });
  EXPECT_EQ(load_error(test, map).code, ErrorCode::not_found);
}

TEST(ReferenceLane, RefusesKvTypesOtherThanF32ByName) {
  TestModel test;
  LoadOptions options;
  options.kv = KvType::int8;
  const Error error = load_error(test, test.write(), options);
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_EQ(error.message, "KV type int8 is not available on the reference lane (f32 is).");
  options.kv = KvType::f16;
  EXPECT_THAT(load_error(test, test.write(), options).message, HasSubstr("f16"));
}

TEST(ReferenceLane, RefusesHeadsLargerThanItsKernel) {  // row N10
  TestModel test(TestShape{8, 1, 1, 514, 6, 11, 1, false});
  const Error error = load_error(test, test.write());
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_THAT(error.message, HasSubstr("heads of size 514"));
}

TEST(ReferenceLane, RefusesSpecsThatContradictThemselves) {
  const auto expect_corrupt = [](const auto& change) {
    TestModel test;
    change(test.spec);
    EXPECT_EQ(load_error(test, test.write()).code, ErrorCode::corrupt_file);
  };
  expect_corrupt([](ops::DecoderSpec& spec) { spec.layers.clear(); });
  expect_corrupt([](ops::DecoderSpec& spec) { spec.vocabulary_size = 0; });
  expect_corrupt([](ops::DecoderSpec& spec) { spec.layers[1].attention.kv_head_count = 0; });
  expect_corrupt([](ops::DecoderSpec& spec) { spec.layers[1].attention.head_count = 0; });
  expect_corrupt([](ops::DecoderSpec& spec) { spec.layers[0].attention.kv_head_count = 3; });
  expect_corrupt([](ops::DecoderSpec& spec) { spec.layers[0].attention.rope.dims = 7; });
  expect_corrupt([](ops::DecoderSpec& spec) { spec.layers[0].attention.rope.dims = 10; });
  expect_corrupt([](ops::DecoderSpec& spec) { spec.layers[0].feed_forward.width = 0; });
}

TEST(ReferenceLane, ReportsExactPrecisionWhateverIsAsked) {
  TestModel test;
  for (const Precision precision : {Precision::fast, Precision::precise, Precision::exact}) {
    LoadOptions options;
    options.precision = precision;
    options.kv = KvType::f32;
    const auto model = make_reference_lane()->load(test.spec, test.write(), options);
    ASSERT_TRUE(model.has_value());
    EXPECT_EQ((*model)->resident().precision, Precision::exact);
    EXPECT_EQ((*model)->resident().kv, KvType::f32);
  }
}

TEST(ReferenceLane, ReportsTheBytesOfAStepAndOfAPage) {
  for (const bool tied : {false, true}) {
    TestModel test(TestShape{24, 2, 1, 8, 20, 37, 2, tied});
    const ops::WeightMap map = test.write();
    const std::unique_ptr<LaneModel> model = test.load(2);
    const ResidentReport& report = model->resident();
    // Untied, one row of the embedding is read; tied, all of it.
    const uint64_t unread = tied ? 0 : (37 - 1) * 24 * sizeof(float);
    EXPECT_EQ(report.step_weight_bytes, map.size_bytes() - unread);
    EXPECT_EQ(report.kv_page_bytes, 2U * 2 * kPagePositions * 8 * sizeof(float));
    EXPECT_EQ(report.weights_bytes, 5U * 24 * sizeof(float));  // the norms
    EXPECT_EQ(report.circuit.device, "CPU, 2 threads");
  }
}

TEST(BatchRows, FallWithTheModelAndRiseWithTheThreads) {
  Weights weights;
  weights.layers.resize(2);
  weights.layers[1].down.n = 10'000;
  weights.layers[1].down.k = 1'000;
  EXPECT_EQ(batch_rows(weights, 1), 250U);
  EXPECT_EQ(batch_rows(weights, 2), 500U);
  EXPECT_EQ(batch_rows(weights, 3), 512U);
  weights.layers[0].query.n = 1'000'000;
  weights.layers[0].query.k = 1'000;
  EXPECT_EQ(batch_rows(weights, 1), 8U);
}

TEST(ReferenceLane, ReadsWeightsFromSeveralFiles) {
  TestModel test;
  const ops::WeightMap map = test.write(3);
  const auto model = make_reference_lane()->load(test.spec, map, {});
  ASSERT_TRUE(model.has_value());
  ASSERT_TRUE((*model)->reserve_pages(1).has_value());
  TestSequence split{{0}};
  TestSequence whole{{0}};
  EXPECT_EQ(feed(**model, split, {1, 2, 3}), feed(*test.load(), whole, {1, 2, 3}));
}

TEST(ReferenceLane, TellsItsProgressUpToTheWhole) {
  TestModel test;
  const ops::WeightMap map = test.write();
  std::vector<uint64_t> done;
  LoadOptions options;
  options.progress = [&](uint64_t now, uint64_t total) {
    EXPECT_EQ(total, map.size_bytes());
    done.push_back(now);
  };
  ASSERT_TRUE(make_reference_lane()->load(test.spec, map, options).has_value());
  ASSERT_FALSE(done.empty());
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), map.size_bytes());
}

TEST(ReferenceLane, RefusesMorePagesThanMemoryHasAndGoesOn) {
  TestModel test(TestShape{8, 16, 16, 512, 6, 11, 8, false});  // 32 MiB a page
  const std::unique_ptr<LaneModel> model = test.load(1, 1);
  const Result<void> result = model->reserve_pages(0xFFFFFFFF);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::out_of_memory);
  EXPECT_THAT(result.error().message, HasSubstr("KV pages of 33554432 bytes"));
  EXPECT_THAT(result.error().message, HasSubstr("are available"));
  TestSequence sequence{{0}};
  EXPECT_EQ(feed(*model, sequence, {1, 2}).size(), 2U);
  EXPECT_TRUE(model->reserve_pages(0).has_value());  // never shrinks
  EXPECT_EQ(feed(*model, sequence, {3}).size(), 1U);
}

TEST(ReferenceLane, KeepsPagesWhenMoreAreReserved) {
  TestModel test;
  const std::unique_ptr<LaneModel> model = test.load(1, 1);
  TestSequence grown{{0}};
  feed(*model, grown, {1, 2, 3});
  ASSERT_TRUE(model->reserve_pages(41).has_value());
  TestSequence fresh{{40}};
  EXPECT_EQ(feed(*model, grown, {4}).back(), feed(*model, fresh, {1, 2, 3, 4}).back());
}

}  // namespace
}  // namespace qualia::lanes::reference
