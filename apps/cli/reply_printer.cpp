#include "reply_printer.h"

#include <fmt/core.h>

#include "output.h"

namespace qualia::cli {

GenerateOptions ReplyPrinter::with_progress(GenerateOptions options) {
  options.prompt_progress = bar_.hook();
  return options;
}

OnText ReplyPrinter::on_text() {
  return [this](std::string_view text) {
    bar_.end();
    has_shown_ = true;
    print(for_terminal(text));
  };
}

std::string summary_line(const Model& model, const Reply& reply) {
  const Timings& timings = reply.timings;
  std::string line = model.path().winning_circuit + ": ";
  if (reply.finish_reason == FinishReason::cancelled && reply.completion_tokens == 0)
    return line +
           fmt::format("{} of {} prompt tokens", timings.prefill_tokens, reply.prompt_tokens);
  line += fmt::format("{} prompt tokens", reply.prompt_tokens);
  if (timings.prefill_tokens < reply.prompt_tokens)
    line += fmt::format(" ({} known)", reply.prompt_tokens - timings.prefill_tokens);
  if (timings.prefill_ms > 0) line += fmt::format(" at {:.1f} tok/s", timings.prefill_tok_s());
  line += fmt::format(", {} tokens", reply.completion_tokens);
  if (timings.decode_ms > 0) line += fmt::format(" at {:.1f} tok/s", timings.decode_tok_s());
  return line;
}

std::string finish_note(const Reply& reply) {
  switch (reply.finish_reason) {
    case FinishReason::context:
      return fmt::format("The reply ends because the context is full ({} tokens).",
                         reply.prompt_tokens + reply.completion_tokens);
    case FinishReason::cancelled:
      return "The reply was stopped.";
    case FinishReason::stop:
    case FinishReason::length:
      return {};
  }
  return {};
}

}  // namespace qualia::cli
