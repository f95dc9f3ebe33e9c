// The command line as data. parse() is the only place that knows the parser library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "qualia/lane.h"
#include "qualia/profile.h"
#include "qualia/session.h"

namespace qualia::cli {

enum class Command { run, chat, tokenize, detokenize, inspect, logits, perplexity, bench, profile };
enum class OutputFormat { text, json, csv, markdown };

struct ModelArguments {
  std::optional<std::string> file;  // unset: the default model
  std::string lane;
  std::string backend;
  std::optional<uint32_t> threads;
  std::optional<uint32_t> context;
  KvType kv = KvType::automatic;
  std::optional<Precision> precision;
  bool in_process = false;
};

struct Arguments {
  Command command = Command::run;
  OutputFormat format = OutputFormat::text;
  bool quiet = false;
  int verbosity = 0;  // number of -v
  ModelArguments model;

  // run, chat
  std::optional<std::string> prompt;       // "-" is standard input
  std::optional<std::string> prompt_file;  // run -f; also perplexity -f
  std::optional<std::string> system;
  bool raw = false;
  GenerateOptions generate;

  // tokenize, detokenize, inspect
  std::optional<std::string> text;  // the positional argument: text, ids or a path
  TokenizeOptions tokenize;

  // logits
  std::optional<std::string> tokens;
  uint32_t last = 8;
  uint32_t top = 16;

  // perplexity
  uint32_t window = 512;

  BenchOptions bench;

  // profile
  ProfileOptions profile;
  std::optional<std::string> trace_file;
};

// The arguments, or the exit status where there is nothing to run: after --help or --version that
// of printing it, after a usage error 2 (already reported on standard error). What a command needs
// is there; values that depend on the model are checked by the command.
std::variant<Arguments, int> parse(int argc, char** argv);

}  // namespace qualia::cli
