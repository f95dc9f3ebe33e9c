#include "arguments.h"

#include <CLI/CLI.hpp>
#include <cstring>
#include <map>

#include "qualia/version.h"

namespace qualia::cli {
namespace {

void add_model_options(CLI::App& app, ModelArguments& model, bool computes) {
  app.add_option("-m,--model", model.model, "GGUF file; without it the default model")
      ->type_name("MODEL");
  if (!computes) return;
  app.add_option("--lane", model.lane, "execute on this lane (reference)")->type_name("LANE");
  app.add_option("--backend", model.backend, "execute through this API")->type_name("BACKEND");
  app.add_option("--threads", model.threads, "host threads (default: physical cores)")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  app.add_option("--ctx", model.context, "positions a sequence may have (default: the model's)")
      ->type_name("N")
      ->check(CLI::Range(1U, 0x7FFFFFFFU));
  const std::map<std::string, KvType> kv_types{
      {"int8", KvType::int8}, {"f16", KvType::f16}, {"f32", KvType::f32}};
  app.add_option("--kv", model.kv, "KV cache: int8, f16 or f32 (default: the lane's)")
      ->type_name("TYPE")
      ->transform(CLI::CheckedTransformer(kv_types, CLI::ignore_case));
  const std::map<std::string, Precision> precisions{
      {"fast", Precision::fast}, {"precise", Precision::precise}, {"exact", Precision::exact}};
  app.add_option("--precision", model.precision, "fast, precise or exact (default: the lane's)")
      ->type_name("P")
      ->transform(CLI::CheckedTransformer(precisions, CLI::ignore_case));
}

void add_generate_options(CLI::App& app, Arguments& arguments) {
  GenerateOptions& generate = arguments.generate;
  SamplingOptions& sampling = generate.sampling;
  app.add_option("--system", arguments.system, "system message")->type_name("TEXT");
  app.add_option("-n,--max-tokens", generate.max_tokens, "at most N tokens (default: to the end of the turn)")
      ->type_name("N");
  app.add_option("--temp", sampling.temperature, "temperature; 0 is greedy")->capture_default_str();
  app.add_option("--seed", sampling.seed, "seed of the draws (default: from the system)");
  app.add_option("--top-k", sampling.top_k, "draw from the K best; 0: all")->capture_default_str();
  app.add_option("--top-p", sampling.top_p, "draw from the best that sum to P")->capture_default_str();
  app.add_option("--min-p", sampling.min_p, "draw from those with P times the best's probability")
      ->capture_default_str();
  app.add_option("--repeat-penalty", sampling.repeat_penalty, "lower recent tokens; 1: off")
      ->capture_default_str();
  // Without allow_extra_args(false) the parser splits a value in brackets, such as "[END]".
  app.add_option("--stop", generate.stop, "end the reply before this text (may be repeated)")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->take_all();
}

void add_json(CLI::App& app, Arguments& arguments) {
  app.add_flag_callback("--json", [&arguments] { arguments.format = OutputFormat::json; },
                        "print one JSON document");
}

void add_run(CLI::App& app, Arguments& arguments) {
  auto* prompt = app.add_option("-p,--prompt", arguments.prompt, "prompt; - reads standard input");
  auto* file = app.add_option("-f,--file", arguments.prompt_file, "prompt from a file");
  prompt->excludes(file);
  app.add_flag("--raw", arguments.raw, "complete the prompt as it is, without the chat template");
  add_generate_options(app, arguments);
  add_json(app, arguments);
}

void add_tokenize(CLI::App& app, Arguments& arguments) {
  app.add_flag_callback("--no-special", [&arguments] { arguments.tokenize.add_special = false; },
                        "add no BOS or EOS");
  app.add_flag("--parse-special", arguments.tokenize.parse_special, "read control tokens in the text");
  app.add_option("TEXT", arguments.text, "text; - reads every byte of standard input")->required();
  add_json(app, arguments);
}

void add_detokenize(CLI::App& app, Arguments& arguments) {
  app.add_flag("--parse-special", arguments.tokenize.parse_special, "show control tokens");
  app.add_option("IDS", arguments.text, "token ids, such as 1,2,3 or \"1 2 3\"; - reads standard input")
      ->required();
  add_json(app, arguments);
}

void add_logits(CLI::App& app, Arguments& arguments) {
  app.add_option("--tokens", arguments.tokens, "token ids, such as 1,2,3")->required();
  app.add_option("--last", arguments.last, "positions to report")->capture_default_str();
  app.add_option("--top", arguments.top, "best logits of each")->capture_default_str();
  add_json(app, arguments);
}

void add_perplexity(CLI::App& app, Arguments& arguments) {
  app.add_option("-f,--file", arguments.prompt_file, "text file; - reads standard input")->required();
  app.add_option("-c,--window", arguments.window, "tokens a window")->capture_default_str();
  add_json(app, arguments);
}

void add_bench(CLI::App& app, Arguments& arguments) {
  app.add_option("-p", arguments.bench.prompt_tokens, "prompt tokens; 0: none")->capture_default_str();
  app.add_option("-n", arguments.bench.generated_tokens, "decoded tokens; 0: none")
      ->capture_default_str();
  app.add_option("-d", arguments.bench.depth, "positions already in the cache")->capture_default_str();
  app.add_option("-r", arguments.bench.repetitions, "repetitions")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  add_json(app, arguments);
  app.add_flag_callback("--csv", [&arguments] { arguments.format = OutputFormat::csv; }, "print CSV");
  app.add_flag_callback("--md", [&arguments] { arguments.format = OutputFormat::markdown; },
                        "print a Markdown table");
}

struct CommandEntry {
  Command command;
  const char* name;
  const char* description;
  bool takes_model;
  bool computes;
  void (*add)(CLI::App&, Arguments&);
};

constexpr CommandEntry kCommands[] = {
    {Command::run, "run", "One reply to a prompt, streamed", true, true, add_run},
    {Command::chat, "chat", "A conversation", true, true, add_generate_options},
    {Command::bench, "bench", "Speed of prefill and decode", true, true, add_bench},
    {Command::perplexity, "perplexity", "How well the model predicts a text", true, true, add_perplexity},
    {Command::logits, "logits", "Logits after given tokens", true, true, add_logits},
    {Command::tokenize, "tokenize", "Text to token ids", true, false, add_tokenize},
    {Command::detokenize, "detokenize", "Token ids to text", true, false, add_detokenize},
    {Command::inspect, "inspect", "Metadata and tensors of a GGUF file", false, false,
     [](CLI::App& app, Arguments& arguments) {
       app.add_option("MODEL", arguments.text, "GGUF file")->required();
       add_json(app, arguments);
     }},
};

// "qualia-cli llm <command>" is the older spelling of "qualia <command>".
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "llm") words.erase(words.begin());
  // The parser takes them from the back.
  return {words.rbegin(), words.rend()};
}

int report(const CLI::App& app, const CLI::ParseError& error) {
  // Help and version "errors" have the exit code 0.
  if (error.get_exit_code() == 0) return app.exit(error);
  std::fprintf(stderr, "qualia: %s\n", error.what());
  return 2;
}

}  // namespace

std::variant<Arguments, int> parse(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Runs language models on the machine at hand, and says why it runs there.", "qualia");
  app.set_version_flag("--version", std::string(build_id()));
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  for (const CommandEntry& entry : kCommands) {
    CLI::App* command = app.add_subcommand(entry.name, entry.description);
    if (entry.takes_model) add_model_options(*command, arguments.model, entry.computes);
    entry.add(*command, arguments);
    command->add_flag("-v,--verbose", arguments.verbosity, "say more on standard error; -vv: more still");
    command->add_flag("-q,--quiet", arguments.quiet, "say only errors on standard error");
    command->callback([&arguments, &entry] { arguments.command = entry.command; });
  }
  try {
    app.parse(words_of(argc, argv));
  } catch (const CLI::ParseError& error) {
    return report(app, error);
  }
  return arguments;
}

}  // namespace qualia::cli
