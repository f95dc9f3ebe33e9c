// The interpreter against what Jinja2 makes of the same sources (tools/make_template_cases.py).
#include <gmock/gmock.h>

#include "tokenizer/template_test_data.h"

namespace qualia::tokenizer {
namespace {

using testing::HasSubstr;

// A row of an expectation file: its text, or that it fails.
void expect_row(const Json& row, const Result<RenderedPrompt>& prompt) {
  if (!row.contains("error")) {
    EXPECT_EQ(text_or_error(prompt), row["expected"].get<std::string>());
    return;
  }
  ASSERT_FALSE(prompt.has_value()) << prompt->text;
  if (row["error"].is_string()) {
    EXPECT_THAT(prompt.error().message, HasSubstr(row["error"].get<std::string>()));
  }
  const bool at_parse = row.contains("at_parse");
  EXPECT_EQ(prompt.error().code, at_parse ? ErrorCode::corrupt_file : ErrorCode::invalid_argument);
  EXPECT_THAT(prompt.error().message, HasSubstr(" line "));
}

TEST(JinjaCases, SnippetsGiveWhatJinja2Gives) {
  const std::vector<Json> rows = read_json_lines("jinja_cases.jsonl");
  ASSERT_GT(rows.size(), 200u);
  TemplateInput input;
  input.messages_json = rows[0]["messages"].dump();
  input.bos_token = "<s>";
  input.eos_token = "</s>";
  input.now_unix_seconds = rows[0]["now"].get<long long>();
  for (size_t i = 1; i < rows.size(); ++i) {
    SCOPED_TRACE(rows[i]["template"].get<std::string>());
    expect_row(rows[i], render_source(rows[i]["template"], input));
  }
}

TEST(JinjaCases, MicroCasesOfTheEvidenceFolderPass) {
  const std::vector<Json> rows = read_json_lines("micro_cases.jsonl");
  ASSERT_EQ(rows.size(), 16u);
  for (const Json& row : rows) {
    SCOPED_TRACE(row["id"].get<std::string>());
    TemplateInput input;
    input.messages_json = row["messages"].dump();
    expect_row(row, render_source(row["template"], input));
  }
}

// Replaces {TODAY:FORMAT}; the only format that occurs is that of Llama 3.2.
std::string with_date(std::string text, const std::string& date) {
  const std::string placeholder = "{TODAY:%d %b %Y}";
  for (size_t at = 0; (at = text.find(placeholder, at)) != std::string::npos;) {
    text.replace(at, placeholder.size(), date);
  }
  return text;
}

// Row C04, and the TPL rows.
TEST(JinjaCases, PublicTemplatesRenderAsTransformersDoes) {
  const std::vector<Json> rows = read_json_lines("expected.jsonl");
  ASSERT_EQ(rows.size(), 54u);
  for (const Json& row : rows) {
    SCOPED_TRACE(row["id"].get<std::string>());
    TemplateInput input;
    input.messages_json = row["messages"].dump();
    input.bos_token = row["bos"];
    input.eos_token = row["eos"];
    input.add_generation_prompt = row["add_generation_prompt"];
    input.now_unix_seconds = 1732406399;
    const auto prompt = render_source(read_template_file(row["template"]), input);
    if (row.contains("expected_error")) {
      ASSERT_FALSE(prompt.has_value());
      EXPECT_THAT(prompt.error().message, HasSubstr(row["expected_error"].get<std::string>()));
      continue;
    }
    EXPECT_EQ(text_or_error(prompt), with_date(row["expected"], "23 Nov 2024"));
  }
}

TEST(JinjaCases, ConversationsWithToolsRenderAsJinja2Does) {
  const std::vector<Json> rows = read_json_lines("conversations.jsonl");
  ASSERT_GT(rows.size(), 100u);
  for (const Json& row : rows) {
    SCOPED_TRACE(row["template"].get<std::string>() + ", " + row["name"].get<std::string>());
    TemplateInput input;
    input.messages_json = row["messages"].dump();
    if (row.contains("tools")) input.tools_json = row["tools"].dump();
    input.bos_token = "<s>";
    input.eos_token = "</s>";
    input.add_generation_prompt = row["add_generation_prompt"];
    input.now_unix_seconds = row["now"].get<long long>();
    expect_row(row, render_source(read_template_file(row["template"]), input));
  }
}

}  // namespace
}  // namespace qualia::tokenizer
