#include <fmt/core.h>

#include "commands.h"
#include "interrupt.h"
#include "json.h"
#include "model_source.h"
#include "option_values.h"
#include "output.h"
#include "progress.h"
#include "token_list.h"

namespace qualia::cli {
namespace {

bool cancelled() { return stop_requested().load(); }

// In force: what was asked for, or what the lane chose.
std::string_view precision_word(const Model& model) {
  return word_of(model.info().precision, kPrecisions);
}
std::string_view kv_word(const Model& model) { return word_of(model.info().kv, kKvTypes); }

std::string bench_table(const std::vector<BenchRow>& rows, const Model& model) {
  std::string table =
      "| test | circuit | precision | kv | tok/s (median) | min | max | MB/token | GB/s | share of "
      "bandwidth |\n"
      "|---|---|---|---|---:|---:|---:|---:|---:|---:|\n";
  for (const BenchRow& row : rows)
    table += fmt::format(
        "| {} | {} | {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {} |\n", row.test,
        model.path().winning_circuit, precision_word(model), kv_word(model), row.tok_s_median,
        row.tok_s_min, row.tok_s_max, static_cast<double>(row.bytes_per_token) / 1e6, row.gb_per_s,
        row.ceiling_share ? fmt::format("{:.1f} %", *row.ceiling_share * 100) : "n/a");
  return table;
}

std::string bench_csv(const std::vector<BenchRow>& rows, const Model& model) {
  std::string csv =
      "test,lane,device,backend,precision,kv,tok_s_median,tok_s_min,tok_s_max,runs,bytes_per_token,"
      "gb_per_s,"
      "ceiling_share\n";
  for (const BenchRow& row : rows)
    csv += fmt::format("{},{},\"{}\",{},{},{},{},{},{},{},{},{},{}\n", row.test, model.path().lane,
                       model.path().device, model.path().backend, precision_word(model),
                       kv_word(model), row.tok_s_median, row.tok_s_min, row.tok_s_max, row.runs,
                       row.bytes_per_token, row.gb_per_s,
                       row.ceiling_share ? fmt::format("{}", *row.ceiling_share) : "");
  return csv;
}

// Where a profiled bench's time went, as a line; empty where it was not to be profiled.
std::string phases_line(const BenchRow& row) {
  if (!row.profile_lacks.empty()) return fmt::format("  phases n/a: {}\n", row.profile_lacks);
  if (!row.profile) return {};
  std::string line = "  phases (the speed is perturbed by reading clocks):";
  for (const ProfilePhase& phase : row.profile->phases)
    line += fmt::format(" {} {}", to_string(phase.phase),
                        phase.share ? fmt::format("{:.1f} %", *phase.share * 100) : "n/a");
  return line + "\n";
}

std::string bench_text(const std::vector<BenchRow>& rows, const Model& model) {
  std::string text = fmt::format("{} (precision {}, kv {})\n", model.path().winning_circuit,
                                 precision_word(model), kv_word(model));
  for (const BenchRow& row : rows) {
    text += fmt::format(
        "{:<16} {:9.2f} tok/s  ({:.2f} to {:.2f}, {} runs)  {:.2f} GB/s, {} of the read "
        "bandwidth\n",
        row.test, row.tok_s_median, row.tok_s_min, row.tok_s_max, row.runs, row.gb_per_s,
        row.ceiling_share ? fmt::format("{:.1f} %", *row.ceiling_share * 100) : "n/a");
    text += phases_line(row);
  }
  return text;
}

std::string bench_report(const std::vector<BenchRow>& rows, const Model& model,
                         OutputFormat format) {
  switch (format) {
    case OutputFormat::json:
      return to_json(rows, model);
    case OutputFormat::csv:
      return bench_csv(rows, model);
    case OutputFormat::markdown:
      return bench_table(rows, model);
    case OutputFormat::text:
      break;
  }
  return bench_text(rows, model);
}

}  // namespace

int logits_command(const Runtime& runtime, const Arguments& arguments) {
  const auto tokens = parse_tokens(*arguments.tokens);
  if (!tokens) return fail(tokens.error());
  const auto loaded = load_model(runtime, arguments);
  if (!loaded) return fail(loaded.error());
  const auto positions = loaded->model.logits(*tokens, arguments.last, arguments.top);
  if (!positions) return fail(positions.error());
  if (arguments.format == OutputFormat::json) {
    print(to_json(*positions));
    return 0;
  }
  for (const PositionLogits& position : *positions) {
    print(fmt::format("position {}  logsumexp {:.5f}\n", position.position, position.logsumexp));
    for (size_t i = 0; i < position.top_ids.size(); ++i)
      print(fmt::format("  {:>8}  {:.5f}\n", position.top_ids[i], position.top_logits[i]));
  }
  return 0;
}

int perplexity_command(const Runtime& runtime, const Arguments& arguments) {
  const auto text = read_input(*arguments.prompt_file);
  if (!text) return fail(text.error());
  const auto loaded = load_model(runtime, arguments);
  if (!loaded) return fail(loaded.error());
  const auto report = [&] {
    ProgressBar bar("Perplexity", arguments.quiet);
    return loaded->model.perplexity(*text, arguments.window, bar.hook(), cancelled);
  }();
  if (!report) return fail(report.error());
  if (arguments.format == OutputFormat::json) {
    print(to_json(*report));
    return 0;
  }
  print(fmt::format("perplexity {:.6f}  mean nll {:.6f}  ({} tokens in {} windows of {})\n",
                    report->perplexity, report->mean_nll, report->tokens, report->windows,
                    arguments.window));
  return 0;
}

int bench_command(const Runtime& runtime, const Arguments& arguments) {
  const auto loaded = load_model(runtime, arguments);
  if (!loaded) return fail(loaded.error());
  const auto rows = [&] {
    ProgressBar bar("Bench", arguments.quiet);
    return loaded->model.bench(arguments.bench, bar.hook(), cancelled);
  }();
  if (!rows) return fail(rows.error());
  print(bench_report(*rows, loaded->model, arguments.format));
  return 0;
}

}  // namespace qualia::cli
