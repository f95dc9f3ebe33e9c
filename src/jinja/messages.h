// Messages and tools of a request as values for a template.
// Thread-safety: pure apart from the budget.
// Everything in them is untrusted but for a role that is a plain word.
// Content that is a list of parts stays one for a template that loops over it (see
// jinja_content_parts.h); for any other its texts are joined in order, without anything between.
// Errors: invalid_argument for JSON that is no array of objects, or a part that is no text where
// the template takes text only.
#pragma once

#include <string_view>

#include "jinja/value.h"
#include "qualia/result.h"

namespace qualia::jinja {

enum class ContentParts { kept, joined };
// What becomes of an assistant's message whose content is null or missing, as that of a tool call
// is in OpenAI's format: some templates test for it, others fail on it and need an empty text.
enum class MissingContent { kept, emptied };

struct MessageRules {
  ContentParts parts = ContentParts::kept;
  MissingContent missing = MissingContent::kept;
};

Result<Value> read_messages(Budget& budget, std::string_view json, const MessageRules& rules);
Result<Value> read_tools(Budget& budget, std::string_view json);
// A dict; trusted, since the operator gives it.
Result<Value> read_variables(Budget& budget, std::string_view json);

}  // namespace qualia::jinja
