#include <fmt/format.h>

#include "commands.h"
#include "json.h"
#include "model_source.h"
#include "output.h"
#include "token_list.h"

namespace qualia::cli {
namespace {

Result<Tokenizer> open_tokenizer(const Runtime& runtime, const Arguments& arguments) {
  const auto path = model_path(runtime, arguments);
  if (!path) return tl::unexpected(path.error());
  return Tokenizer::open(*path);
}

Result<std::string> read_text(const Arguments& arguments) {
  if (*arguments.text != "-") return *arguments.text;
  return read_input("-");
}

// One line an entry, whatever bytes a file has in its texts.
std::string inspect_text(const FileReport& report) {
  std::string text = fmt::format("GGUF version {}\n", report.version);
  for (const auto& file : report.files) text += one_line(file.string()) + "\n";
  text += fmt::format("\n{} metadata entries\n", report.metadata.size());
  for (const MetadataEntry& entry : report.metadata)
    text += fmt::format("  {} ({}) = {}\n", one_line(entry.key), entry.type, one_line(entry.value));
  text += fmt::format("\n{} tensors\n", report.tensors.size());
  for (const TensorEntry& tensor : report.tensors)
    text += fmt::format("  {}  {}  {}  {} bytes at {}\n", one_line(tensor.name), tensor.type,
                        fmt::join(tensor.shape, " x "), tensor.size_bytes, tensor.offset);
  return text;
}

}  // namespace

int tokenize_command(const Runtime& runtime, const Arguments& arguments) {
  const auto text = read_text(arguments);
  if (!text) return fail(text.error());
  const auto tokenizer = open_tokenizer(runtime, arguments);
  if (!tokenizer) return fail(tokenizer.error());
  const std::vector<TokenId> ids = tokenizer->encode(*text, arguments.tokenize);
  if (arguments.format == OutputFormat::json) {
    print(to_json(ids));
    return 0;
  }
  std::string line;
  for (const TokenId id : ids) line += (line.empty() ? "" : " ") + std::to_string(id);
  print(line + "\n");
  return 0;
}

int detokenize_command(const Runtime& runtime, const Arguments& arguments) {
  const auto text = read_text(arguments);
  if (!text) return fail(text.error());
  const auto ids = parse_tokens(*text);
  if (!ids) return fail(ids.error());
  const auto tokenizer = open_tokenizer(runtime, arguments);
  if (!tokenizer) return fail(tokenizer.error());
  const auto decoded = tokenizer->decode(*ids, arguments.tokenize.parse_special);
  if (!decoded) return fail(decoded.error());
  // Into a pipe or file the exact bytes and nothing else.
  print(arguments.format == OutputFormat::json ? to_json(*decoded) : for_terminal(*decoded));
  return 0;
}

int inspect_command(const Runtime&, const Arguments& arguments) {
  const auto report = inspect_file(*arguments.text);
  if (!report) return fail(report.error());
  print(arguments.format == OutputFormat::json ? to_json(*report) : inspect_text(*report));
  return 0;
}

}  // namespace qualia::cli
