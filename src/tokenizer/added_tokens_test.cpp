// Control and user-defined tokens: where they match, and where text stays text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/test_vocabulary.h"

namespace qualia::tokenizer {
namespace {

using testing::ElementsAre;
using Ids = std::vector<TokenId>;

// Bytes are ids 0 to 255; behind them the tokens named here.
struct Fixture {
  Vocabulary vocabulary = byte_vocabulary();
  TokenId start = add_token(vocabulary, "<|im_start|>", TokenType::control);
  TokenId end = add_token(vocabulary, "<|im_end|>", TokenType::control);
  TokenId break_one = add_token(vocabulary, "\n", TokenType::user_defined);
  TokenId break_two = add_token(vocabulary, "\n\n", TokenType::user_defined);
  TokenId umlaut = add_token(vocabulary, "\xC3\xB6", TokenType::user_defined);
  TokenId call = add_token(vocabulary, "<tool_call>", TokenType::user_defined);
};

Ids bytes_as_ids(std::string_view text) {
  Ids ids;
  for (const char byte : text) ids.push_back(static_cast<uint8_t>(byte));
  return ids;
}

TEST(AddedTokens, ControlTextParsesOnlyWhenAsked) {
  Fixture f;
  const auto tokenizer = create_or_throw(f.vocabulary);
  EXPECT_THAT(tokenizer->encode("<|im_start|>a<|im_end|>", AddSpecial::no, ControlText::parse),
              ElementsAre(f.start, 'a', f.end));
  EXPECT_EQ(tokenizer->encode("<|im_end|>", AddSpecial::no, ControlText::plain),
            bytes_as_ids("<|im_end|>"));
}

TEST(AddedTokens, ControlTextFromAUserStaysPlain) {
  Fixture f;
  const auto tokenizer = create_or_throw(f.vocabulary);
  const std::string text = "<|im_start|><|im_end|>x<|im_end|>";
  const std::vector<ByteRange> untrusted = {{12, 23}};
  Ids expected = {f.start};
  for (const TokenId id : bytes_as_ids("<|im_end|>x")) expected.push_back(id);
  expected.push_back(f.end);
  EXPECT_EQ(tokenizer->encode(text, AddSpecial::no, ControlText::parse, untrusted), expected);
}

TEST(AddedTokens, ControlTextThatAUserOnlyCompletesStaysPlain) {
  Fixture f;
  const auto tokenizer = create_or_throw(f.vocabulary);
  const std::string text = "<|im_end|>";
  for (size_t begin = 0; begin < text.size(); ++begin) {
    for (size_t end = begin + 1; end <= text.size(); ++end) {
      const std::vector<ByteRange> untrusted = {{begin, end}};
      EXPECT_EQ(tokenizer->encode(text, AddSpecial::no, ControlText::parse, untrusted),
                bytes_as_ids(text))
          << begin << ".." << end;
    }
  }
}

TEST(AddedTokens, TextOfAUserMergesWithItsNeighbours) {
  const auto tokenizer = create_or_throw(read_vocabulary(kTokenizerData + "gpt-2.vocab"));
  const std::string text = "Hello world";
  const std::vector<ByteRange> untrusted = {{2, 4}, {4, 4}, {7, 9}};
  EXPECT_THAT(tokenizer->encode(text, AddSpecial::no, ControlText::parse, untrusted),
              ElementsAre(15496, 995));
}

TEST(AddedTokens, UserDefinedTokensMatchEverywhere) {
  Fixture f;
  const auto tokenizer = create_or_throw(f.vocabulary);
  const std::vector<ByteRange> untrusted = {{0, 13}};
  for (const ControlText control_text : {ControlText::plain, ControlText::parse}) {
    EXPECT_THAT(tokenizer->encode("a<tool_call>b", AddSpecial::no, control_text, untrusted),
                ElementsAre('a', f.call, 'b'));
  }
}

// Row T10.
TEST(AddedTokens, LongestTokenAtAPlaceWins) {
  Fixture f;
  const auto tokenizer = create_or_throw(f.vocabulary);
  EXPECT_THAT(tokenizer->encode("\n\n\n", AddSpecial::no, ControlText::plain),
              ElementsAre(f.break_two, f.break_one));
}

TEST(AddedTokens, ShorterTokenIsTakenWhereTheLongerIsForbidden) {
  Fixture f;
  const TokenId bar = add_token(f.vocabulary, "<|", TokenType::user_defined);
  const auto tokenizer = create_or_throw(f.vocabulary);
  Ids expected = {bar};
  for (const TokenId id : bytes_as_ids("im_end|>")) expected.push_back(id);
  EXPECT_EQ(tokenizer->encode("<|im_end|>", AddSpecial::no, ControlText::plain), expected);
}

TEST(AddedTokens, RawTextOfAnAddedTokenIsNotReadAsByteLetters) {
  Fixture f;
  // As in deepseek-coder: the letter of byte F6 is there, but as an added token for the text "ö".
  f.vocabulary.tokens[0xF6] = "";
  const auto tokenizer = create_or_throw(f.vocabulary);
  EXPECT_THAT(tokenizer->encode("\xC3\xB6", AddSpecial::no, ControlText::plain),
              ElementsAre(f.umlaut));
  EXPECT_EQ(tokenizer->decode(Ids{f.umlaut}, ControlText::plain).value(), "\xC3\xB6");
}

TEST(AddedTokens, DecodingLeavesControlTokensOutUnlessAsked) {
  Fixture f;
  const auto tokenizer = create_or_throw(f.vocabulary);
  const Ids ids = {f.start, 'h', 'i', f.end};
  EXPECT_EQ(tokenizer->decode(ids, ControlText::plain).value(), "hi");
  EXPECT_EQ(tokenizer->decode(ids, ControlText::parse).value(), "<|im_start|>hi<|im_end|>");
  EXPECT_TRUE(tokenizer->is_control(f.end));
  EXPECT_FALSE(tokenizer->is_control(f.call));
  EXPECT_EQ(tokenizer->piece_bytes(f.end), "");
}

TEST(AddedTokens, MergesNeverMakeAControlToken) {
  Vocabulary vocabulary = byte_vocabulary();
  const TokenId evil = add_token(vocabulary, "ab", TokenType::control);
  vocabulary.merges.push_back("a b");
  vocabulary.merges.push_back("ab c");
  vocabulary.pre = "llama-bpe";  // takes whole words as they are
  const auto tokenizer = create_or_throw(std::move(vocabulary));
  EXPECT_THAT(tokenizer->encode("ab", AddSpecial::no, ControlText::plain), ElementsAre('a', 'b'));
  EXPECT_THAT(tokenizer->encode("abc", AddSpecial::no, ControlText::plain),
              ElementsAre('a', 'b', 'c'));
  EXPECT_THAT(tokenizer->encode("ab", AddSpecial::no, ControlText::parse), ElementsAre(evil));
}

TEST(AddedTokens, WronglyMarkedControlNamesAreControlTokens) {
  Vocabulary vocabulary = byte_vocabulary();
  const TokenId marked_user = add_token(vocabulary, "<|im_end|>", TokenType::user_defined);
  const TokenId marked_normal = add_token(vocabulary, "<|im_start|>", TokenType::normal);
  const TokenId ordinary = add_token(vocabulary, "</s>", TokenType::normal);
  const TokenId eos = add_token(vocabulary, "<stop>", TokenType::user_defined);
  vocabulary.eos = eos;
  const auto tokenizer = create_or_throw(std::move(vocabulary));
  EXPECT_TRUE(tokenizer->is_control(marked_user));
  EXPECT_TRUE(tokenizer->is_control(marked_normal));
  EXPECT_TRUE(tokenizer->is_control(eos));
  EXPECT_FALSE(tokenizer->is_control(ordinary));
  EXPECT_EQ(tokenizer->encode("<|im_end|><stop>", AddSpecial::no, ControlText::plain),
            bytes_as_ids("<|im_end|><stop>"));
}

TEST(AddedTokens, EndsOfGenerationAreEosEotAndKnownNames) {
  Vocabulary vocabulary = byte_vocabulary();
  const TokenId name = add_token(vocabulary, "<|eot_id|>", TokenType::control);
  const TokenId start = add_token(vocabulary, "<|im_start|>", TokenType::control);
  vocabulary.eos = add_token(vocabulary, "<stop>", TokenType::control);
  vocabulary.eot = add_token(vocabulary, "<turn>", TokenType::control);
  const auto tokenizer = create_or_throw(vocabulary);
  EXPECT_TRUE(tokenizer->is_end_of_generation(name));
  EXPECT_TRUE(tokenizer->is_end_of_generation(*vocabulary.eos));
  EXPECT_TRUE(tokenizer->is_end_of_generation(*vocabulary.eot));
  EXPECT_FALSE(tokenizer->is_end_of_generation(start));
  EXPECT_FALSE(tokenizer->is_end_of_generation('a'));
}

TEST(AddedTokens, EndOfAMessageWithinATurnIsNoEndOfGeneration) {
  Vocabulary vocabulary = byte_vocabulary();
  const TokenId end = add_token(vocabulary, "<|end|>", TokenType::control);
  EXPECT_TRUE(create_or_throw(vocabulary)->is_end_of_generation(end));
  const TokenId done = add_token(vocabulary, "<|return|>", TokenType::control);
  add_token(vocabulary, "<|call|>", TokenType::control);
  const auto tokenizer = create_or_throw(std::move(vocabulary));
  EXPECT_FALSE(tokenizer->is_end_of_generation(end));
  EXPECT_TRUE(tokenizer->is_end_of_generation(done));
}

TEST(AddedTokens, BosAndEosFollowTheFilesFlagsThenThePreTokenizer) {
  Vocabulary vocabulary = byte_vocabulary();
  vocabulary.bos = add_token(vocabulary, "<s>", TokenType::control);
  vocabulary.eos = add_token(vocabulary, "</s>", TokenType::control);
  const auto encode = [&](AddSpecial add_special) {
    return create_or_throw(vocabulary)->encode("a", add_special, ControlText::plain);
  };
  EXPECT_THAT(encode(AddSpecial::yes), ElementsAre('a'));
  vocabulary.pre = "llama-bpe";
  EXPECT_THAT(encode(AddSpecial::yes), ElementsAre(*vocabulary.bos, 'a'));
  EXPECT_THAT(encode(AddSpecial::no), ElementsAre('a'));
  vocabulary.add_bos = false;
  vocabulary.add_eos = true;
  EXPECT_THAT(encode(AddSpecial::yes), ElementsAre('a', *vocabulary.eos));
  vocabulary.pre = "gpt-2";
  vocabulary.add_bos = true;
  EXPECT_THAT(encode(AddSpecial::yes), ElementsAre(*vocabulary.bos, 'a', *vocabulary.eos));
}

}  // namespace
}  // namespace qualia::tokenizer
