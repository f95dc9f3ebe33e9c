// Whole random models on the CPU lane against the reference lane, over head sizes and ratios,
// weight types and precisions, with every set of instructions that this machine has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lanes/cpu/cpu_lane.h"
#include "lanes/reference/reference_lane.h"
#include "lanes/test_model.h"

namespace qualia::lanes {
namespace {

using Logits = std::vector<std::vector<float>>;

struct Shape {
  const char* name;
  TestShape shape;
};
// Widths of whole blocks of 32, which Q8_0 and Q4_0 need; vocabularies of no whole panel.
constexpr Shape kShapes[] = {{"Ratio1Head64", {64, 2, 2, 64, 96, 41, 2, false}},
                             {"Ratio3Head64Width576", {576, 9, 3, 64, 96, 65, 1, true}},  // row N13
                             {"Ratio3Head80", {96, 6, 2, 80, 96, 43, 1, true}},
                             {"Ratio4Head96", {64, 4, 1, 96, 32, 37, 2, false}},
                             {"Ratio7Head128", {64, 14, 2, 128, 64, 33, 1, true}},
                             {"Ratio1Head112", {32, 2, 2, 112, 32, 33, 1, false}},  // row N10
                             {"Ratio2Head160", {32, 2, 1, 160, 32, 33, 1, false}},
                             {"Ratio1Head192", {32, 1, 1, 192, 32, 33, 1, false}},
                             {"Ratio8Head256", {32, 8, 1, 256, 32, 33, 1, false}}};

std::vector<cpu::CpuFeatures> feature_sets() {
  const cpu::CpuFeatures all = cpu::detect_cpu_features();
  std::vector<cpu::CpuFeatures> sets;
  for (const char* mask : {"", "avx512", "avx512,avx_vnni", "avx2"}) {
    const cpu::CpuFeatures features = cpu::hide_features(all, mask).value();
    if (std::find(sets.begin(), sets.end(), features) == sets.end()) sets.push_back(features);
  }
  return sets;
}

Logits logits_of(TestModel& test, const Lane& lane, Precision precision) {
  LoadOptions options;
  options.precision = precision;
  options.thread_count = 2;
  const std::unique_ptr<LaneModel> model = test.load_on(lane, options);
  TestSequence sequence{{3, 1, 2}};
  Logits all = feed(*model, sequence, random_tokens(66, test.spec.vocabulary_size, 7));
  for (const TokenId token : {1, 2, 3}) all.push_back(feed(*model, sequence, {token}).front());
  return all;
}

void expect_alike(const std::vector<float>& actual, const std::vector<float>& expected,
                  Precision precision) {
  double product = 0.0;
  double squares[2] = {};
  for (size_t i = 0; i < expected.size(); ++i) {
    product += static_cast<double>(actual[i]) * static_cast<double>(expected[i]);
    squares[0] += static_cast<double>(actual[i]) * static_cast<double>(actual[i]);
    squares[1] += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
  }
  const bool is_exact = precision == Precision::exact;
  EXPECT_GE(product / std::sqrt(squares[0] * squares[1]), is_exact ? 0.9999 : 0.99);
  std::vector<float> sorted = expected;
  std::partial_sort(sorted.begin(), sorted.begin() + 2, sorted.end(), std::greater<>());
  if (sorted[0] - sorted[1] <= (is_exact ? 1e-3F : 0.5F)) return;
  const auto best = [](const std::vector<float>& logits) {
    return std::max_element(logits.begin(), logits.end()) - logits.begin();
  };
  EXPECT_EQ(best(actual), best(expected));
}

class LaneParity : public testing::TestWithParam<Shape> {};

TEST_P(LaneParity, CpuLaneGivesTheReferenceLogits) {
  for (const DType dtype : {DType::f32, DType::f16, DType::q8_0, DType::q4_0}) {
    TestModel test(GetParam().shape);
    test.matrix_dtype = dtype;
    const Logits expected = logits_of(test, *make_reference_lane(), Precision::exact);
    for (const cpu::CpuFeatures& features : feature_sets()) {
      for (const Precision precision : {Precision::fast, Precision::precise, Precision::exact}) {
        SCOPED_TRACE(testing::Message() << dtype_name(dtype) << ", sets: " << describe(features)
                                        << ", precision " << static_cast<int>(precision));
        const Logits actual = logits_of(test, *make_cpu_lane(features), precision);
        for (size_t p = 0; p < expected.size(); ++p) {
          expect_alike(actual[p], expected[p], precision);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LaneParity, testing::ValuesIn(kShapes),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace qualia::lanes
