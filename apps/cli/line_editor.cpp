#include "line_editor.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <histedit.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <utility>

#include "interrupt.h"

namespace qualia::cli {
namespace {

constexpr int kHistoryLines = 1000;

// libedit asks for one wide character. Unlike its own reader, an interrupt ends the line at once.
int read_wide_char(EditLine*, wchar_t* result) {
  std::mbstate_t state{};
  while (wait_readable(STDIN_FILENO)) {
    char byte = 0;
    const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
    if (count == 0) return 0;
    if (count < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;  // a resized window
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
  return -1;
}

// 0, or the errno of what failed.
int write_history(History* lines, const std::filesystem::path& beside) {
  // Only for its owner: prompts are private.
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  std::FILE* const file = ::fdopen(fd, "w");
  if (!file) {
    ::close(fd);
    return ENOMEM;
  }
  HistEvent event{};
  errno = 0;
  const bool saved = history(lines, &event, H_SAVE_FP, file) >= 0;
  const bool flushed = std::fflush(file) == 0 && std::ferror(file) == 0;
  const int failure = errno;
  const bool closed = std::fclose(file) == 0;
  if (saved && flushed && closed) return 0;
  return failure != 0 ? failure : EIO;
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

// A bundle carries the descriptions of common terminals, for machines that have none. The empty
// entry before the colon stands for the system's own places, which come first.
void offer_bundled_terminals() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto folder = program.parent_path().parent_path() / "share" / "terminfo";
  if (!error && std::filesystem::is_directory(folder, error))
    ::setenv("TERMINFO_DIRS", (":" + folder.string()).c_str(), 0);
}

}  // namespace

LineEditor::LineEditor(std::string prompt, std::optional<std::filesystem::path> history_file)
    : history_file_(std::move(history_file)) {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1) return;
  // libedit drops what is not ASCII without a UTF-8 character type; numbers stay in the C locale.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  offer_bundled_terminals();
  terminal_ = std::make_unique<Terminal>();
  terminal_->prompt = std::move(prompt);
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
  Line whole = read_one();
  while (whole.status == LineStatus::line && whole.text.ends_with('\\')) {
    whole.text.back() = '\n';
    Line next = read_one();
    if (next.status == LineStatus::interrupted) return next;
    if (next.status == LineStatus::end_of_input) break;
    whole.text += next.text;
  }
  if (whole.status == LineStatus::line && terminal_) remember(whole.text);
  return whole;
}

Line LineEditor::read_one() {
  if (!terminal_) return read_plain();
  int length = 0;
  const char* text = el_gets(terminal_->editor, &length);
  if (stop_requested()) {
    std::fputs("\n", stdout);
    std::fflush(stdout);
    return {LineStatus::interrupted, {}};
  }
  if (!text || length <= 0) {
    // Ctrl-D leaves the cursor behind the prompt.
    std::fputs("\n", stdout);
    std::fflush(stdout);
    return {LineStatus::end_of_input, {}};
  }
  Line line{LineStatus::line, std::string(text, static_cast<size_t>(length))};
  if (line.text.ends_with('\n')) line.text.pop_back();
  return line;
}

void LineEditor::remember(const std::string& text) {
  if (text.empty()) return;
  HistEvent event{};
  history(terminal_->history, &event, H_ENTER, text.c_str());
  if (!history_file_) return;
  std::error_code error;
  std::filesystem::create_directories(history_file_->parent_path(), error);
  const std::filesystem::path beside =
      history_file_->string() + "." + std::to_string(::getpid()) + ".part";
  int failure = write_history(terminal_->history, beside);
  if (failure == 0 && ::rename(beside.c_str(), history_file_->c_str()) != 0) failure = errno;
  history_problem_.clear();
  if (failure == 0) return;
  std::filesystem::remove(beside, error);
  history_problem_ = fmt::format("The history can't be saved in '{}': {}.", history_file_->string(),
                                 std::strerror(failure));
}

Line LineEditor::read_plain() {
  const auto take = [this](size_t end, size_t newline) {
    Line line{LineStatus::line, plain_pending_.substr(0, end)};
    plain_pending_.erase(0, end + newline);
    plain_searched_ = 0;
    if (line.text.ends_with('\r')) line.text.pop_back();  // a file with CRLF
    return line;
  };
  while (true) {
    if (const size_t end = plain_pending_.find('\n', plain_searched_); end != std::string::npos)
      return take(end, 1);
    plain_searched_ = plain_pending_.size();
    if (!wait_readable(STDIN_FILENO)) return {LineStatus::interrupted, {}};
    char buffer[4096];
    const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (count > 0) {
      plain_pending_.append(buffer, static_cast<size_t>(count));
    } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
      if (plain_pending_.empty()) return {LineStatus::end_of_input, {}};
      return take(plain_pending_.size(), 0);
    }
  }
}

}  // namespace qualia::cli
