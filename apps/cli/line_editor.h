// Reading lines from a person: libedit with history on a terminal, plain lines otherwise.
// Thread-safety: one owner. The terminal is in its own mode only while a line is being read.
// A line that ends in a backslash goes on in the next one. The history file is written beside and
// renamed after every line, so that not even a killed program loses or damages it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace qualia::cli {

enum class LineStatus { line, end_of_input, interrupted };

struct Line {
  LineStatus status = LineStatus::end_of_input;
  std::string text;
};

class LineEditor {
 public:
  // `history_file`: unset: history of this run only.
  LineEditor(std::string prompt, std::optional<std::filesystem::path> history_file);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  Line read();
  // Standard input and output are a terminal.
  bool is_interactive() const { return terminal_ != nullptr; }
  // Why the history could not be saved, as a sentence; empty: it was.
  const std::string& history_problem() const { return history_problem_; }

 private:
  struct Terminal;
  Line read_one();
  Line read_plain();
  void remember(const std::string& text);

  std::optional<std::filesystem::path> history_file_;
  std::string history_problem_;
  std::unique_ptr<Terminal> terminal_;  // nullptr: standard input or output is no terminal
  std::string plain_pending_;
  size_t plain_searched_ = 0;  // bytes of plain_pending_ known to have no newline
};

}  // namespace qualia::cli
