// The commands of the program. Each returns its exit status: 0 done, 1 failed, 130 interrupted.
#pragma once

#include "arguments.h"
#include "qualia/runtime.h"

namespace qualia::cli {

int run_command(const Runtime& runtime, const Arguments& arguments);
int chat_command(const Runtime& runtime, const Arguments& arguments);
int tokenize_command(const Runtime& runtime, const Arguments& arguments);
int detokenize_command(const Runtime& runtime, const Arguments& arguments);
int inspect_command(const Runtime& runtime, const Arguments& arguments);
int logits_command(const Runtime& runtime, const Arguments& arguments);
int perplexity_command(const Runtime& runtime, const Arguments& arguments);
int bench_command(const Runtime& runtime, const Arguments& arguments);
int profile_command(const Runtime& runtime, const Arguments& arguments);

}  // namespace qualia::cli
