#include <fmt/core.h>

#include "commands.h"
#include "interrupt.h"
#include "json.h"
#include "model_source.h"
#include "output.h"
#include "reply_printer.h"

namespace qualia::cli {
namespace {

Result<std::string> read_prompt(const Arguments& arguments) {
  if (arguments.prompt_file) return read_input(*arguments.prompt_file);
  if (arguments.prompt && *arguments.prompt != "-") return *arguments.prompt;
  return read_input("-");
}

// Instruct models get their template; a model without one completes the text, and says so.
bool wants_chat(const Arguments& arguments, const Model& model) {
  if (arguments.raw || !model.tokenizer()) return false;
  if (!model.info().has_chat_template && !arguments.quiet)
    complain("The model has no chat template: it completes the prompt as it is.");
  return model.info().has_chat_template;
}

Result<Reply> generate(const Arguments& arguments, const Model& model, const std::string& prompt,
                       ReplyPrinter& printer) {
  const GenerateOptions options = printer.with_progress(arguments.generate);
  const OnText on_text = arguments.format == OutputFormat::json ? OnText() : printer.on_text();
  auto session = Session::create(model);
  if (!session) return tl::unexpected(session.error());
  if (!wants_chat(arguments, model)) return session->complete(prompt, options, on_text, is_stopped);
  std::vector<ChatMessage> messages;
  if (arguments.system) messages.push_back({"system", *arguments.system});
  messages.push_back({"user", prompt});
  return session->chat(messages, options, on_text, is_stopped);
}

}  // namespace

int run_command(const Runtime& runtime, const Arguments& arguments) {
  const auto prompt = read_prompt(arguments);
  if (!prompt) return fail(prompt.error());
  const auto loaded = load_model(runtime, arguments);
  if (!loaded) return fail(loaded.error());

  ReplyPrinter printer(arguments.quiet);
  const auto reply = generate(arguments, loaded->model, *prompt, printer);
  printer.end();
  if (!reply) {
    if (printer.has_shown()) print("\n");
    return fail(reply.error());
  }
  if (arguments.format == OutputFormat::json) {
    print(to_json(*reply, loaded->model, loaded->load_ms));
    return 0;
  }
  print("\n");
  if (arguments.quiet || output_failed()) return 0;
  if (const std::string note = finish_note(*reply); !note.empty()) complain(note);
  complain(summary_line(loaded->model, *reply));
  return 0;
}

}  // namespace qualia::cli
