// Reading lines from a person: libedit with history on a terminal, plain lines otherwise.
// Thread-safety: one owner. The terminal is in its own mode only while a line is being read.
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
  // `history_file`: loaded now and saved by save_history(); unset: history of this run only.
  LineEditor(std::string prompt, std::optional<std::filesystem::path> history_file);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // A line ending in a backslash goes on in the next one.
  Line read();
  // Written beside and renamed. False: it could not be written.
  bool save_history();

 private:
  struct Terminal;
  Line read_plain();

  std::string prompt_;
  std::optional<std::filesystem::path> history_file_;
  std::unique_ptr<Terminal> terminal_;  // nullptr: standard input is no terminal
  std::string plain_pending_;
};

}  // namespace qualia::cli
