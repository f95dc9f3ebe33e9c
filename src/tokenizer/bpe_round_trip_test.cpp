// Any bytes come back from encoding and decoding; odd text neither crashes nor changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tokenizer/bpe_patterns.h"
#include "tokenizer/test_vocabulary.h"
#include "tokenizer/utf8.h"

namespace qualia::tokenizer {
namespace {

using testing::ElementsAre;

std::string round_trip(const Tokenizer& tokenizer, std::string_view text) {
  const std::vector<TokenId> ids = tokenizer.encode(text, AddSpecial::no, ControlText::plain);
  return tokenizer.decode(ids, ControlText::plain).value();
}

std::string utf8_of(uint32_t code) {
  const auto tail = [&](uint32_t shift) {
    return static_cast<char>(0x80 | ((code >> shift) & 0x3F));
  };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | (code >> 6)), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | (code >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | (code >> 18)), tail(12), tail(6), tail(0)};
}

// Characters of all planes, with many from the ranges where patterns decide.
std::string random_text(std::mt19937& random) {
  std::string text;
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random()) % limit; };
  const size_t length = random() % 40;
  for (size_t i = 0; i < length; ++i) {
    uint32_t code = 0;
    switch (below(5)) {
      case 0:
        code = below(0x80);
        break;
      case 1:
        code = below(0x800);
        break;
      case 2:
        code = 0x2000 + below(0x100);
        break;
      case 3:
        code = below(0xD800);
        break;
      default:
        code = 0xE000 + below(0x110000 - 0xE000);
        break;
    }
    text += utf8_of(code);
  }
  return text;
}

std::string random_bytes(std::mt19937& random) {
  std::string text(random() % 60, '\0');
  for (char& byte : text) byte = static_cast<char>(random() % (random() % 3 == 0 ? 128 : 256));
  return text;
}

TEST(BpeRoundTrip, EveryProfileKeepsRandomTextAndBytes) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Vocabulary vocabulary = read_vocabulary(kTokenizerData + "qwen2.vocab");
  for (const BpeProfile& profile : bpe_profiles()) {
    SCOPED_TRACE(profile.name);
    vocabulary.pre = profile.name;
    const auto tokenizer = create_or_throw(vocabulary);
    for (int i = 0; i < 60; ++i) {
      const std::string text = random_text(random);
      ASSERT_TRUE(is_valid_utf8(text));
      EXPECT_EQ(round_trip(*tokenizer, text), text);
      const std::string bytes = random_bytes(random);
      EXPECT_EQ(round_trip(*tokenizer, bytes), bytes);
    }
  }
}

// Row T16.
TEST(BpeRoundTrip, OddTextComesBack) {
  const auto tokenizer = create_or_throw(read_vocabulary(kTokenizerData + "gpt-2.vocab"));
  for (const std::string& text :
       {std::string("\xC3\x28"), std::string("\xE2\x82"), std::string("\xF0\x9F"),
        std::string("\xFF"), std::string("\x1F -"), std::string("\xC2\xBC-a"),
        std::string("a \xE3\x80\x87"
                    "b"),
        std::string("\xEF\xBB\xBF//"), std::string("\xE2\x80\xA9"), std::string("\xF4\x8F\xBF\xBF"),
        std::string("a\0b", 3), std::string("\xE1\xA0\x8E x"), std::string("\xED\xA0\x80")}) {
    EXPECT_EQ(round_trip(*tokenizer, text), text);
  }
}

// Row T16 where the vocabulary lacks the bytes: falcon's has no letter for FF.
TEST(BpeRoundTrip, BytesThatAVocabularyLacksBecomeTheReplacementCharacter) {
  const auto tokenizer = create_or_throw(read_vocabulary(kTokenizerData + "falcon.vocab"));
  EXPECT_EQ(round_trip(*tokenizer,
                       "a\xFF"
                       "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(round_trip(*tokenizer,
                       "a\xC3"
                       "b"),
            "a\xC3"
            "b");
}

// Row T14.
TEST(BpeRoundTrip, LettersThatStandForBytesAreOrdinaryTextToo) {
  for (const char* name : {"gpt-2", "llama-bpe"}) {
    const auto tokenizer = create_or_throw(read_vocabulary(kTokenizerData + name + ".vocab"));
    for (const char* text : {"\xC4\xA0", "\xC4\x8A",
                             "\xE2\x96\x81"
                             "a \xE2\x96\x81"
                             "b"}) {
      EXPECT_EQ(round_trip(*tokenizer, text), text);
      EXPECT_NE(tokenizer->encode(text, AddSpecial::no, ControlText::plain),
                tokenizer->encode(" ", AddSpecial::no, ControlText::plain));
    }
  }
}

// Row T18.
TEST(BpeRoundTrip, IdsStayTheSameOverFiveRounds) {
  const auto tokenizer = create_or_throw(read_vocabulary(kTokenizerData + "smollm.vocab"));
  const std::string text = "<|im_start|> Hi<|im_end|>\n  two  spaces ";
  const auto encode = [&](std::string_view t) {
    return tokenizer->encode(t, AddSpecial::yes, ControlText::parse);
  };
  const std::vector<TokenId> ids = encode(text);
  std::string again = text;
  for (int round = 0; round < 5; ++round) {
    again = tokenizer->decode(encode(again), ControlText::parse).value();
    EXPECT_EQ(again, text);
    EXPECT_EQ(encode(again), ids);
  }
}

TEST(BpeRoundTrip, InvalidBytesDoNotChangeHowTheRestIsCut) {
  const auto tokenizer = create_or_throw(read_vocabulary(kTokenizerData + "gpt-2.vocab"));
  EXPECT_THAT(tokenizer->encode("Hello\xFF world", AddSpecial::no, ControlText::plain),
              ElementsAre(15496, 187, 995));
}

TEST(BpeRoundTrip, EmptyTextHasNoIds) {
  const auto tokenizer = create_or_throw(byte_vocabulary());
  EXPECT_THAT(tokenizer->encode("", AddSpecial::yes, ControlText::parse), ElementsAre());
}

TEST(BpeRoundTrip, ThreadsMayEncodeAtTheSameTime) {
  const auto tokenizer = create_or_throw(read_vocabulary(kTokenizerData + "gpt-2.vocab"));
  const std::string text = "Hello world! \xFF How are you doing?";
  const std::vector<TokenId> expected = tokenizer->encode(text, AddSpecial::no, ControlText::plain);
  std::vector<std::vector<TokenId>> found(4);
  std::vector<std::thread> threads;
  for (std::vector<TokenId>& ids : found) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        ids = tokenizer->encode(text, AddSpecial::no, ControlText::plain);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<TokenId>& ids : found) EXPECT_EQ(ids, expected);
}

}  // namespace
}  // namespace qualia::tokenizer
