// The public tokenizer rows on whole vocabularies, read from GGUF files by the model reader. The
// files are too large to ship: QUALIA_VOCAB_DIR names a folder with NAME.gguf or
// ggml-vocab-NAME.gguf for tokenizer names of tests/data/tokenizer/cases.tsv.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "gguf/gguf_file.h"
#include "model/vocabulary_reader.h"
#include "tokenizer/test_vocabulary.h"

namespace qualia {
namespace {

namespace fs = std::filesystem;
using tokenizer::ControlText;
using tokenizer::Tokenizer;
using tokenizer::TokenizerCase;

std::optional<fs::path> vocabulary_file(const fs::path& folder, const std::string& tokenizer) {
  for (const std::string& name : {tokenizer + ".gguf", "ggml-vocab-" + tokenizer + ".gguf"}) {
    if (fs::exists(folder / name)) return folder / name;
  }
  return std::nullopt;
}

std::unique_ptr<const Tokenizer> read_tokenizer(const fs::path& path) {
  const Result<gguf::File> file = gguf::File::open(path);
  if (!file) throw std::runtime_error(file.error().message);
  Result<std::optional<tokenizer::Vocabulary>> vocabulary = model::read_vocabulary(*file);
  if (!vocabulary) throw std::runtime_error(vocabulary.error().message);
  return tokenizer::create_or_throw(std::move(vocabulary->value()));
}

// Rows per tokenizer; those without a file are left out.
std::map<std::string, int> run_cases(const fs::path& folder, const std::string& case_file,
                                     ControlText control_text) {
  std::map<std::string, std::unique_ptr<const Tokenizer>> tokenizers;
  std::map<std::string, int> counts;
  for (const TokenizerCase& row : tokenizer::read_cases(case_file)) {
    SCOPED_TRACE(row.id);
    const std::optional<fs::path> path = vocabulary_file(folder, row.tokenizer);
    if (!path) continue;
    std::unique_ptr<const Tokenizer>& tokenizer = tokenizers[row.tokenizer];
    if (tokenizer == nullptr) tokenizer = read_tokenizer(*path);
    EXPECT_EQ(tokenizer->encode(row.text, row.add_special, control_text), row.ids);
    ++counts[row.tokenizer];
  }
  return counts;
}

TEST(VocabularyFiles, WholeVocabulariesGiveTheIdsOfThePublicRows) {
  const char* const folder = std::getenv("QUALIA_VOCAB_DIR");
  if (folder == nullptr) {
    GTEST_SKIP() << "QUALIA_VOCAB_DIR names no folder with GGUF vocabularies";
  }
  const std::string data = tokenizer::kTokenizerData;
  const auto plain = run_cases(folder, data + "cases.tsv", ControlText::plain);
  const auto golden = run_cases(folder, data + "smollm_golden.tsv", ControlText::parse);
  EXPECT_FALSE(plain.empty()) << "no vocabulary in " << folder;
  for (const auto& [name, count] : plain) std::printf("%s: %d rows\n", name.c_str(), count);
  for (const auto& [name, count] : golden)
    std::printf("%s: %d golden texts\n", name.c_str(), count);
}

}  // namespace
}  // namespace qualia
