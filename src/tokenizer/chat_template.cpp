#include "tokenizer/chat_template.h"

#include <chrono>
#include <utility>

#include "base/error.h"
#include "jinja/evaluator.h"
#include "jinja/json.h"
#include "jinja/messages.h"
#include "jinja/parser.h"

namespace qualia::tokenizer {

struct ChatTemplate::Program {
  jinja::Program code;
};

ChatTemplate::ChatTemplate(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

namespace {

// In order: a later variable of the same name wins.
using Variables = std::vector<std::pair<std::string, jinja::Value>>;

long long seconds_since_1970() {
  using std::chrono::seconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<seconds>(now).count();
}

Result<Variables> make_variables(jinja::Budget& budget, const TemplateInput& input,
                                 const jinja::MessageRules& rules) {
  QUALIA_ASSIGN(jinja::Value messages, jinja::read_messages(budget, input.messages_json, rules));
  Variables variables;
  variables.emplace_back("messages", std::move(messages));
  if (!input.tools_json.empty()) {
    QUALIA_ASSIGN(jinja::Value tools, jinja::read_tools(budget, input.tools_json));
    variables.emplace_back("tools", std::move(tools));
  }
  variables.emplace_back("bos_token", jinja::make_text(budget, input.bos_token));
  variables.emplace_back("eos_token", jinja::make_text(budget, input.eos_token));
  variables.emplace_back("add_generation_prompt", jinja::Value(input.add_generation_prompt));
  variables.emplace_back("enable_thinking", jinja::Value(input.enable_thinking));
  if (!input.variables_json.empty()) {
    QUALIA_ASSIGN(const jinja::Value more, jinja::read_variables(budget, input.variables_json));
    for (const auto& [name, value] : more.dict().entries) {
      variables.emplace_back(name.bytes(), value);
    }
  }
  return variables;
}

enum class Failure { none, input, refused, limit, evaluation };

struct Rendering {
  Failure failure = Failure::none;
  Result<RenderedPrompt> prompt;
};

Rendering render_once(const jinja::Program& code, const TemplateInput& input, jinja::Budget& budget,
                      const jinja::MessageRules& rules) {
  auto variables = make_variables(budget, input, rules);
  if (!variables) return {Failure::input, tl::unexpected(std::move(variables).error())};
  jinja::Runtime runtime{budget, input.now_unix_seconds.value_or(seconds_since_1970())};
  jinja::Evaluator evaluator(code, runtime, *variables);
  jinja::TextBuilder out(budget);
  const Result<void> done = evaluator.run(out);
  if (!budget.ok()) {
    return {Failure::limit, invalid_argument("The chat template fails at line {}: {}.",
                                             evaluator.line(), budget.exhausted())};
  }
  if (!done && runtime.raised) {
    return {Failure::refused,
            invalid_argument("The chat template refuses the messages at line {}: {}",
                             evaluator.line(), done.error().message)};
  }
  if (!done) {
    return {Failure::evaluation, invalid_argument("The chat template fails at line {}: {}.",
                                                  evaluator.line(), done.error().message)};
  }
  return {Failure::none, RenderedPrompt{out.take_bytes(), out.take_ranges()}};
}

}  // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  QUALIA_ASSIGN(jinja::Program code, jinja::parse(source));
  return ChatTemplate(std::make_unique<const Program>(Program{std::move(code)}));
}

Result<RenderedPrompt> ChatTemplate::render(const TemplateInput& input) const {
  const jinja::Program& code = program_->code;
  jinja::Budget budget;  // one for both attempts; it outlives every value
  jinja::MessageRules rules;
  rules.parts =
      code.handles_content_parts ? jinja::ContentParts::kept : jinja::ContentParts::joined;
  Rendering first = render_once(code, input, budget, rules);
  if (first.failure != Failure::evaluation) return std::move(first.prompt);
  rules.missing = jinja::MissingContent::emptied;
  Rendering second = render_once(code, input, budget, rules);
  // Unless the empty content helped, the first sentence is the one about the messages as given.
  return second.failure == Failure::none ? std::move(second.prompt) : std::move(first.prompt);
}

}  // namespace qualia::tokenizer
