// Public test rows against the tokenizers that they were made with. The vocabularies are reduced to
// what the rows need; set QUALIA_VOCAB_DIR to a folder with whole ones
// (tools/make_vocab_fixture.py --all) to run the same rows on those.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "tokenizer/test_vocabulary.h"

namespace qualia::tokenizer {
namespace {

// deepseek-r1-qwen is qwen2's vocabulary under another name.
std::string vocabulary_of(const std::string& tokenizer) {
  return tokenizer == "deepseek-r1-qwen" ? "qwen2" : tokenizer;
}

void run_cases(const std::string& case_file, const std::string& vocabulary_folder,
               ControlText control_text) {
  std::map<std::string, std::unique_ptr<const Tokenizer>> tokenizers;
  std::map<std::string, int> counts;
  for (const TokenizerCase& row : read_cases(case_file)) {
    SCOPED_TRACE(row.id);
    std::unique_ptr<const Tokenizer>& tokenizer = tokenizers[row.tokenizer];
    if (tokenizer == nullptr) {
      Vocabulary vocabulary =
          read_vocabulary(vocabulary_folder + vocabulary_of(row.tokenizer) + ".vocab");
      vocabulary.pre = row.tokenizer;
      tokenizer = create_or_throw(std::move(vocabulary));
    }
    const std::vector<TokenId> ids = tokenizer->encode(row.text, row.add_special, control_text);
    EXPECT_EQ(ids, row.ids);
    // Without the control tokens that encoding adds, decoding gives the text back.
    const Result<std::string> decoded = tokenizer->decode(row.ids, control_text);
    ASSERT_TRUE(decoded.has_value());
    if (control_text == ControlText::parse) {
      EXPECT_TRUE(decoded->ends_with(row.text));
    } else {
      EXPECT_EQ(*decoded, row.text);
    }
    ++counts[row.tokenizer];
  }
  for (const auto& [tokenizer, count] : counts) {
    testing::Test::RecordProperty(tokenizer, count);
  }
}

TEST(BpeCases, PublicRowsOfSixTokenizersMatch) {
  run_cases(kTokenizerData + "cases.tsv", kTokenizerData, ControlText::plain);
}

TEST(BpeCases, GoldenTextsOfTheDefaultModelMatch) {
  run_cases(kTokenizerData + "smollm_golden.tsv", kTokenizerData, ControlText::parse);
}

TEST(BpeCases, WholeVocabulariesGiveTheSameIdsAsReducedOnes) {
  const char* const folder = std::getenv("QUALIA_VOCAB_DIR");
  if (folder == nullptr) {
    GTEST_SKIP() << "QUALIA_VOCAB_DIR names no folder with whole vocabularies (*.vocab)";
  }
  const std::string prefix = (std::filesystem::path(folder) / "").string();
  run_cases(kTokenizerData + "cases.tsv", prefix, ControlText::plain);
  run_cases(kTokenizerData + "smollm_golden.tsv", prefix, ControlText::parse);
}

}  // namespace
}  // namespace qualia::tokenizer
