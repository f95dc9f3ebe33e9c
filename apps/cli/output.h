// Standard output for data, standard error for everything else; reading whole inputs.
// Thread-safety: one thread.
#pragma once

#include <string>
#include <string_view>

#include "qualia/result.h"

namespace qualia::cli {

// Opens /dev/null in the place of a standard stream that is closed, so that no file of ours gets
// its number. Reading or writing there is still an error. To be called first.
void guard_standard_streams();

// Writes to standard output, unbuffered. After a failed write (full disk, closed pipe) the rest is
// dropped, what is running is asked to stop, and output_status() tells.
void print(std::string_view text);
bool output_failed();

// 0 when all output was written; after a closed pipe 1 without a word, else 1 with a sentence.
int output_status();

// "qualia: <message>" and a newline on standard error; the message goes through one_line().
void complain(std::string_view message);

// Control characters as escapes (\n, \x1b), so that a file's or path's text can neither break a
// line in two nor steer the terminal.
std::string one_line(std::string_view text);

// Every byte of standard input or of a file. "-" as path: standard input. Errors: not_found, io.
Result<std::string> read_input(const std::string& path);

bool standard_error_is_terminal();

// Text as it may be shown on a terminal: control characters but newline and tab become U+FFFD when
// standard output is a terminal, so that a reply can't steer it. Unchanged otherwise.
std::string for_terminal(std::string_view text);

}  // namespace qualia::cli
