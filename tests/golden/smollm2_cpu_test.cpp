// The default model on the CPU lane in its three precisions, teacher-forced against the float32
// golden files: argmax at every decided step, perplexity, and what INT8 keys and values cost.
// Suites named ...Long carry ctest's label "long".
#include <gtest/gtest.h>

#include <cmath>

#include "golden/golden_model.h"

namespace qualia::test {
namespace {

// What the design asks of a precision (section 8).
struct Wanted {
  const char* name;
  Precision precision;
  double perplexity_bound;  // relative
  double argmax_share;
};
constexpr Wanted kFast{"fast", Precision::fast, 0.02, 0.95};
constexpr Wanted kPrecise{"precise", Precision::precise, 0.005, 0.97};
constexpr Wanted kExact{"exact", Precision::exact, 0.0005, 0.995};
// A reference margin below this is no decision.
constexpr double kDecidedMargin = 0.5;

GoldenModel load(Precision precision, KvType kv = KvType::automatic) {
  Result<GoldenModel> model = GoldenModel::load(default_model_path(), {"cpu", precision, kv});
  if (!model) throw std::runtime_error(model.error().message);
  return std::move(*model);
}

class GoldenCpu : public testing::TestWithParam<Wanted> {};

TEST_P(GoldenCpu, PicksTheReferenceTokenAtEveryDecidedStep) {
  GoldenModel model = load(GetParam().precision);
  for (const char* id : {"capital", "raw-capital", "story", "code", "unicode", "digits"}) {
    const nlohmann::json entry = golden_case(id);
    auto tokens = entry.at("tokens").get<std::vector<TokenId>>();
    const auto greedy = entry.at("greedy").get<std::vector<TokenId>>();
    const size_t first = tokens.size() - 1;
    tokens.insert(tokens.end(), greedy.begin(), greedy.end() - 1);
    size_t decided = 0;
    size_t equal = 0;
    const auto fed = model.feed(tokens, first, [&](size_t p, const std::vector<float>& logits) {
      const size_t step = p - first;
      const bool is_equal = argmax(logits) == greedy.at(step);
      equal += is_equal ? 1 : 0;
      if (entry.at("greedy_margin").at(step).get<double>() <= kDecidedMargin) return;
      ++decided;
      EXPECT_TRUE(is_equal) << id << ", step " << step;
    });
    ASSERT_TRUE(fed.has_value()) << fed.error().message;
    std::printf("[  golden  ] cpu %s, %s: %zu of %zu argmax equal, %zu decided\n", GetParam().name,
                id, equal, greedy.size(), decided);
    EXPECT_GT(decided, greedy.size() / 4) << id;
  }
}

void check_windows(const Wanted& wanted, size_t window_count) {
  const nlohmann::json entry = golden_case("gpl3-perplexity");
  const nlohmann::json windows = golden_windows();
  const auto run = load(wanted.precision).run_windows(entry, window_count);
  ASSERT_TRUE(run.has_value()) << run.error().message;
  double expected = 0.0;
  for (size_t i = 0; i < window_count; ++i) {
    expected += windows.at("window_nll").at(i).get<double>() / static_cast<double>(window_count);
  }
  const double positions = static_cast<double>(window_count) * entry.at("window").get<double>();
  const double ratio = std::exp(run->mean_nll() - expected);
  const double share = static_cast<double>(run->argmax_equal) / positions;
  std::printf("[  golden  ] cpu %s, %zu windows: perplexity %+.4f %%, argmax %.2f %% equal\n",
              wanted.name, window_count, 100.0 * (ratio - 1.0), 100.0 * share);
  EXPECT_NEAR(ratio, 1.0, wanted.perplexity_bound);
  EXPECT_GE(share, wanted.argmax_share);
}

TEST_P(GoldenCpu, PerplexityOfFirstWindowKeepsToItsBound) { check_windows(GetParam(), 1); }

INSTANTIATE_TEST_SUITE_P(Precisions, GoldenCpu, testing::Values(kFast, kPrecise, kExact),
                         [](const auto& test) { return std::string(test.param.name); });

using GoldenCpuLong = GoldenCpu;
TEST_P(GoldenCpuLong, PerplexityOfWholeTextKeepsToItsBound) {
  const nlohmann::json entry = golden_case("gpl3-perplexity");
  check_windows(GetParam(), entry.at("tokens").size() / entry.at("window").get<size_t>());
}
INSTANTIATE_TEST_SUITE_P(Precisions, GoldenCpuLong, testing::Values(kFast, kPrecise, kExact),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(GoldenCpuKvLong, Int8KvChangesPerplexityLittle) {  // row N15
  const nlohmann::json entry = golden_case("gpl3-perplexity");
  const size_t window_count = entry.at("tokens").size() / entry.at("window").get<size_t>();
  const auto int8 = load(Precision::precise, KvType::int8).run_windows(entry, window_count);
  const auto f16 = load(Precision::precise, KvType::f16).run_windows(entry, window_count);
  ASSERT_TRUE(int8.has_value() && f16.has_value());
  const double ratio = std::exp(int8->mean_nll() - f16->mean_nll());
  std::printf("[  golden  ] cpu precise, KV int8 against f16: perplexity %+.4f %%\n",
              100.0 * (ratio - 1.0));
  // The row's 0.1 %, and two standard errors of this text: INT8 moves a token's log-probability by
  // 0.09 (root mean square), 3066 tokens average that to 0.0016.
  EXPECT_LE(ratio, 1.001 + 2 * 0.0016);
}

// Greedy continuation of a prompt, one row at a time.
std::vector<TokenId> continue_greedily(GoldenModel& model, const std::vector<TokenId>& prompt,
                                       size_t count) {
  std::vector<TokenId> tokens = prompt;
  while (tokens.size() < prompt.size() + count) {
    TokenId next = 0;
    const auto fed =
        model.feed(tokens, tokens.size() - 1,
                   [&](size_t, const std::vector<float>& logits) { next = argmax(logits); });
    if (!fed) throw std::runtime_error(fed.error().message);
    tokens.push_back(next);
  }
  return tokens;
}

// Row N21, on prompts whose reference texts keep a margin: the others have steps that are a toss-up
// (story at its first token), which PicksTheReferenceTokenAtEveryDecidedStep leaves out too.
TEST(GoldenCpuKv, GreedyTextWithInt8KvEqualsThatWithF16Kv) {
  GoldenModel int8 = load(Precision::precise, KvType::int8);
  GoldenModel f16 = load(Precision::precise, KvType::f16);
  for (const char* id : {"capital", "raw-capital", "digits"}) {
    const auto prompt = golden_case(id).at("tokens").get<std::vector<TokenId>>();
    EXPECT_EQ(continue_greedily(int8, prompt, 32), continue_greedily(f16, prompt, 32)) << id;
  }
}

}  // namespace
}  // namespace qualia::test
