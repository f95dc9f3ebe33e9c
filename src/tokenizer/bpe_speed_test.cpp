// Row T12: long input takes time in proportion to its length.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "tokenizer/test_vocabulary.h"

namespace qualia::tokenizer {
namespace {

std::string repeat(std::string_view part, size_t count) {
  std::string text;
  text.reserve(part.size() * count);
  for (size_t i = 0; i < count; ++i) text.append(part);
  return text;
}

// Processor time of this thread, so that other processes don't count.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The best of three: what the code needs, without page faults and cold caches.
double encode_seconds(const Tokenizer& tokenizer, const std::string& text) {
  double best = 1e9;
  for (int run = 0; run < 3; ++run) {
    const double begin = thread_seconds();
    EXPECT_FALSE(tokenizer.encode(text, AddSpecial::no, ControlText::plain).empty());
    best = std::min(best, thread_seconds() - begin);
  }
  return best;
}

// Twice the text may take three times as long: n log n, and caches that no longer fit.
void expect_linear(const Tokenizer& tokenizer, std::string_view part, size_t count) {
  const double once = encode_seconds(tokenizer, repeat(part, count));
  const double twice = encode_seconds(tokenizer, repeat(part, count * 2));
  testing::Test::RecordProperty("milliseconds", static_cast<int>(twice * 1000));
  EXPECT_LE(twice, 3 * once + 0.02) << "once " << once << " s, twice " << twice << " s";
}

std::unique_ptr<const Tokenizer> tokenizer_named(const std::string& name) {
  return create_or_throw(read_vocabulary(kTokenizerData + name + ".vocab"));
}

TEST(BpeSpeed, MillionLettersWithoutSpacesTakeLinearTime) {
  expect_linear(*tokenizer_named("gpt-2"), "a", 500'000);
}

TEST(BpeSpeed, FiftyThousandSentencesTakeLinearTime) {
  expect_linear(*tokenizer_named("gpt-2"), "Hello world! ", 25'000);
  expect_linear(*tokenizer_named("llama-bpe"), "Hello world! ", 25'000);
  expect_linear(*tokenizer_named("smollm"), "Hello world! ", 25'000);
}

TEST(BpeSpeed, RunsOfSpacesBreaksDigitsAndCapitalsTakeLinearTime) {
  Vocabulary vocabulary = read_vocabulary(kTokenizerData + "gpt-2.vocab");
  for (const char* pre :
       {"gpt-2", "llama-bpe", "deepseek-llm", "deepseek-v3", "gpt-4o", "default"}) {
    SCOPED_TRACE(pre);
    vocabulary.pre = pre;
    const std::unique_ptr<const Tokenizer> tokenizer = create_or_throw(vocabulary);
    for (const char* part : {" ", "\n", "7", "A", "\xE6\xBC\xA2", "!", "\xFF"}) {
      SCOPED_TRACE(part);
      expect_linear(*tokenizer, part, 20'000);
    }
    // White space that ends before a character which earlier patterns leave in place.
    const std::string text = repeat(" ", 100'000) + "\xE6\xBC\xA2";
    EXPECT_LT(encode_seconds(*tokenizer, text), 1.0);
  }
}

TEST(BpeSpeed, TensOfThousandsOfAddedTokensDoNotSlowEncoding) {
  Vocabulary vocabulary = read_vocabulary(kTokenizerData + "llama-bpe.vocab");
  const std::string text = repeat("hello world! <custom_token_", 10'000);
  const double few = encode_seconds(*create_or_throw(vocabulary), text);
  for (int i = 0; i < 28'000; ++i) {
    add_token(vocabulary, "<custom_token_" + std::to_string(i) + ">", TokenType::user_defined);
  }
  const std::unique_ptr<const Tokenizer> tokenizer = create_or_throw(std::move(vocabulary));
  EXPECT_LE(encode_seconds(*tokenizer, text), 3 * few + 0.02);
  // Row H-orpheus-added.
  EXPECT_EQ(tokenizer->encode("hello world!", AddSpecial::yes, ControlText::plain),
            (std::vector<TokenId>{128000, 15339, 1917, 0}));
}

}  // namespace
}  // namespace qualia::tokenizer
