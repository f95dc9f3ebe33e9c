#include "model/vocabulary_reader.h"

#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/error.h"

namespace qualia::model {
namespace {

using tokenizer::TokenId;
using tokenizer::TokenType;
using tokenizer::Vocabulary;

constexpr std::string_view kPrefix = "tokenizer.ggml.";

std::string full_key(std::string_view name) { return std::string(kPrefix) + std::string(name); }

// The elements of an array of T; empty when the key is absent.
template <typename T>
Result<const std::vector<T>*> read_array(const gguf::File& file, std::string_view name) {
  QUALIA_ASSIGN(const gguf::Array* array, file.get_array(full_key(name)));
  if (!array) return nullptr;
  const auto* items = std::get_if<std::vector<T>>(&array->items);
  if (!items)
    return corrupt_file("Metadata '{}' is an array of another element type than expected.",
                        full_key(name));
  return items;
}

Result<std::vector<std::string>> read_strings(const gguf::File& file, std::string_view name) {
  QUALIA_ASSIGN(const std::vector<std::string_view>* items,
                read_array<std::string_view>(file, name));
  if (!items) return std::vector<std::string>{};
  return std::vector<std::string>(items->begin(), items->end());
}

Result<std::vector<TokenType>> read_types(const gguf::File& file) {
  std::vector<TokenType> types;
  QUALIA_ASSIGN(const std::vector<int32_t>* items, read_array<int32_t>(file, "token_type"));
  if (!items) return types;
  types.reserve(items->size());
  for (const int32_t number : *items) {
    if (number < 0 || number > 6)
      return corrupt_file("Metadata '{}' has the token type {} (allowed 0 to 6).",
                          full_key("token_type"), number);
    types.push_back(static_cast<TokenType>(number));
  }
  return types;
}

Result<std::optional<TokenId>> read_id(const gguf::File& file, std::string_view name,
                                       size_t vocabulary_size) {
  QUALIA_ASSIGN(const std::optional<uint64_t> id, file.get_uint(full_key(name)));
  if (!id) return std::optional<TokenId>{};
  if (*id >= vocabulary_size)
    return corrupt_file("Metadata '{}' is {} (the vocabulary has {} tokens).", full_key(name), *id,
                        vocabulary_size);
  return std::optional<TokenId>(static_cast<TokenId>(*id));
}

Result<std::string> read_text(const gguf::File& file, const std::string& key) {
  QUALIA_ASSIGN(const std::optional<std::string_view> text, file.get_string(key));
  return std::string(text.value_or(""));
}

}  // namespace

Result<std::optional<Vocabulary>> read_vocabulary(const gguf::File& file) {
  Vocabulary vocabulary;
  QUALIA_ASSIGN(vocabulary.model, read_text(file, full_key("model")));
  if (vocabulary.model.empty() || vocabulary.model == "none") return std::optional<Vocabulary>{};
  QUALIA_ASSIGN(vocabulary.pre, read_text(file, full_key("pre")));
  QUALIA_ASSIGN(vocabulary.tokens, read_strings(file, "tokens"));
  QUALIA_ASSIGN(vocabulary.merges, read_strings(file, "merges"));
  QUALIA_ASSIGN(vocabulary.types, read_types(file));
  QUALIA_ASSIGN(const std::vector<float>* scores, read_array<float>(file, "scores"));
  if (scores) vocabulary.scores = *scores;
  const size_t size = vocabulary.tokens.size();
  QUALIA_ASSIGN(vocabulary.bos, read_id(file, "bos_token_id", size));
  QUALIA_ASSIGN(vocabulary.eos, read_id(file, "eos_token_id", size));
  QUALIA_ASSIGN(vocabulary.eot, read_id(file, "eot_token_id", size));
  QUALIA_ASSIGN(vocabulary.unknown, read_id(file, "unknown_token_id", size));
  QUALIA_ASSIGN(vocabulary.padding, read_id(file, "padding_token_id", size));
  QUALIA_ASSIGN(vocabulary.add_bos, file.get_bool(full_key("add_bos_token")));
  QUALIA_ASSIGN(vocabulary.add_eos, file.get_bool(full_key("add_eos_token")));
  QUALIA_ASSIGN(vocabulary.add_space_prefix, file.get_bool(full_key("add_space_prefix")));
  QUALIA_ASSIGN(vocabulary.chat_template, read_text(file, "tokenizer.chat_template"));
  return std::optional<Vocabulary>(std::move(vocabulary));
}

}  // namespace qualia::model
