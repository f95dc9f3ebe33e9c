// Vocabularies that contradict themselves or leave things out (rows G18, G19, G23 and their kind).
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tokenizer/byte_piece.h"
#include "tokenizer/test_vocabulary.h"

namespace qualia::tokenizer {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<TokenId>;

Error error_of(Vocabulary vocabulary) {
  const auto tokenizer = Tokenizer::create(std::move(vocabulary));
  return tokenizer ? Error{ErrorCode::internal, "no error"} : tokenizer.error();
}

// Row G19.
TEST(HostileVocabulary, RefusesSpecialIdsBeyondTheEnd) {
  using Member = std::optional<TokenId> Vocabulary::*;
  const std::pair<const char*, Member> members[] = {{"bos", &Vocabulary::bos},
                                                    {"eos", &Vocabulary::eos},
                                                    {"eot", &Vocabulary::eot},
                                                    {"unknown", &Vocabulary::unknown},
                                                    {"padding", &Vocabulary::padding}};
  const std::pair<TokenId, const char*> ids[] = {{256, "256"}, {-1, "4294967295"}};
  for (const auto& [name, member] : members) {
    for (const auto& [id, text] : ids) {
      Vocabulary vocabulary = byte_vocabulary();
      vocabulary.*member = id;
      const Error error = error_of(std::move(vocabulary));
      EXPECT_EQ(error.code, ErrorCode::corrupt_file);
      EXPECT_THAT(error.message, AllOf(HasSubstr(name), HasSubstr(text), HasSubstr("256 tokens")));
    }
  }
}

TEST(HostileVocabulary, RefusesSpecialIdsOfAOneTokenVocabulary) {
  Vocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.tokens = {"a"};
  vocabulary.bos = 1;
  vocabulary.eos = 2;
  EXPECT_THAT(error_of(std::move(vocabulary)).message,
              AllOf(HasSubstr("'bos' has id 1"), HasSubstr("1 tokens")));
}

TEST(HostileVocabulary, RefusesNoTokens) {
  Vocabulary vocabulary;
  vocabulary.model = "gpt2";
  EXPECT_EQ(error_of(std::move(vocabulary)).code, ErrorCode::corrupt_file);
}

TEST(HostileVocabulary, RefusesTypesAndScoresOfAnotherLength) {
  Vocabulary types = byte_vocabulary();
  types.types.pop_back();
  EXPECT_THAT(error_of(std::move(types)).message, HasSubstr("255 token types for 256 tokens"));
  Vocabulary scores = byte_vocabulary();
  scores.scores.resize(257);
  EXPECT_THAT(error_of(std::move(scores)).message, HasSubstr("257 scores for 256 tokens"));
}

TEST(HostileVocabulary, RefusesAMergeThatIsNotTwoPieces) {
  for (const char* merge : {"", "a", "ab", "a ", " "}) {
    Vocabulary vocabulary = byte_vocabulary();
    vocabulary.merges = {"a b", merge};
    const Error error = error_of(std::move(vocabulary));
    EXPECT_EQ(error.code, ErrorCode::corrupt_file) << merge;
    EXPECT_THAT(error.message, HasSubstr("Merge 1"));
  }
}

TEST(HostileVocabulary, NamesTheTokenizerModelThatIsMissing) {
  for (const char* model : {"llama", "bert", "t5", "rwkv", "", "no-such-model"}) {
    Vocabulary vocabulary = byte_vocabulary();
    vocabulary.model = model;
    const Error error = error_of(std::move(vocabulary));
    EXPECT_EQ(error.code, ErrorCode::unsupported);
    EXPECT_THAT(error.message, HasSubstr(fmt::format("'{}'", model)));
  }
}

TEST(HostileVocabulary, NamesThePreTokenizerThatIsMissing) {
  Vocabulary vocabulary = byte_vocabulary();
  vocabulary.pre = "no-such-pre";
  const Error error = error_of(std::move(vocabulary));
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_THAT(error.message, HasSubstr("'no-such-pre'"));
}

TEST(HostileVocabulary, ReadsAMissingPreTokenizerAsGpt2) {
  Vocabulary vocabulary = read_vocabulary(kTokenizerData + "gpt-2.vocab");
  vocabulary.pre = "";
  EXPECT_THAT(
      create_or_throw(vocabulary)->encode("Hello world", AddSpecial::no, ControlText::plain),
      ElementsAre(15496, 995));
}

// Row G23, the part that concerns the vocabulary.
TEST(HostileVocabulary, WorksWithAPieceOfOneMebibyte) {
  const std::string piece(size_t{1} << 20, 'x');
  for (const TokenType type : {TokenType::normal, TokenType::control, TokenType::user_defined}) {
    Vocabulary vocabulary = byte_vocabulary();
    const TokenId id = add_token(vocabulary, piece, type);
    const auto tokenizer = create_or_throw(std::move(vocabulary));
    EXPECT_THAT(tokenizer->encode("ab", AddSpecial::no, ControlText::parse), ElementsAre('a', 'b'));
    EXPECT_EQ(tokenizer->decode(Ids{id}, ControlText::parse).value(), piece);
    if (type != TokenType::normal) {
      EXPECT_THAT(tokenizer->encode("a" + piece, AddSpecial::no, ControlText::parse),
                  ElementsAre('a', id));
    }
  }
}

TEST(HostileVocabulary, MergesOnThroughPiecesThatAreNoTokens) {
  Vocabulary vocabulary = byte_vocabulary();
  vocabulary.merges = {"a b", "ab c", "x y"};
  const TokenId abc = add_token(vocabulary, "abc", TokenType::normal);
  const auto tokenizer = create_or_throw(std::move(vocabulary));
  EXPECT_THAT(tokenizer->encode("abc", AddSpecial::no, ControlText::plain), ElementsAre(abc));
  // What is no token in the end is written byte by byte.
  EXPECT_THAT(tokenizer->encode("abxy", AddSpecial::no, ControlText::plain),
              ElementsAre('a', 'b', 'x', 'y'));
}

TEST(HostileVocabulary, TakesTheLowerIdOfTwoEqualTokens) {
  Vocabulary vocabulary = byte_vocabulary();
  const TokenId again = add_token(vocabulary, "a", TokenType::normal);
  const TokenId first = add_token(vocabulary, "<x>", TokenType::control);
  add_token(vocabulary, "<x>", TokenType::control);
  const auto tokenizer = create_or_throw(std::move(vocabulary));
  EXPECT_THAT(tokenizer->encode("a<x>", AddSpecial::no, ControlText::parse),
              ElementsAre('a', first));
  EXPECT_EQ(tokenizer->decode(Ids{again}, ControlText::plain).value(), "a");
}

TEST(HostileVocabulary, KeepsTheBetterRankOfAMergeNamedTwice) {
  Vocabulary vocabulary = byte_vocabulary();
  const TokenId ab = add_merge(vocabulary, "a", "b");
  add_merge(vocabulary, "b", "c");
  vocabulary.merges.push_back("a b");
  EXPECT_THAT(create_or_throw(vocabulary)->encode("abc", AddSpecial::no, ControlText::plain),
              ElementsAre(ab, 'c'));
}

TEST(HostileVocabulary, SpellsWhatItLacksAsTheReplacementCharacter) {
  Vocabulary vocabulary = byte_vocabulary();
  vocabulary.tokens[0xF1] = "";  // lead byte of U+40000 to U+7FFFF
  vocabulary.tokens[0x04] = "";
  const auto tokenizer = create_or_throw(std::move(vocabulary));
  EXPECT_THAT(tokenizer->encode("a\xF1\x80\x80\x80"
                                "b\x04",
                                AddSpecial::no, ControlText::plain),
              ElementsAre('a', 0xEF, 0xBF, 0xBD, 'b', 0xEF, 0xBF, 0xBD));
}

TEST(HostileVocabulary, LeavesOutWhatItCannotSpellAtAll) {
  Vocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = "gpt-2";
  vocabulary.tokens = {"a", ""};
  const auto tokenizer = create_or_throw(std::move(vocabulary));
  EXPECT_THAT(tokenizer->encode("abca", AddSpecial::no, ControlText::plain), ElementsAre(0, 0));
}

// Row G18.
TEST(HostileVocabulary, ReadsByteTokensByTwoHexadecimalDigitsOnly) {
  EXPECT_EQ(byte_of_piece("<0x41>"), 'A');
  EXPECT_EQ(byte_of_piece("<0xff>"), '\xFF');
  for (const char* piece : {"<0x-1>", "<0xZZ>", "<0x100>", "<0x>", "<0x4>", "<0x+4>", "0x41", ""}) {
    EXPECT_EQ(byte_of_piece(piece), std::nullopt) << piece;
    Vocabulary vocabulary = byte_vocabulary();
    const TokenId id = add_token(vocabulary, piece, TokenType::byte);
    EXPECT_EQ(create_or_throw(std::move(vocabulary))->decode(Ids{id}, ControlText::plain).value(),
              piece);
  }
}

TEST(HostileVocabulary, TreatsUnknownTypeNumbersAsNormal) {
  Vocabulary vocabulary = byte_vocabulary();
  const TokenId ab = add_merge(vocabulary, "a", "b");
  vocabulary.types.back() = static_cast<TokenType>(77);
  EXPECT_THAT(create_or_throw(vocabulary)->encode("ab", AddSpecial::no, ControlText::plain),
              ElementsAre(ab));
}

// Row T13, the part that concerns the tokenizer.
TEST(HostileVocabulary, RefusesToDecodeIdsOutsideTheVocabulary) {
  const auto tokenizer = create_or_throw(byte_vocabulary());
  for (const TokenId id : {-1, 256, std::numeric_limits<TokenId>::max()}) {
    const Result<std::string> decoded = tokenizer->decode(Ids{'a', id}, ControlText::plain);
    ASSERT_FALSE(decoded.has_value());
    EXPECT_EQ(decoded.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(decoded.error().message, AllOf(HasSubstr(std::to_string(id)), HasSubstr("256")));
  }
  EXPECT_EQ(tokenizer->decode(Ids{}, ControlText::plain).value(), "");
}

}  // namespace
}  // namespace qualia::tokenizer
