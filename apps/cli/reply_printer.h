// How a reply appears: its streamed text on standard output, one line about where and how fast it
// ran on standard error.
#pragma once

#include <string>

#include "arguments.h"
#include "progress.h"
#include "qualia/session.h"

namespace qualia::cli {

// Streams a reply to standard output. Until its first text a bar shows how far a long prompt is.
class ReplyPrinter {
 public:
  explicit ReplyPrinter(bool quiet) : bar_("Reading the prompt", quiet) {}

  // `options` with the bar as their progress; must not outlive the printer, and neither must
  // on_text().
  GenerateOptions with_progress(GenerateOptions options);
  OnText on_text();
  // The reply is there, or will not come.
  void end() { bar_.end(); }
  bool has_shown() const { return has_shown_; }

 private:
  ProgressBar bar_;
  bool has_shown_ = false;
};

// "reference / CPU, 2 threads / scalar: 36 prompt tokens at 41.2 tok/s, 8 tokens at 15.1 tok/s"
std::string summary_line(const Model& model, const Reply& reply);

// A sentence about an end that the user should know of; empty for an ordinary one.
std::string finish_note(const Reply& reply);

}  // namespace qualia::cli
