#include "qualia/tokenizer.h"

#include "api/file_error.h"
#include "api/tokenizer_state.h"
#include "base/error.h"
#include "model/vocabulary_reader.h"

namespace qualia {

Result<Tokenizer> Tokenizer::open(const std::filesystem::path& path) {
  QUALIA_ASSIGN(const gguf::File file, gguf::File::open(path));
  auto tokenizer = api::read_tokenizer(file);
  if (!tokenizer) return api::in_file(path, std::move(tokenizer).error());
  return tokenizer;
}

std::vector<TokenId> Tokenizer::encode(std::string_view text,
                                       const TokenizeOptions& options) const {
  return state_->tokenizer->encode(
      text, options.add_special ? tokenizer::AddSpecial::yes : tokenizer::AddSpecial::no,
      options.parse_special ? tokenizer::ControlText::parse : tokenizer::ControlText::plain);
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, bool with_special) const {
  return state_->tokenizer->decode(
      ids, with_special ? tokenizer::ControlText::parse : tokenizer::ControlText::plain);
}

size_t Tokenizer::vocabulary_size() const { return state_->tokenizer->size(); }

namespace api {

Result<Tokenizer> read_tokenizer(const gguf::File& file) {
  QUALIA_ASSIGN(std::optional<tokenizer::Vocabulary> vocabulary, model::read_vocabulary(file));
  if (!vocabulary) return not_found("The file has no tokenizer.");
  auto state = std::make_shared<Tokenizer::State>();
  QUALIA_ASSIGN(state->tokenizer, tokenizer::Tokenizer::create(std::move(*vocabulary)));
  return Tokenizer(std::move(state));
}

}  // namespace api
}  // namespace qualia
