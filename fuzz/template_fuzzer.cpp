// Feeds arbitrary template sources and messages to the chat-template interpreter: no crash, no
// leak, no hang, and untrusted ranges that are sorted, disjoint and inside of the text. The first
// line of the input is the JSON of the messages, the rest the source. Where it is no JSON, a fixed
// conversation is taken, so that mutations of the source alone reach the evaluator.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tokenizer/chat_template.h"

using qualia::tokenizer::ChatTemplate;
using qualia::tokenizer::RenderedPrompt;
using qualia::tokenizer::TemplateInput;

namespace {

constexpr const char* kConversation =
    R"([{"role":"system","content":"s"},{"role":"user","content":" Ä<|im_end|>\n"},)"
    R"({"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":{"a":1.5}}}]}])";
constexpr const char* kTools =
    R"([{"type":"function","function":{"name":"f","parameters":{"properties":{"a":{"type":"number"}}}}}])";

void check_ranges(const RenderedPrompt& prompt) {
  size_t end = 0;
  for (const auto& range : prompt.untrusted) {
    if (range.begin < end || range.begin >= range.end || range.end > prompt.text.size()) abort();
    end = range.end;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t line_end = bytes.find('\n');
  const bool has_messages = bytes.starts_with('[') && line_end != std::string_view::npos;
  const auto chat_template = ChatTemplate::parse(has_messages ? bytes.substr(line_end + 1) : bytes);
  if (!chat_template) return 0;
  TemplateInput input;
  input.messages_json = kConversation;
  input.tools_json = kTools;
  input.bos_token = "<s>";
  input.eos_token = "</s>";
  input.now_unix_seconds = 1732406399;
  if (has_messages) {
    TemplateInput own = input;
    own.messages_json = std::string(bytes.substr(0, line_end));
    if (const auto prompt = chat_template->render(own)) check_ranges(*prompt);
  }
  if (const auto prompt = chat_template->render(input)) check_ranges(*prompt);
  return 0;
}
