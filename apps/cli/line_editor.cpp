#include "line_editor.h"

#include <histedit.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <utility>

#include "interrupt.h"

namespace qualia::cli {
namespace {

constexpr int kHistoryLines = 1000;

// libedit asks for one wide character. Unlike its own reader, an interrupt ends the line at once.
int read_wide_char(EditLine*, wchar_t* result) {
  std::mbstate_t state{};
  while (true) {
    char byte = 0;
    const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
    if (count == 0) return 0;
    if (count < 0) {
      if (errno == EINTR && !stop_requested()) continue;  // a resized window
      return -1;
    }
    const size_t used = std::mbrtowc(result, &byte, 1, &state);
    if (used == static_cast<size_t>(-2)) continue;  // more bytes belong to it
    if (used == static_cast<size_t>(-1)) {
      state = {};
      continue;  // not UTF-8: the byte is dropped
    }
    return 1;
  }
}

}  // namespace

struct LineEditor::Terminal {
  EditLine* editor = nullptr;
  History* history = nullptr;
  std::string prompt;

  ~Terminal() {
    if (history) history_end(history);
    if (editor) el_end(editor);  // also puts the terminal back
  }
};

namespace {

char* show_prompt(EditLine* editor) {
  void* data = nullptr;
  el_get(editor, EL_CLIENTDATA, &data);
  return static_cast<std::string*>(data)->data();
}

}  // namespace

LineEditor::LineEditor(std::string prompt, std::optional<std::filesystem::path> history_file)
    : prompt_(std::move(prompt)), history_file_(std::move(history_file)) {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1) return;
  // libedit drops what is not ASCII without a UTF-8 character type; numbers stay in the C locale.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  terminal_ = std::make_unique<Terminal>();
  terminal_->prompt = prompt_;
  terminal_->editor = el_init("qualia", stdin, stdout, stderr);
  terminal_->history = history_init();
  if (!terminal_->editor || !terminal_->history) {
    terminal_.reset();
    return;
  }
  HistEvent event{};
  history(terminal_->history, &event, H_SETSIZE, kHistoryLines);
  history(terminal_->history, &event, H_SETUNIQUE, 1);
  if (history_file_) history(terminal_->history, &event, H_LOAD, history_file_->c_str());
  el_set(terminal_->editor, EL_CLIENTDATA, &terminal_->prompt);
  el_set(terminal_->editor, EL_PROMPT, show_prompt);
  el_set(terminal_->editor, EL_EDITOR, "emacs");
  el_set(terminal_->editor, EL_HIST, ::history, terminal_->history);
  el_set(terminal_->editor, EL_GETCFN, read_wide_char);
  el_set(terminal_->editor, EL_SIGNAL, 1);
  el_source(terminal_->editor, nullptr);  // the user's ~/.editrc
}

LineEditor::~LineEditor() = default;

Line LineEditor::read() {
  if (!terminal_) return read_plain();
  Line result;
  while (true) {
    int length = 0;
    const char* text = el_gets(terminal_->editor, &length);
    if (stop_requested()) {
      std::fputs("\n", stdout);
      return {LineStatus::interrupted, {}};
    }
    if (!text || length <= 0) return {LineStatus::end_of_input, {}};
    result.text.append(text, static_cast<size_t>(length));
    if (!result.text.empty() && result.text.back() == '\n') result.text.pop_back();
    if (result.text.empty() || result.text.back() != '\\') break;
    result.text.back() = '\n';
  }
  result.status = LineStatus::line;
  HistEvent event{};
  if (!result.text.empty())
    history(terminal_->history, &event, H_ENTER, result.text.c_str());
  return result;
}

bool LineEditor::save_history() {
  if (!terminal_ || !history_file_) return true;
  std::error_code error;
  std::filesystem::create_directories(history_file_->parent_path(), error);
  const std::filesystem::path beside =
      history_file_->string() + "." + std::to_string(::getpid()) + ".part";
  HistEvent event{};
  if (history(terminal_->history, &event, H_SAVE, beside.c_str()) < 0) {
    std::filesystem::remove(beside, error);
    return false;
  }
  std::filesystem::rename(beside, *history_file_, error);
  if (!error) return true;
  std::error_code ignored;
  std::filesystem::remove(beside, ignored);
  return false;
}

Line LineEditor::read_plain() {
  while (true) {
    if (const size_t end = plain_pending_.find('\n'); end != std::string::npos) {
      Line line{LineStatus::line, plain_pending_.substr(0, end)};
      plain_pending_.erase(0, end + 1);
      return line;
    }
    char buffer[4096];
    const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (count > 0) {
      plain_pending_.append(buffer, static_cast<size_t>(count));
    } else if (count < 0 && errno == EINTR) {
      if (stop_requested()) return {LineStatus::interrupted, {}};
    } else if (!plain_pending_.empty()) {
      return {LineStatus::line, std::exchange(plain_pending_, {})};
    } else {
      return {LineStatus::end_of_input, {}};
    }
  }
}

}  // namespace qualia::cli
