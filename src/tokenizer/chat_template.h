// Chat templates: messages -> prompt text, by the Jinja source that a model file carries.
// Thread-safety: immutable after parse(); render may run in parallel.
// Variables: messages, tools (undefined without tools), bos_token, eos_token,
// add_generation_prompt, enable_thinking.
//
// Content that is a list of text parts reaches a template that loops over it as it is, and any
// other as their texts joined (see jinja_content_parts.h). An assistant's null or missing content
// stays so unless the template fails on it; then it is an empty text.
//
// Text that came from a message is marked as untrusted, byte range by byte range, so that the
// tokenizer can keep control text in it plain. A role that is a plain word is trusted.
//
// Bounds: parse depth, evaluation steps, nesting, bytes built and wall time are limited; going over
// is an Error within 2 s, never a crash. A template sees its variables and nothing else.
//
// Errors: corrupt_file for a syntax error or unknown filter (with the line); invalid_argument for a
// template's own raise_exception (with its sentence), a failing evaluation (with the line), or
// messages that are no JSON array of objects.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qualia/result.h"
#include "tokenizer/tokenizer.h"

namespace qualia::tokenizer {

struct RenderedPrompt {
  std::string text;
  std::vector<ByteRange> untrusted;  // sorted, disjoint: the bytes that came from messages
};

struct TemplateInput {
  std::string messages_json;  // a JSON array of objects: role, content (string, null or parts), ...
  std::string tools_json;     // a JSON array, or empty: undefined
  std::string bos_token;      // piece text
  std::string eos_token;
  bool add_generation_prompt = true;
  // The variable enable_thinking, which templates of reasoning models test; true as in llama.cpp.
  bool enable_thinking = true;
  // A JSON object of further variables that the template may use, or empty; trusted. They win over
  // the ones above ("chat_template_kwargs" of other servers).
  std::string variables_json;
  // Seconds since 1970 (UTC) that strftime_now formats, in English; nullopt: the clock.
  std::optional<long long> now_unix_seconds;
};

class ChatTemplate {
 public:
  static Result<ChatTemplate> parse(std::string_view source);
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  Result<RenderedPrompt> render(const TemplateInput& input) const;

 private:
  struct Program;
  explicit ChatTemplate(std::unique_ptr<const Program> program);
  std::unique_ptr<const Program> program_;
};

}  // namespace qualia::tokenizer
