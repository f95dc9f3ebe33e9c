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

constexpr const char* kHelp =
    "/exit or Ctrl-D leaves, /reset forgets the conversation, /system TEXT sets the system message\n"
    "and starts anew; Ctrl-C stops a reply; a line ending in \\ goes on in the next one.\n";

// The conversation so far and what a line of input does to it.
class Conversation {
 public:
  Conversation(const Arguments& arguments, const Model& model, Session session)
      : arguments_(arguments), model_(model), session_(std::move(session)) {
    reset();
  }

  // False: the user leaves.
  bool take(const std::string& line) {
    if (line.empty()) return true;
    if (line == "/exit" || line == "/quit") return false;
    if (line == "/help") {
      print(kHelp);
    } else if (line == "/reset") {
      reset();
    } else if (line.starts_with("/system ")) {
      system_ = line.substr(8);
      reset();
    } else {
      answer(line);
    }
    return true;
  }

 private:
  void reset() {
    messages_.clear();
    if (system_) messages_.push_back({"system", *system_});
  }

  void answer(const std::string& line) {
    messages_.push_back({"user", line});
    const auto reply =
        session_.chat(messages_, arguments_.generate,
                      [](std::string_view text) { print(for_terminal(text)); }, &stop_requested());
    if (!reply) {
      messages_.pop_back();
      complain(reply.error().message);
      return;
    }
    print("\n");
    // A stopped reply stays in the conversation: the user saw it.
    messages_.push_back({"assistant", reply->text});
    if (const std::string note = finish_note(*reply); !note.empty()) complain(note);
    if (arguments_.verbosity > 0) complain(summary_line(model_, *reply));
    clear_interrupt();
  }

  const Arguments& arguments_;
  const Model& model_;
  Session session_;
  std::optional<std::string> system_ = arguments_.system;
  std::vector<ChatMessage> messages_;
};

std::optional<std::filesystem::path> history_file(const Runtime& runtime) {
  const auto folder = runtime.cache_folder();
  if (!folder) return std::nullopt;
  return *folder / "chat_history";
}

// Ctrl-C at the prompt twice in a row leaves; once only says how to leave.
void converse(LineEditor& editor, Conversation& conversation) {
  bool was_interrupted = false;
  while (!output_failed()) {
    const Line line = editor.read();
    if (line.status == LineStatus::end_of_input) return;
    if (line.status == LineStatus::interrupted) {
      if (was_interrupted || exit_status_of_signal() == kExitTerminated) return;
      was_interrupted = true;
      clear_interrupt();
      complain("Ctrl-D or /exit leaves, and so does another Ctrl-C.");
      continue;
    }
    was_interrupted = false;
    if (!conversation.take(line.text) || exit_status_of_signal() == kExitTerminated) return;
  }
}

}  // namespace

int chat_command(const Runtime& runtime, const Arguments& arguments) {
  const auto loaded = load_model(runtime, arguments);
  if (!loaded) return fail(loaded.error());
  auto session = Session::create(loaded->model);
  if (!session) return fail(session.error());
  if (!loaded->model.info().has_chat_template)
    return fail({ErrorCode::not_found, "The model has no chat template, so it can't chat."});
  if (!arguments.quiet)
    complain(fmt::format("{} on {}; /help says more.", loaded->model.info().path.filename().string(),
                         loaded->model.path().winning_circuit));
  LineEditor editor("> ", history_file(runtime));
  Conversation conversation(arguments, loaded->model, std::move(*session));
  converse(editor, conversation);
  if (!editor.save_history() && !arguments.quiet) complain("The history could not be saved.");
  return 0;
}

}  // namespace qualia::cli
