#include "arguments.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <functional>

#include "option_values.h"
#include "output.h"
#include "qualia/version.h"

namespace qualia::cli {
namespace {

constexpr uint64_t kCountMax = 0x7FFFFFFF;  // counts and positions are 32-bit, with room to add
constexpr uint32_t kBenchSequencesMax = 1024;

// Takes in the value of an option, or says what is wrong with it.
using Read = std::function<Result<void>(const std::string&)>;

// An option with one value: the last one given wins (an alias's own can be overruled).
CLI::Option* add_value(CLI::App& app, const std::string& names, const char* type, const char* help,
                       const Read& read) {
  const std::string shown = names.substr(names.rfind(',') + 1);
  const auto take = [shown, read](const CLI::results_t& values) {
    for (const std::string& value : values)
      if (const auto done = read(value); !done)
        throw CLI::ValidationError(shown, done.error().message);
    return true;
  };
  // Without allow_extra_args(false) the parser splits a value in brackets, such as "[END]".
  return app.add_option(names, take, help)->type_name(type)->take_last()->allow_extra_args(false);
}

// Readers for the kinds of values there are.
template <typename Target>
Read whole(Target& target, uint64_t min, uint64_t max) {
  return [&target, min, max](const std::string& text) {
    return read_whole(text, min, max).map([&](uint64_t value) {
      using Value = std::conditional_t<std::is_integral_v<Target>, Target, uint32_t>;
      target = static_cast<Value>(value);
    });
  };
}

Read real(float& target, double min, double max) {
  return [&target, min, max](const std::string& text) {
    return read_real(text, min, max).map([&](double value) { target = static_cast<float>(value); });
  };
}

Read any_text(std::optional<std::string>& target) {
  return [&target](const std::string& text) -> Result<void> {
    target = text;
    return {};
  };
}

// A name that must not be empty: an unset shell variable would silently mean the default.
template <typename Target>
Read name(Target& target) {
  return [&target](const std::string& text) -> Result<void> {
    if (text.empty())
      return tl::unexpected(Error{ErrorCode::invalid_argument, "the value is empty."});
    target = text;
    return {};
  };
}

template <typename Target, typename Table>
Read word(Target& target, const Table& table) {
  return [&target, &table](const std::string& text) {
    return read_word(text, table).map([&](auto value) { target = value; });
  };
}

void add_model(CLI::App& app, Arguments& arguments) {
  add_value(app, "-m,--model", "MODEL", "GGUF file (default: SmolLM2-135M-Instruct, fetched once)",
            name(arguments.model.file))
      ->group("Model");
}

void add_circuit(CLI::App& app, Arguments& arguments) {
  ModelArguments& model = arguments.model;
  const auto add = [&app](const char* names, const char* type, const char* help, const Read& read) {
    add_value(app, names, type, help, read)->group("Model");
  };
  add_model(app, arguments);
  add("--lane", "LANE", "way to execute the model (default: the runtime chooses)",
      name(model.lane));
  add("--backend", "BACKEND", "interface below the lane (default: the runtime chooses)",
      name(model.backend));
  add("--threads", "N", "host threads (default: QUALIA_THREADS or the physical cores)",
      whole(model.threads, 1, 4096));
  add("--ctx", "N", "positions a sequence may have (default: the model's own)",
      whole(model.context, 1, kCountMax));
  add("--kv", "TYPE", "keys and values as int8, f16 or f32 (default: the lane's)",
      word(model.kv, kKvTypes));
  add("--precision", "P", "fast, precise or exact (default: precise)",
      word(model.precision, kPrecisions));
  app.add_flag("--in-process", model.in_process,
               "load a GPU model into this process, not into one of its own")
      ->group("Model");
}

void add_reply(CLI::App& app, Arguments& arguments) {
  GenerateOptions& generate = arguments.generate;
  SamplingOptions& sampling = generate.sampling;
  const auto add = [&app](const char* names, const char* type, const char* help, const Read& read) {
    return add_value(app, names, type, help, read)->group("Reply");
  };
  add("--system", "TEXT", "system message of the conversation", any_text(arguments.system));
  add("-n,--max-tokens", "N", "at most N tokens (default: to the end of the turn)",
      whole(generate.max_tokens, 0, kCountMax));
  add("--stop", "TEXT", "end the reply before TEXT; may be given several times",
      [&generate](const std::string& text) -> Result<void> {
        generate.stop.push_back(text);
        return {};
      })
      ->take_all();
  add("--temp", "T", "temperature; 0 takes the most likely token (default: 0.8)",
      real(sampling.temperature, 0, 1e9));
  add("--top-k", "K", "draw from the K best; 0: from all (default: 40)",
      whole(sampling.top_k, 0, kCountMax));
  add("--top-p", "P", "draw from the fewest best that sum to P (default: 0.95)",
      real(sampling.top_p, 0, 1));
  add("--min-p", "P", "draw from those with P times the best's chance (default: 0.05)",
      real(sampling.min_p, 0, 1));
  add("--repeat-penalty", "R", "lower recent tokens; 1: off (default: 1)",
      real(sampling.repeat_penalty, 1e-3, 1e3));
  add("--seed", "S", "repeats a reply (default: from the system)",
      [&sampling](const std::string& text) {
        return read_whole(text, 0, UINT64_MAX).map([&](uint64_t value) { sampling.seed = value; });
      });
}

CLI::Option* add_format(CLI::App& app, Arguments& arguments, const char* name, OutputFormat format,
                        const char* help) {
  return app
      .add_flag_callback(
          name, [&arguments, format] { arguments.format = format; }, help)
      ->group("Output");
}

void add_json(CLI::App& app, Arguments& arguments) {
  add_format(app, arguments, "--json", OutputFormat::json, "print one JSON document");
}

// A word that is no option. Whether it is there is checked after parsing.
void add_word(CLI::App& app, const char* name, const char* help,
              std::optional<std::string>& target) {
  add_value(app, name, "", help, any_text(target));
}

void add_run(CLI::App& app, Arguments& arguments) {
  add_value(app, "-p,--prompt", "TEXT", "prompt; - reads standard input",
            any_text(arguments.prompt))
      ->group("Prompt");
  add_value(app, "-f,--file", "FILE", "prompt from a file", name(arguments.prompt_file))
      ->group("Prompt");
  app.add_flag("--raw", arguments.raw, "continue the prompt as it is, without the chat template")
      ->group("Prompt");
  add_circuit(app, arguments);
  add_reply(app, arguments);
  add_json(app, arguments);
}

void add_chat(CLI::App& app, Arguments& arguments) {
  add_circuit(app, arguments);
  add_reply(app, arguments);
}

void add_tokenize(CLI::App& app, Arguments& arguments) {
  add_word(app, "TEXT", "text; - reads every byte of standard input", arguments.text);
  add_model(app, arguments);
  app.add_flag_callback(
      "--no-special", [&arguments] { arguments.tokenize.add_special = false; },
      "add no BOS or EOS");
  app.add_flag("--parse-special", arguments.tokenize.parse_special,
               "read control tokens in the text");
  add_json(app, arguments);
}

void add_detokenize(CLI::App& app, Arguments& arguments) {
  add_word(app, "IDS", "token ids, as 1,2,3 or \"1 2 3\"; - reads standard input", arguments.text);
  add_model(app, arguments);
  app.add_flag("--parse-special", arguments.tokenize.parse_special, "show control tokens");
  add_json(app, arguments);
}

void add_inspect(CLI::App& app, Arguments& arguments) {
  add_word(app, "MODEL", "GGUF file; of a split model any of its files", arguments.text);
  add_json(app, arguments);
}

void add_logits(CLI::App& app, Arguments& arguments) {
  add_value(app, "--tokens", "IDS", "token ids, such as 1,2,3", any_text(arguments.tokens));
  add_value(app, "--last", "N", "positions to report (default: 8)",
            whole(arguments.last, 1, kCountMax));
  add_value(app, "--top", "N", "best ids of each (default: 16)",
            whole(arguments.top, 1, kCountMax));
  add_circuit(app, arguments);
  add_json(app, arguments);
}

void add_perplexity(CLI::App& app, Arguments& arguments) {
  add_value(app, "-f,--file", "FILE", "text; - reads standard input", name(arguments.prompt_file));
  add_value(app, "-c,--window", "N", "tokens of a window (default: 512)",
            whole(arguments.window, 2, kCountMax));
  add_circuit(app, arguments);
  add_json(app, arguments);
}

void add_bench(CLI::App& app, Arguments& arguments) {
  BenchOptions& bench = arguments.bench;
  add_value(app, "-p,--prompt-tokens", "N", "prompt tokens; 0: no such test (default: 512)",
            whole(bench.prompt_tokens, 0, kCountMax));
  add_value(app, "-n,--max-tokens", "N", "reply tokens; 0: no such test (default: 128)",
            whole(bench.generated_tokens, 0, kCountMax));
  add_value(app, "-d,--depth", "N", "positions already in the cache (default: 0)",
            whole(bench.depth, 0, kCountMax));
  add_value(app, "-b,--batch", "N", "sequences that decode side by side (default: 1)",
            whole(bench.sequences, 1, kBenchSequencesMax));
  add_value(app, "-r,--repetitions", "N", "repetitions (default: 5)",
            whole(bench.repetitions, 1, 1000));
  add_circuit(app, arguments);
  add_json(app, arguments);
  add_format(app, arguments, "--csv", OutputFormat::csv, "print CSV");
  add_format(app, arguments, "--md", OutputFormat::markdown, "print a Markdown table");
}

void add_profile(CLI::App& app, Arguments& arguments) {
  ProfileOptions& profile = arguments.profile;
  add_value(app, "-n,--max-tokens", "N", "reply tokens (default: 32)",
            whole(profile.tokens, 0, kCountMax));
  add_value(app, "-p,--prompt-tokens", "N", "prompt tokens before them, profiled too (default: 0)",
            whole(profile.prompt_tokens, 0, kCountMax));
  add_value(app, "-d,--depth", "N", "positions already in the cache (default: 0)",
            whole(profile.depth, 0, kCountMax));
  add_value(app, "--every", "N", "record one step in N (default: 1)",
            whole(profile.every, 1, kCountMax));
  add_value(app, "--trace", "FILE", "write a trace for chrome://tracing or Perfetto",
            name(arguments.trace_file));
  add_circuit(app, arguments);
  add_json(app, arguments);
}

// What a command line lacks, as a sentence; empty: nothing.
std::string lacking(const Arguments& arguments) {
  switch (arguments.command) {
    case Command::run:
      if (arguments.prompt && arguments.prompt_file) return "-p and -f exclude each other.";
      if (arguments.prompt || arguments.prompt_file || ::isatty(STDIN_FILENO) != 1) return {};
      return "run needs a prompt: -p TEXT, -f FILE or a piped standard input.";
    case Command::tokenize:
      return arguments.text ? "" : "tokenize needs TEXT, or - for standard input.";
    case Command::detokenize:
      return arguments.text ? "" : "detokenize needs IDS, or - for standard input.";
    case Command::inspect:
      return arguments.text ? "" : "inspect needs the path of a GGUF file.";
    case Command::logits:
      return arguments.tokens ? "" : "logits needs --tokens IDS.";
    case Command::perplexity:
      return arguments.prompt_file ? "" : "perplexity needs -f FILE.";
    case Command::bench:
      return arguments.bench.prompt_tokens > 0 || arguments.bench.generated_tokens > 0
                 ? ""
                 : "bench with -p 0 and -n 0 has nothing to measure.";
    case Command::profile:
      return arguments.profile.prompt_tokens > 0 || arguments.profile.tokens > 0
                 ? ""
                 : "profile with -p 0 and -n 0 has nothing to record.";
    case Command::chat:
      break;
  }
  return {};
}

struct CommandEntry {
  Command command;
  const char* name;
  const char* description;
  const char* usage;
  const char* footer;
  void (*add)(CLI::App&, Arguments&);
};

constexpr CommandEntry kCommands[] = {
    {Command::run, "run", "One reply to a prompt, streamed", "-p TEXT | -f FILE [OPTIONS]",
     "Examples:\n"
     "  qualia run -p \"What is the capital of France?\"\n"
     "  qualia run -m model.gguf -f question.txt --temp 0 -n 200\n"
     "  echo \"Once upon a time\" | qualia run --raw -n 50 --json\n",
     add_run},
    {Command::chat, "chat", "A conversation, line by line", "[OPTIONS]",
     "Lines that start with a slash: /help, /reset, /system TEXT, /exit. Ctrl-C stops a reply.\n"
     "\nExample:\n  qualia chat --system \"Answer in one sentence.\"\n",
     add_chat},
    {Command::bench, "bench", "Speed of prompts and of replies", "[OPTIONS]",
     "Example:\n  qualia bench -m model.gguf -p 512 -n 128 -r 5 --md\n", add_bench},
    {Command::profile, "profile", "Where the time of a model goes, by phase and by op", "[OPTIONS]",
     "Reading clocks takes time: tokens per second are those of the profiled run (bench has an\n"
     "ordinary run's).\n"
     "\nExamples:\n  qualia profile -m model.gguf\n"
     "  qualia profile -m model.gguf -d 4096 --trace trace.json\n",
     add_profile},
    {Command::perplexity, "perplexity", "How well the model predicts a text", "-f FILE [OPTIONS]",
     "Example:\n  qualia perplexity -f book.txt -c 512 --json\n", add_perplexity},
    {Command::logits, "logits", "The best next tokens after given ones", "--tokens IDS [OPTIONS]",
     "Example:\n  qualia logits --tokens 1,2,3 --last 1 --top 5\n", add_logits},
    {Command::tokenize, "tokenize", "Text to token ids", "[OPTIONS] [--] TEXT|-",
     "Examples:\n  qualia tokenize \"Hello world\"\n  qualia tokenize --json - < text.txt\n",
     add_tokenize},
    {Command::detokenize, "detokenize", "Token ids to text", "[OPTIONS] [--] IDS|-",
     "Examples:\n  qualia detokenize 1,2,3\n  qualia tokenize Hello | qualia detokenize -\n",
     add_detokenize},
    {Command::inspect, "inspect", "Metadata and tensors of a GGUF file", "[OPTIONS] [--] MODEL",
     "Example:\n  qualia inspect model.gguf\n", add_inspect},
};

constexpr const char* kProgramFooter =
    "Examples:\n"
    "  qualia run -p \"What is the capital of France?\"\n"
    "  qualia chat -m model.gguf\n"
    "  qualia COMMAND --help\n"
    "\nEnvironment: QUALIA_CACHE_DIR, QUALIA_THREADS, QUALIA_LOG, QUALIA_WGPU_BACKEND (see man "
    "qualia).\n";

// The parser's own form tells types, ranges and "REQUIRED" beside names; here the text does.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { label("Positionals", "Words"); }
  std::string make_usage(const CLI::App* app, std::string) const override {
    for (const CommandEntry& entry : kCommands)
      if (app->get_name() == entry.name)
        return fmt::format("\nUsage: qualia {} {}\n", entry.name, entry.usage);
    return "\nUsage: qualia COMMAND [OPTIONS]\n";
  }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
    for (size_t at = 0; (at = help.find("\n\n\n", at)) != std::string::npos;) help.erase(at, 1);
    return help;
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_name().empty() ? "" : " " + option->get_type_name();
  }
};

