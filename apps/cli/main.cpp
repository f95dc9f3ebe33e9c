// qualia: parse the arguments, create the runtime, run the command, tell how it ended.

#include <cstdio>
#include <exception>

#include "arguments.h"
#include "commands.h"
#include "interrupt.h"
#include "output.h"

namespace qualia::cli {
namespace {

int dispatch(const Runtime& runtime, const Arguments& arguments) {
  switch (arguments.command) {
    case Command::run:
      return run_command(runtime, arguments);
    case Command::chat:
      return chat_command(runtime, arguments);
    case Command::tokenize:
      return tokenize_command(runtime, arguments);
    case Command::detokenize:
      return detokenize_command(runtime, arguments);
    case Command::inspect:
      return inspect_command(runtime, arguments);
    case Command::logits:
      return logits_command(runtime, arguments);
    case Command::perplexity:
      return perplexity_command(runtime, arguments);
    case Command::bench:
      return bench_command(runtime, arguments);
    case Command::profile:
      return profile_command(runtime, arguments);
  }
  return 2;
}

// Flags win over QUALIA_LOG, which Runtime::create applied.
Result<void> apply_verbosity(const Arguments& arguments) {
  if (arguments.quiet) return set_log_level("error");
  if (arguments.verbosity >= 2) return set_log_level("debug");
  if (arguments.verbosity == 1) return set_log_level("info");
  return {};
}

int run(int argc, char** argv) {
  guard_standard_streams();
  const auto parsed = parse(argc, argv);
  if (const int* status = std::get_if<int>(&parsed)) return *status;
  const auto& arguments = std::get<Arguments>(parsed);
  install_signal_handlers();
  const auto runtime = Runtime::create();
  if (!runtime) {
    complain(runtime.error().message);
    return 2;
  }
  if (const auto applied = apply_verbosity(arguments); !applied) {
    complain(applied.error().message);
    return 1;
  }
  const int status = dispatch(*runtime, arguments);
  if (const int signal_status = exit_status_of_signal(); signal_status != 0) return signal_status;
  return status != 0 ? status : output_status();
}

}  // namespace
}  // namespace qualia::cli

int main(int argc, char** argv) {
  try {
    return qualia::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("qualia: memory is exhausted.\n", stderr);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "qualia: internal fault: %s\n", exception.what());
  }
  return 1;
}
