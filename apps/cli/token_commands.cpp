#include <charconv>

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
  if (arguments.text != "-") return arguments.text;
  return read_input("-");
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
  // The exact bytes and nothing else, so that tokenize and detokenize can be piped.
  print(arguments.format == OutputFormat::json ? to_json(*decoded) : *decoded);
  return 0;
}

int inspect_command(const Runtime&, const Arguments& arguments) {
  const auto report = inspect_file(arguments.text);
  if (!report) return fail(report.error());
  if (arguments.format == OutputFormat::json) {
    print(to_json(*report));
    return 0;
  }
  print("GGUF version " + std::to_string(report->version) + "\n");
  for (const auto& file : report->files) print(file.string() + "\n");
  print("\n" + std::to_string(report->metadata.size()) + " metadata entries\n");
  for (const MetadataEntry& entry : report->metadata)
    print("  " + entry.key + " (" + entry.type + ") = " + for_terminal(entry.value) + "\n");
  print("\n" + std::to_string(report->tensors.size()) + " tensors\n");
  for (const TensorEntry& tensor : report->tensors) {
    std::string shape;
    for (const uint64_t dim : tensor.shape)
      shape += (shape.empty() ? "" : " x ") + std::to_string(dim);
    print("  " + for_terminal(tensor.name) + "  " + tensor.type + "  " + shape + "  " +
          std::to_string(tensor.size_bytes) + " bytes at " + std::to_string(tensor.offset) + "\n");
  }
  return 0;
}

}  // namespace qualia::cli
