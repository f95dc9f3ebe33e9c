// What the tests of the public API share: models from tests/data/tiny and from written files.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "model/llama_file_test.h"
#include "qualia/model.h"
#include "qualia/session.h"
#include "support/temp_folder.h"

namespace qualia {

inline const char* const kTinyPath = "tests/data/tiny/q4_0.gguf";  // ChatML, vocabulary 263

// Each turn as <|im_start|>role\ncontent<|im_end|>\n, then the assistant's beginning.
inline constexpr const char* kChatTemplate =
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{{ '<|im_start|>assistant\n' }}";

inline GenerateOptions greedy(std::optional<uint32_t> max_tokens) {
  GenerateOptions options;
  options.sampling.temperature = 0;
  options.max_tokens = max_tokens;
  return options;
}

class ApiTest : public testing::Test {
 protected:
  Result<Model> try_load(const std::filesystem::path& path, ModelOptions options = {}) {
    if (!options.threads) options.threads = 2;
    return Model::load(runtime_, path, options);
  }
  Result<Model> try_load(const model::LlamaFile& llama, ModelOptions options = {}) {
    const auto path = folder_ / "written.gguf";
    llama.write(path);
    return try_load(path, std::move(options));
  }
  // Of a file that loads.
  template <typename Source>
  Model load(const Source& source, ModelOptions options = {}) {
    return try_load(source, std::move(options)).value();
  }
  // A model of bytes with `chat_template`, or without one where it is empty.
  Model load_bytes_model(const std::string& chat_template) {
    model::LlamaFile llama = model::LlamaFile().byte_tokenizer();
    if (!chat_template.empty()) llama.string("tokenizer.chat_template", chat_template);
    return load(llama);
  }

  test::TempFolder folder_;
  Runtime runtime_ = Runtime::create().value();
};

inline void expect_error(const Error& error, ErrorCode code,
                         const std::vector<std::string>& words) {
  EXPECT_EQ(error.code, code) << error.message;
  for (const std::string& word : words) EXPECT_THAT(error.message, testing::HasSubstr(word));
}

}  // namespace qualia
