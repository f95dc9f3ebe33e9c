#include "tokenizer/jinja_messages.h"

#include "base/error.h"
#include "tokenizer/jinja_json.h"

namespace qualia::tokenizer::jinja {

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

Result<Value> with_joined_content(Budget& budget, const Value& message, size_t index) {
  const Value* content = message.dict().find("content");
  if (content == nullptr || !content->is(Kind::sequence)) return message;
  TextBuilder builder(budget);
  const auto& parts = content->sequence().items;
  for (size_t i = 0; i < parts.size(); ++i) {
    QUALIA_ASSIGN(const TextPtr text, text_of_part(parts[i], index, i));
    builder.append(*text);
  }
  std::vector<Dict::Entry> entries = message.dict().entries;
  for (auto& [key, value] : entries) {
    if (key.is(Kind::text) && key.bytes() == "content") {
      value = builder.finish();
    }
  }
  return make_dict(budget, std::move(entries));
}

}  // namespace

Result<Value> read_messages(Budget& budget, std::string_view json, ContentParts parts) {
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
    if (parts == ContentParts::kept) {
      messages.push_back(message);
      continue;
    }
    QUALIA_ASSIGN(Value joined, with_joined_content(budget, message, index));
    messages.push_back(std::move(joined));
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

}  // namespace qualia::tokenizer::jinja
