// The parts of byte-level BPE on their own: byte letters, patterns, merging.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tokenizer/bpe_patterns.h"
#include "tokenizer/byte_letters.h"
#include "tokenizer/regex.h"
#include "tokenizer/test_vocabulary.h"
#include "tokenizer/word_splitter.h"

namespace qualia::tokenizer {
namespace {

using testing::ElementsAre;

TEST(ByteLetters, EveryByteHasItsOwnLetter) {
  std::set<std::string> letters;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::string bytes(1, static_cast<char>(byte));
    const std::string letter = letters_of_bytes(bytes);
    EXPECT_EQ(bytes_of_letters(letter), bytes);
    EXPECT_EQ(bytes_of_piece(letter), bytes);
    letters.insert(letter);
  }
  EXPECT_EQ(letters.size(), 256u);
  EXPECT_EQ(letters_of_bytes(" \n"), "\xC4\xA0\xC4\x8A");
}

TEST(ByteLetters, OtherCharactersStandForThemselves) {
  EXPECT_EQ(bytes_of_letters("a b"), std::nullopt);
  EXPECT_EQ(bytes_of_letters("\xE6\xBC\xA2"), std::nullopt);
  EXPECT_EQ(bytes_of_letters("\xFF"), std::nullopt);
  EXPECT_EQ(bytes_of_piece("\xC4\xA0 \xE6\xBC\xA2"), "  \xE6\xBC\xA2");
}

TEST(Regex, WhiteSpaceIsUnicodesPropertyWithoutU180E) {
  Regex::Scratch scratch;
  const Regex space = *Regex::compile(R"(\s)");
  const Regex not_space = *Regex::compile(R"([^\s])");
  for (const char* text :
       {"\t", "\n", "\v", "\f", "\r", " ", "\xC2\x85", "\xC2\xA0", "\xE1\x9A\x80", "\xE2\x80\x80",
        "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE3\x80\x80"}) {
    EXPECT_TRUE(space.find(text, 0, scratch)) << text;
    EXPECT_FALSE(not_space.find(text, 0, scratch)) << text;
  }
  for (const char* text : {"\xE1\xA0\x8E", "\x1F", "\x1C", "\xE2\x80\x8B", "\xEF\xBB\xBF", "a"}) {
    EXPECT_FALSE(space.find(text, 0, scratch)) << text;
    EXPECT_TRUE(not_space.find(text, 0, scratch)) << text;
  }
}

TEST(Regex, SkipsEmptyMatches) {
  Regex::Scratch scratch;
  const Regex regex = *Regex::compile("b*");
  const std::optional<ByteRange> match = regex.find(
      "\xC3\xB6"
      "abb",
      0, scratch);
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ(match->begin, 3u);
  EXPECT_EQ(match->end, 5u);
  EXPECT_FALSE(regex.find("aaa", 0, scratch).has_value());
}

TEST(Regex, NamesAPatternThatFailsToCompile) {
  const Result<Regex> regex = Regex::compile("(");
  ASSERT_FALSE(regex.has_value());
  EXPECT_EQ(regex.error().code, ErrorCode::internal);
}

// Text cut by the patterns of a profile, as bpe_patterns.h describes.
std::vector<std::string> words_of(const std::string& pre, const std::string& text) {
  const WordSplitter splitter = *WordSplitter::create(find_bpe_profile(pre)->patterns);
  const std::vector<std::string_view> words = splitter.split(text);
  return {words.begin(), words.end()};
}

TEST(BpePatterns, EveryProfileCompilesAndHasAName) {
  std::set<std::string_view> names;
  for (const BpeProfile& profile : bpe_profiles()) {
    EXPECT_TRUE(names.insert(profile.name).second) << profile.name;
    EXPECT_FALSE(profile.patterns.empty()) << profile.name;
    EXPECT_TRUE(WordSplitter::create(profile.patterns).has_value()) << profile.name;
  }
}

// Row T07.
TEST(BpePatterns, DigitsGroupByTheRuleOfTheModel) {
  EXPECT_THAT(words_of("gpt-2", "33333"), ElementsAre("33333"));
  EXPECT_THAT(words_of("smollm", "333"), ElementsAre("3", "3", "3"));
  EXPECT_THAT(words_of("qwen2", "333"), ElementsAre("3", "3", "3"));
  EXPECT_THAT(words_of("llama-bpe", "33333"), ElementsAre("333", "33"));
  EXPECT_THAT(words_of("gpt-4o", "33333"), ElementsAre("333", "33"));
  EXPECT_THAT(words_of("falcon", "33333"), ElementsAre("333", "33"));
  EXPECT_THAT(words_of("deepseek-llm", "33333"), ElementsAre("33333"));
  EXPECT_THAT(words_of("deepseek-coder", "33"), ElementsAre("3", "3"));
  EXPECT_THAT(words_of("deepseek-v3", "a1234"), ElementsAre("a", "123", "4"));
  EXPECT_THAT(words_of("viking", "a33"), ElementsAre("a", "3", "3"));
}

TEST(BpePatterns, WordsSplitByTheRuleOfTheModel) {
  EXPECT_THAT(words_of("gpt-2", "I'll  go\n\n x"),
              ElementsAre("I", "'ll", " ", " go", "\n\n", " x"));
  EXPECT_THAT(words_of("llama-bpe", "I'LL(x)\n\n  y"),
              ElementsAre("I", "'LL", "(x", ")\n\n", " ", " y"));
  EXPECT_THAT(words_of("gpt-4o", "HelloWorld ABCs'll a/\n/b"),
              ElementsAre("Hello", "World", " ABCs'll", " a", "/\n/", "b"));
  EXPECT_THAT(words_of("tekken", "HelloWorld's"), ElementsAre("Hello", "World", "'s"));
  EXPECT_THAT(words_of("bloom", "one two, three"), ElementsAre("one", " two", ",", " three"));
  EXPECT_THAT(words_of("deepseek-v3", "\xE6\xBC\xA2\xE5\xAD\x97_abc .."),
              ElementsAre("\xE6\xBC\xA2\xE5\xAD\x97", "_abc", " .."));
  EXPECT_THAT(words_of("deepseek-llm", "ab  \xE6\xBC\xA2  "),
              ElementsAre("ab", "  ", "\xE6\xBC\xA2", "  "));
  EXPECT_THAT(words_of("jais-2", "a     b"), ElementsAre("a", "    ", " b"));
}

// The plain definition: the best-ranked pair, leftmost first, until none is left.
std::vector<TokenId> merge_by_definition(
    const std::vector<std::pair<std::string, std::string>>& merges,
    const std::map<std::string, TokenId>& ids, const std::string& word) {
  std::vector<std::string> parts;
  for (const char c : word) parts.emplace_back(1, c);
  while (true) {
    size_t best_rank = merges.size();
    size_t best_at = 0;
    for (size_t at = 0; at + 1 < parts.size(); ++at) {
      for (size_t rank = 0; rank < best_rank; ++rank) {
        if (merges[rank] == std::pair(parts[at], parts[at + 1])) {
          best_rank = rank;
          best_at = at;
        }
      }
    }
    if (best_rank == merges.size()) break;
    parts[best_at] += parts[best_at + 1];
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(best_at) + 1);
  }
  std::vector<TokenId> found;
  for (const std::string& part : parts) found.push_back(ids.at(part));
  return found;
}

