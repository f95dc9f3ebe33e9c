#include <fmt/core.h>

#include <vector>

#include "commands.h"
#include "interrupt.h"
#include "line_editor.h"
#include "model_source.h"
#include "output.h"
#include "reply_printer.h"

namespace qualia::cli {
namespace {

constexpr const char* kHelp[] = {
    "/exit, /quit or Ctrl-D leaves.",
    "/reset forgets the conversation.",
    "/system TEXT sets the system message and starts anew; /system alone takes it away.",
    "Ctrl-C stops a reply; at the prompt, twice leaves.",
    "A line that ends in \\ goes on in the next one; a blank before a slash makes it a message.",
};

// "/word" and what follows it, for a line that starts with a slash.
struct SlashCommand {
  std::string name;
  std::string rest;
};

SlashCommand split_command(const std::string& line) {
  const size_t end = line.find_first_of(" \t\n");
  const size_t rest = line.find_first_not_of(" \t\n", end);
  return {line.substr(0, end), rest == std::string::npos ? "" : line.substr(rest)};
}

// The conversation so far and what a line of input does to it.
class Conversation {
 public:
  Conversation(const Arguments& arguments, const Model& model, Session session)
      : arguments_(arguments), model_(model), session_(std::move(session)) {
    if (arguments.system) opening_.push_back({"system", *arguments.system});
    messages_ = opening_;
  }

  // False: the user leaves, or the model is lost and answers nothing more.
  bool take(const std::string& line) {
    if (line.find_first_not_of(" \t\r\n") == std::string::npos) return true;
    if (line.front() == '/') return obey(split_command(line));
    answer(line);
    return !is_lost_;
  }

  bool has_failed() const { return has_failed_; }
  bool is_lost() const { return is_lost_; }

 private:
  bool obey(const SlashCommand& command) {
    if (command.name == "/exit" || command.name == "/quit") return false;
    if (command.name == "/help") {
      for (const char* line : kHelp) complain(line);
    } else if (command.name == "/reset") {
      messages_ = opening_;
      note("The conversation starts anew.");
    } else if (command.name == "/system") {
      opening_.clear();
      if (!command.rest.empty()) opening_.push_back({"system", command.rest});
      messages_ = opening_;
      note(opening_.empty() ? "The conversation starts anew without a system message."
                            : "The conversation starts anew with this system message.");
    } else {
      has_failed_ = true;
      complain(fmt::format("'{}' is unknown (/help, /reset, /system, /exit).", command.name));
    }
    return true;
  }

  void note(std::string_view sentence) const {
    if (!arguments_.quiet) complain(sentence);
  }

  void answer(const std::string& line) {
    messages_.push_back({"user", line});
    ReplyPrinter printer(arguments_.quiet);
    const auto reply = session_.chat(messages_, printer.with_progress(arguments_.generate),
                                     printer.on_text(), is_stopped);
    printer.end();
    if (reply || printer.has_shown()) print("\n");
    if (!reply) {
      has_failed_ = true;
      is_lost_ = reply.error().code == ErrorCode::device_lost;
      messages_.pop_back();
      complain(reply.error().message);
    } else {
      // A stopped reply stays in the conversation: the user saw it.
      messages_.push_back({"assistant", reply->text});
      if (const std::string end = finish_note(*reply); !end.empty()) note(end);
      if (arguments_.verbosity > 0) note(summary_line(model_, *reply));
    }
    clear_interrupt();
  }

  const Arguments& arguments_;
  const Model& model_;
  Session session_;
  std::vector<ChatMessage> opening_;  // the system message, if any
  std::vector<ChatMessage> messages_;
  bool has_failed_ = false;
  bool is_lost_ = false;
};

std::optional<std::filesystem::path> history_file(const Runtime& runtime) {
  const auto folder = runtime.cache_folder();
  if (!folder) return std::nullopt;
  return *folder / "chat_history";
}

// Ctrl-C at the prompt twice in a row leaves; once only says how to leave.
void converse(LineEditor& editor, Conversation& conversation, bool quiet) {
  bool was_interrupted = false;
  while (!output_failed() && !must_leave()) {
    const Line line = editor.read();
    if (line.status == LineStatus::end_of_input) return;
    if (line.status == LineStatus::interrupted) {
      if (was_interrupted || must_leave() || !editor.is_interactive()) return;
      was_interrupted = true;
      clear_interrupt();
      if (!quiet) complain("Ctrl-D or /exit leaves, and so does another Ctrl-C.");
      continue;
    }
    was_interrupted = false;
    if (!conversation.take(line.text)) return;
  }
}

// What a chat needs of a model, checked before the first line is typed.
Result<void> check_can_chat(const Model& model) {
  if (!model.tokenizer()) return tl::unexpected(*model.tokenizer_error());
  if (model.chat_template_error()) return tl::unexpected(*model.chat_template_error());
  if (model.info().has_chat_template) return {};
  return tl::unexpected(Error{
      ErrorCode::not_found, fmt::format("'{}' has no chat template.", model.info().path.string())});
}

}  // namespace

int chat_command(const Runtime& runtime, const Arguments& arguments) {
  const auto loaded = load_model(runtime, arguments);
  if (!loaded) return fail(loaded.error());
  if (const auto checked = check_can_chat(loaded->model); !checked) return fail(checked.error());
  auto session = Session::create(loaded->model);
  if (!session) return fail(session.error());
  if (!arguments.quiet)
    complain(fmt::format("{} on {}; /help says more.",
                         loaded->model.info().path.filename().string(),
                         loaded->model.path().winning_circuit));
  LineEditor editor("> ", history_file(runtime));
  Conversation conversation(arguments, loaded->model, std::move(*session));
  converse(editor, conversation, arguments.quiet);
  if (!editor.history_problem().empty() && !arguments.quiet) complain(editor.history_problem());
  if (conversation.is_lost()) return 1;
  // A person saw what failed; a script learns it from the exit status.
  return conversation.has_failed() && !editor.is_interactive() ? 1 : 0;
}

}  // namespace qualia::cli
