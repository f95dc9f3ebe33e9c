#include "jinja/messages.h"

#include "base/error.h"
#include "jinja/json.h"

namespace qualia::jinja {

namespace {

// The text of one part: a string itself, or an object with "text" whose type, if any, says text.
Result<TextPtr> text_of_part(const Value& part, size_t message, size_t index) {
  if (part.is(Kind::text)) return part.text();
  std::string_view type = "object";
  if (part.is(Kind::dict)) {
    const Value* given = part.dict().find("type");
    if (given != nullptr && given->is(Kind::text)) type = given->bytes();
    const bool says_text =
        given == nullptr || type == "text" || type == "input_text" || type == "output_text";
    const Value* text = part.dict().find("text");
    if (says_text && text != nullptr && text->is(Kind::text)) return text->text();
  }
  return invalid_argument(
      "Part {} of the content of message {} has type '{}' (this chat template takes text only).",
      index, message, type);
}

Result<TextPtr> joined_parts(Budget& budget, const Sequence& parts, size_t message) {
  TextBuilder builder(budget);
  for (size_t i = 0; i < parts.items.size(); ++i) {
    QUALIA_ASSIGN(const TextPtr text, text_of_part(parts.items[i], message, i));
    builder.append(*text);
  }
  return builder.finish();
}

Value with_content(Budget& budget, const Value& message, TextPtr content) {
  std::vector<Dict::Entry> entries = message.dict().entries;
  // A key that was there keeps its place.
  entries.emplace_back(make_text(budget, "content"), std::move(content));
  return make_dict(budget, std::move(entries));
}

bool is_assistant(const Value& message) {
  const Value* role = message.dict().find("role");
  return role != nullptr && role->is(Kind::text) && role->bytes() == "assistant";
}

Result<Value> by_rules(Budget& budget, const Value& message, size_t index,
                       const MessageRules& rules) {
  const Value* content = message.dict().find("content");
  const bool missing = content == nullptr || content->is(Kind::none);
  if (missing && rules.missing == MissingContent::emptied && is_assistant(message)) {
    return with_content(budget, message, make_text(budget, ""));
  }
  if (missing || rules.parts == ContentParts::kept || !content->is(Kind::sequence)) return message;
  QUALIA_ASSIGN(TextPtr text, joined_parts(budget, content->sequence(), index));
  return with_content(budget, message, std::move(text));
}

}  // namespace

Result<Value> read_messages(Budget& budget, std::string_view json, const MessageRules& rules) {
  auto read = read_json(budget, json, TrustedJson::roles);
  if (!read) return invalid_argument("The messages can't be read: {}.", read.error().message);
  if (!read->is(Kind::sequence)) {
    return invalid_argument("The messages are '{}' (an array is needed).", type_name(*read));
  }
  std::vector<Value> messages;
  for (const Value& message : read->sequence().items) {
    const size_t index = messages.size();
    if (!message.is(Kind::dict)) {
      return invalid_argument("Message {} is '{}' (an object is needed).", index,
                              type_name(message));
    }
    QUALIA_ASSIGN(Value ready, by_rules(budget, message, index, rules));
    messages.push_back(std::move(ready));
  }
  return make_list(budget, std::move(messages));
}

Result<Value> read_tools(Budget& budget, std::string_view json) {
  auto tools = read_json(budget, json, TrustedJson::nothing);
  if (!tools) return invalid_argument("The tools can't be read: {}.", tools.error().message);
  const bool is_list = tools->is(Kind::sequence);
  if (is_list || tools->is(Kind::none)) return *tools;
  return invalid_argument("The tools are '{}' (an array is needed).", type_name(*tools));
}

Result<Value> read_variables(Budget& budget, std::string_view json) {
  auto variables = read_json(budget, json, TrustedJson::everything);
  if (!variables) {
    return invalid_argument("The template variables can't be read: {}.", variables.error().message);
  }
  if (variables->is(Kind::dict)) return *variables;
  return invalid_argument("The template variables are '{}' (an object is needed).",
                          type_name(*variables));
}

}  // namespace qualia::jinja
