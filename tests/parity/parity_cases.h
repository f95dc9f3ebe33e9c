// Whole random models on a lane against the reference lane: shapes over head sizes and ratios, and
// what "alike" means in each precision (design, section 8).
// Thread-safety: none needed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "lanes/test_model.h"

namespace qualia::lanes {

using Logits = std::vector<std::vector<float>>;

struct ParityShape {
  const char* name;
  TestShape shape;
};
// Widths of whole blocks of 32, which Q8_0 and Q4_0 need; vocabularies of no whole panel.
inline constexpr ParityShape kParityShapes[] = {
    {"Ratio1Head64", {64, 2, 2, 64, 96, 41, 2, false}},
    {"Ratio3Head64Width576", {576, 9, 3, 64, 96, 65, 1, true}},  // row N13
    {"Ratio3Head80", {96, 6, 2, 80, 96, 43, 1, true}},
    {"Ratio4Head96", {64, 4, 1, 96, 32, 37, 2, false}},
    {"Ratio7Head128", {64, 14, 2, 128, 64, 33, 1, true}},
    {"Ratio1Head112", {32, 2, 2, 112, 32, 33, 1, false}},  // row N10
    {"Ratio2Head160", {32, 2, 1, 160, 32, 33, 1, false}},
    {"Ratio1Head192", {32, 1, 1, 192, 32, 33, 1, false}},
    {"Ratio8Head256", {32, 8, 1, 256, 32, 33, 1, false}}};

inline Logits logits_of(TestModel& test, const Lane& lane, Precision precision,
                        const CircuitInfo& circuit = {}, size_t prompt = 66) {
  LoadOptions options;
  options.circuit = circuit;
  options.precision = precision;
  options.thread_count = 2;
  const std::unique_ptr<LaneModel> model = test.load_on(lane, options);
  TestSequence sequence{{3, 1, 2}};
  Logits all = feed(*model, sequence, random_tokens(prompt, test.spec.vocabulary_size, 7));
  for (const TokenId token : {1, 2, 3}) all.push_back(feed(*model, sequence, {token}).front());
  return all;
}

inline void expect_alike(const std::vector<float>& actual, const std::vector<float>& expected,
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

}  // namespace qualia::lanes
