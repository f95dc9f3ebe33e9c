// Test helpers of the chat templates: files of tests/data/template, rendering in one call.
// Thread-safety: pure.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tokenizer/chat_template.h"

namespace qualia::tokenizer {

using Json = nlohmann::ordered_json;

inline std::string read_template_file(const std::string& name) {
  std::ifstream file("tests/data/template/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<Json> read_json_lines(const std::string& name) {
  std::istringstream lines(read_template_file(name));
  std::vector<Json> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(Json::parse(line));
  return rows;
}

inline Result<RenderedPrompt> render_source(const std::string& source, const TemplateInput& input) {
  auto chat_template = ChatTemplate::parse(source);
  if (!chat_template) return tl::unexpected(chat_template.error());
  return chat_template->render(input);
}

// The text, or the error's message.
inline std::string text_or_error(const Result<RenderedPrompt>& prompt) {
  return prompt ? prompt->text : prompt.error().message;
}

inline TemplateInput one_user_message(const std::string& content) {
  TemplateInput input;
  input.messages_json = Json::array({{{"role", "user"}, {"content", content}}}).dump();
  return input;
}

// Each untrusted range of the prompt as text.
inline std::vector<std::string> untrusted_parts(const RenderedPrompt& prompt) {
  std::vector<std::string> parts;
  for (const ByteRange& range : prompt.untrusted) {
    parts.push_back(prompt.text.substr(range.begin, range.end - range.begin));
  }
  return parts;
}

}  // namespace qualia::tokenizer