TEST(BpeMerger, FollowsTheDefinitionOnRandomMerges) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 40; ++round) {
    Vocabulary vocabulary = byte_vocabulary();
    std::vector<std::string> pieces = {"a", "b", "c"};
    std::map<std::string, TokenId> ids = {{"a", 'a'}, {"b", 'b'}, {"c", 'c'}};
    std::vector<std::pair<std::string, std::string>> merges;
    for (int i = 0; i < 12; ++i) {
      const std::string left = pieces[random() % pieces.size()];
      const std::string right = pieces[random() % pieces.size()];
      if (ids.contains(left + right)) continue;
      merges.emplace_back(left, right);
      pieces.push_back(left + right);
      ids[left + right] = add_merge(vocabulary, left, right);
    }
    std::shuffle(vocabulary.merges.begin(), vocabulary.merges.end(), random);
    merges.clear();
    for (const std::string& merge : vocabulary.merges) {
      const size_t space = merge.find(' ');
      merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
    }
    const auto tokenizer = create_or_throw(std::move(vocabulary));
    for (int i = 0; i < 20; ++i) {
      std::string word(random() % 30, 'a');
      for (char& c : word) c = static_cast<char>('a' + random() % 3);
      EXPECT_EQ(tokenizer->encode(word, AddSpecial::no, ControlText::plain),
                merge_by_definition(merges, ids, word))
          << word;
    }
  }
}

}  // namespace
}  // namespace qualia::tokenizer