// "qualia-cli llm <command>" is the older spelling of "qualia <command>".
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words.front() == "llm") words.erase(words.begin());
  // The parser takes them from the back.
  return {words.rbegin(), words.rend()};
}

void add_commands(CLI::App& app, Arguments& arguments) {
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", std::string(build_id()), "print version, commit and compiler");
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(kProgramFooter);
  app.allow_extras();
  app.require_subcommand(0, 1);
  for (const CommandEntry& entry : kCommands) {
    CLI::App* command = app.add_subcommand(entry.name, entry.description);
    command->group("Commands");
    command->get_help_ptr()->group("Output");
    command->footer(entry.footer);
    entry.add(*command, arguments);
    command
        ->add_flag("-v,--verbose", arguments.verbosity,
                   "say more on standard error; -vv: more still")
        ->group("Output");
    command->add_flag("-q,--quiet", arguments.quiet, "say only errors on standard error")
        ->group("Output");
  }
}

int usage_error(std::string_view sentence) {
  complain(sentence);
  return 2;
}

int report(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::CallForHelp*>(&error)) {
    print(app.help());
    return output_status();
  }
  if (dynamic_cast<const CLI::CallForVersion*>(&error)) {
    print(std::string(build_id()) + "\n");
    return output_status();
  }
  const std::string_view what = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error))
    return usage_error(fmt::format("{} needs a value.", what.substr(0, what.find(':'))));
  if (dynamic_cast<const CLI::ConversionError*>(&error)) {  // "Could not convert: --json = x"
    const std::string_view flag = what.substr(what.find(": ") + 2);
    return usage_error(fmt::format("{} takes no value.", flag.substr(0, flag.find(" = "))));
  }
  return usage_error(what);
}

