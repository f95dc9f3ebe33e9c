#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "tokenizer/bpe_encoder.h"
#include "tokenizer/byte_letters.h"
#include "tokenizer/byte_piece.h"
#include "tokenizer/control_names.h"

namespace qualia::tokenizer {
namespace {

struct ModelKind {
  std::string_view model;
  std::string_view name;
};

// Kinds of tokenizer that GGUF files name and this build lacks.
constexpr std::array kMissingKinds = {
    ModelKind{"llama", "SentencePiece"},
    ModelKind{"bert", "WordPiece"},
    ModelKind{"t5", "Unigram"},
    ModelKind{"rwkv", "RWKV"},
    ModelKind{"plamo2", "PLaMo-2"},
    ModelKind{"gemma4", "SentencePiece-like BPE"},
    ModelKind{"no_vocab", "no vocabulary"},
    ModelKind{"none", "no vocabulary"},
};

tl::unexpected<Error> unsupported_model(std::string_view model) {
  for (const ModelKind& kind : kMissingKinds) {
    if (kind.model == model) {
      return unsupported("Tokenizer model '{}' ({}) is not supported by this build.", model,
                         kind.name);
    }
  }
  return unsupported("Tokenizer model '{}' is unknown to this build.", model);
}

// What an id adds to text: raw text for added tokens, bytes in letters for the others.
std::string bytes_of_token(const std::string& piece, TokenType type) {
  if (type == TokenType::user_defined) return piece;
  if (type == TokenType::byte) {
    if (const std::optional<char> byte = byte_of_piece(piece)) return std::string(1, *byte);
    return piece;
  }
  return bytes_of_piece(piece);
}

}  // namespace

Result<std::unique_ptr<const Tokenizer>> Tokenizer::create(Vocabulary vocabulary) {
  QUALIA_TRY(check_vocabulary(vocabulary));
  if (vocabulary.model != "gpt2") return unsupported_model(vocabulary.model);
  std::unique_ptr<Tokenizer> tokenizer(new Tokenizer(std::move(vocabulary)));
  tokenizer->find_traits();
  QUALIA_TRY(tokenizer->build_byte_level_bpe());
  tokenizer->build_matcher();
  return tokenizer;
}

Tokenizer::Tokenizer(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

TokenType Tokenizer::type_of(size_t id) const {
  return vocabulary_.types.empty() ? TokenType::normal : vocabulary_.types[id];
}

void Tokenizer::find_traits() {
  traits_.resize(size());
  for (size_t id = 0; id < size(); ++id) {
    traits_[id].control = acts_as_control(vocabulary_.tokens[id], type_of(id));
  }
  // Where the file calls them added tokens, they are control tokens: user text must not make them.
  for (const std::optional<TokenId> id : {vocabulary_.bos, vocabulary_.eos, vocabulary_.eot}) {
    if (!id) continue;
    const auto index = static_cast<size_t>(*id);
    if (type_of(index) == TokenType::user_defined) traits_[index].control = true;
  }
  find_ends_of_generation();
}

void Tokenizer::find_ends_of_generation() {
  bool has_return = false;
  bool has_call = false;
  bool has_flush = false;
  for (size_t id = 0; id < size(); ++id) {
    if (!traits_[id].control) continue;
    const std::string& piece = vocabulary_.tokens[id];
    traits_[id].end_of_generation = names_end_of_generation(piece);
    has_return |= piece == "<|return|>";
    has_call |= piece == "<|call|>" || piece == "<|calls|>";
    has_flush |= piece == "<|flush|>";
  }
  // In vocabularies of this shape (Harmony's, for one), "<|end|>" closes a message within a turn.
  if (has_call && (has_return || has_flush)) {
    for (size_t id = 0; id < size(); ++id) {
      if (vocabulary_.tokens[id] == "<|end|>") traits_[id].end_of_generation = false;
    }
  }
  for (const std::optional<TokenId> id : {vocabulary_.eos, vocabulary_.eot}) {
    if (id) traits_[static_cast<size_t>(*id)].end_of_generation = true;
  }
}

Result<void> Tokenizer::build_byte_level_bpe() {
  QUALIA_ASSIGN(const BpeProfile profile, find_bpe_profile(vocabulary_.pre));
  piece_bytes_.resize(size());
  std::vector<std::string_view> encodable(size());
  for (size_t id = 0; id < size(); ++id) {
    if (traits_[id].control) continue;
    const std::string& piece = vocabulary_.tokens[id];
    piece_bytes_[id] = bytes_of_token(piece, type_of(id));
    // An added token such as "ö" is raw text, though it looks like the letter of one byte.
    if (bytes_of_letters(piece) == piece_bytes_[id]) encodable[id] = piece_bytes_[id];
  }
  QUALIA_ASSIGN(encoder_, BpeEncoder::create(profile, encodable, vocabulary_.merges));

  add_bos_ = vocabulary_.add_bos.value_or(profile.add_bos);
  add_eos_ = vocabulary_.add_eos.value_or(false);
  if (add_bos_ && !vocabulary_.bos) {
    log(LogLevel::warn, "Vocabulary asks for a BOS token at the start and names none.");
    add_bos_ = false;
  }
  if (add_eos_ && !vocabulary_.eos) {
    log(LogLevel::warn, "Vocabulary asks for an EOS token at the end and names none.");
    add_eos_ = false;
  }
  return {};
}

void Tokenizer::build_matcher() {
  std::vector<AddedToken> added;
  for (size_t id = 0; id < size(); ++id) {
    const bool control = traits_[id].control;
    if (!control && type_of(id) != TokenType::user_defined) continue;
    added.push_back({vocabulary_.tokens[id], static_cast<TokenId>(id), control});
  }
  matcher_ = std::make_unique<const AddedTokenMatcher>(std::move(added));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, AddSpecial add_special,
                                       ControlText control_text,
                                       std::span<const ByteRange> untrusted) const {
  std::vector<TokenId> ids;
  if (add_special == AddSpecial::yes && add_bos_) ids.push_back(*vocabulary_.bos);
  size_t plain_begin = 0;
  size_t next_untrusted = 0;
  for (size_t at = 0; at < text.size();) {
    if (!matcher_->may_begin_with(text[at])) {
      ++at;
      continue;
    }
    // How far a control token that begins here may reach: not into what came from a user.
    size_t control_end = control_text == ControlText::parse ? text.size() : 0;
    while (next_untrusted < untrusted.size() && untrusted[next_untrusted].end <= at) {
      ++next_untrusted;
    }
    if (next_untrusted < untrusted.size()) {
      control_end = std::min(control_end, untrusted[next_untrusted].begin);
    }
    const std::optional<AddedToken> token = matcher_->longest_at(text, at, control_end);
    if (!token) {
      ++at;
      continue;
    }
    encoder_->encode(text.substr(plain_begin, at - plain_begin), ids);
    ids.push_back(token->id);
    at += token->piece.size();
    plain_begin = at;
  }
  encoder_->encode(text.substr(plain_begin), ids);
  if (add_special == AddSpecial::yes && add_eos_) ids.push_back(*vocabulary_.eos);
  return ids;
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids,
                                      ControlText control_text) const {
  std::string bytes;
  for (const TokenId id : ids) {
    if (id < 0 || static_cast<size_t>(id) >= size()) {
      return invalid_argument("Token id {} is outside the vocabulary ({} tokens).", id, size());
    }
    if (is_control(id)) {
      if (control_text == ControlText::parse) bytes += vocabulary_.tokens[static_cast<size_t>(id)];
    } else {
      bytes += piece_bytes(id);
    }
  }
  return bytes;
}

std::string_view Tokenizer::piece_bytes(TokenId id) const {
  return piece_bytes_[static_cast<size_t>(id)];
}

bool Tokenizer::is_control(TokenId id) const { return traits_[static_cast<size_t>(id)].control; }

bool Tokenizer::is_end_of_generation(TokenId id) const {
  return traits_[static_cast<size_t>(id)].end_of_generation;
}

}  // namespace qualia::tokenizer
