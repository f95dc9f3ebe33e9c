// Tiny models of every weight type against logits from an independent numpy forward pass
// (tests/data/tiny/README.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "golden/golden_model.h"

namespace qualia::test {
namespace {

// Logits have a deviation of about 3 and 7 printed digits.
constexpr double kLogitBound = 2e-4;
// A smaller margin than this could turn over by rounding.
constexpr double kMarginMin = 1e-3;

class TinyModel : public testing::TestWithParam<std::string> {};

TEST_P(TinyModel, GivesTheLogitsOfTheNumpyReference) {
  const std::string stem = "tests/data/tiny/" + GetParam();
  Result<GoldenModel> model = GoldenModel::load(stem + ".gguf");
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const nlohmann::json reference = read_json(stem + ".json");
  const auto tokens = reference.at("tokens").get<std::vector<TokenId>>();
  const auto stride = reference.at("logit_stride").get<size_t>();
  size_t positions = 0;
  const Result<void> fed = model->feed(tokens, 0, [&](size_t p, const std::vector<float>& logits) {
    ++positions;
    ASSERT_EQ(logits.size(), reference.at("vocabulary").get<size_t>());
    const nlohmann::json& expected = reference.at("logits").at(p);
    ASSERT_EQ(expected.size(), (logits.size() + stride - 1) / stride);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(logits[i * stride], expected[i].get<double>(), kLogitBound)
          << "position " << p << ", id " << i * stride;
    }
    if (reference.at("margin").at(p).get<double>() < kMarginMin) return;
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    EXPECT_EQ(best, reference.at("argmax").at(p).get<std::ptrdiff_t>()) << "position " << p;
  });
  ASSERT_TRUE(fed.has_value()) << fed.error().message;
  EXPECT_EQ(positions, tokens.size());
}

// The same on the CPU lane: cosine and argmax, by precision (design, section 8).
class TinyModelOnCpu : public testing::TestWithParam<std::string> {
 protected:
  // `margin_min`: of the reference, where the argmax has to be equal.
  void check(Precision precision, double cosine_min, double margin_min) {
    const std::string stem = "tests/data/tiny/" + GetParam();
    Result<GoldenModel> model = GoldenModel::load(stem + ".gguf", {"cpu", precision});
    ASSERT_TRUE(model.has_value()) << model.error().message;
    const nlohmann::json reference = read_json(stem + ".json");
    const auto tokens = reference.at("tokens").get<std::vector<TokenId>>();
    const auto fed = model->feed(tokens, 0, [&](size_t p, const std::vector<float>& logits) {
      EXPECT_GE(cosine(reference, p, logits), cosine_min) << "position " << p;
      if (reference.at("margin").at(p).get<double>() <= margin_min) return;
      EXPECT_EQ(argmax(logits), reference.at("argmax").at(p).get<TokenId>()) << "position " << p;
    });
    ASSERT_TRUE(fed.has_value()) << fed.error().message;
  }

 private:
  static double cosine(const nlohmann::json& reference, size_t p,
                       const std::vector<float>& logits) {
    const auto expected = reference.at("logits").at(p).get<std::vector<double>>();
    const auto stride = reference.at("logit_stride").get<size_t>();
    double product = 0.0;
    double squares[2] = {};
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto actual = static_cast<double>(logits.at(i * stride));
      product += actual * expected[i];
      squares[0] += actual * actual;
      squares[1] += expected[i] * expected[i];
    }
    return product / std::sqrt(squares[0] * squares[1]);
  }
};

TEST_P(TinyModelOnCpu, IsExactInExactPrecision) { check(Precision::exact, 0.9999, 0.001); }
TEST_P(TinyModelOnCpu, IsCloseInPrecisePrecision) { check(Precision::precise, 0.9999, 0.1); }
TEST_P(TinyModelOnCpu, IsNearInFastPrecision) { check(Precision::fast, 0.99, 0.5); }

constexpr auto kNameOf = [](const auto& test) { return test.param; };
const auto kAllTypes =
    testing::Values("f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "mix_k");
INSTANTIATE_TEST_SUITE_P(AllWeightTypes, TinyModel, kAllTypes, kNameOf);
INSTANTIATE_TEST_SUITE_P(AllWeightTypes, TinyModelOnCpu, kAllTypes, kNameOf);

}  // namespace
}  // namespace qualia::test