std::string command_names() {
  std::string names;
  for (const CommandEntry& entry : kCommands)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
  return names;
}

// The first word that nothing takes, as a sentence; empty: there is none.
std::string unknown_word_in(const CLI::App& app, std::string_view command) {
  for (const std::string& word : app.remaining()) {
    if (word == "--") continue;
    if (word.size() > 1 && word.front() == '-')
      return command.empty() ? fmt::format("Option '{}' is unknown before a command.", word)
                             : fmt::format("Option '{}' is unknown to {}.", word, command);
    return command.empty() ? fmt::format("'{}' is no command ({}).", word, command_names())
                           : fmt::format("'{}' is one word more than {} takes.", word, command);
  }
  return {};
}

}  // namespace

std::variant<Arguments, int> parse(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Runs language models on the machine at hand, and says why it runs there.",
               "qualia");
  add_commands(app, arguments);
  try {
    app.parse(words_of(argc, argv));
  } catch (const CLI::ParseError& error) {
    return report(app, error);
  }
  std::string sentence = unknown_word_in(app, "");
  const CommandEntry* chosen = nullptr;
  for (const CommandEntry& entry : kCommands)
    if (app.got_subcommand(entry.name)) chosen = &entry;
  if (sentence.empty() && chosen) {
    arguments.command = chosen->command;
    sentence = unknown_word_in(*app.get_subcommand(chosen->name), chosen->name);
    if (sentence.empty()) sentence = lacking(arguments);
  }
  if (sentence.empty() && !chosen)
    sentence = fmt::format("A command is needed ({}).", command_names());
  if (!sentence.empty()) return usage_error(sentence);
  return arguments;
}

}  // namespace qualia::cli
