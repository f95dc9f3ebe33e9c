// Public test rows against the tokenizers that they were made with, on vocabularies reduced to what
// the rows need. tests/golden/vocabulary_files_test.cpp runs the same rows on whole ones.
#include <gtest/gtest.h>

#include <map>

#include "tokenizer/test_vocabulary.h"

namespace qualia::tokenizer {
namespace {

// deepseek-r1-qwen is qwen2's vocabulary under another name.
std::string vocabulary_of(const std::string& tokenizer) {
  return tokenizer == "deepseek-r1-qwen" ? "qwen2" : tokenizer;
}

using Counts = std::map<std::string, int>;

Counts run_cases(const std::string& case_file, ControlText control_text) {
  std::map<std::string, std::unique_ptr<const Tokenizer>> tokenizers;
  Counts counts;
  for (const TokenizerCase& row : read_cases(case_file)) {
    SCOPED_TRACE(row.id);
    std::unique_ptr<const Tokenizer>& tokenizer = tokenizers[row.tokenizer];
    if (tokenizer == nullptr) {
      Vocabulary vocabulary =
          read_vocabulary(kTokenizerData + vocabulary_of(row.tokenizer) + ".vocab");
      vocabulary.pre = row.tokenizer;
      tokenizer = create_or_throw(std::move(vocabulary));
    }
    const std::vector<TokenId> ids = tokenizer->encode(row.text, row.add_special, control_text);
    EXPECT_EQ(ids, row.ids);
    const Result<std::string> decoded = tokenizer->decode(row.ids, control_text);
    EXPECT_EQ(decoded.value_or(""), row.text);
    ++counts[row.tokenizer];
  }
  return counts;
}

TEST(BpeCases, PublicRowsOfEightTokenizersMatch) {
  const Counts expected = {
      {"deepseek-coder", 58}, {"deepseek-r1-qwen", 31}, {"falcon", 47}, {"gpt-2", 49},
      {"gpt-4o", 41},         {"llama-bpe", 59},        {"qwen2", 48},  {"smollm", 31}};
  EXPECT_EQ(run_cases(kTokenizerData + "cases.tsv", ControlText::plain), expected);
}

TEST(BpeCases, GoldenTextsOfTheDefaultModelMatch) {
  EXPECT_EQ(run_cases(kTokenizerData + "smollm_golden.tsv", ControlText::parse),
            (Counts{{"smollm", 8}}));
}

}  // namespace
}  // namespace qualia::tokenizer
