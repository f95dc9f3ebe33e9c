// Text <-> token ids, built from a Vocabulary.
// Thread-safety: immutable after create(); encode and decode may run in parallel.
// Errors: corrupt_file (a vocabulary that contradicts itself), unsupported (a tokenizer model or
// pre-tokenizer this build lacks, named), invalid_argument (an id out of range).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qualia/result.h"
#include "tokenizer/added_token_matcher.h"
#include "base/byte_range.h"
#include "tokenizer/plain_encoder.h"
#include "tokenizer/vocabulary.h"

namespace qualia::tokenizer {

enum class AddSpecial { no, yes };        // BOS / EOS as the vocabulary asks
enum class ControlText { plain, parse };  // whether "<|im_start|>" in the text is a control token

class Tokenizer {
 public:
  static Result<std::unique_ptr<const Tokenizer>> create(Vocabulary vocabulary);
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  ~Tokenizer() = default;

  // Any bytes are accepted. Byte-level BPE keeps bytes that are not UTF-8 as they are, where the
  // vocabulary has tokens for them, and reads them as U+FFFD where it has none (bpe_encoder.h).
  // Added tokens are found from left to right, the longest at each place. Control tokens (with
  // ControlText::parse) match only outside `untrusted`, the sorted, disjoint ranges of `text` that
  // came from a user: text there is always plain, yet merges with its neighbours as it would in
  // plain text. User-defined (non-control) added tokens match everywhere.
  std::vector<TokenId> encode(std::string_view text, AddSpecial add_special,
                              ControlText control_text,
                              std::span<const ByteRange> untrusted = {}) const;

  // The exact bytes of the ids; control tokens give no text with ControlText::plain and their piece
  // with ControlText::parse. Errors: invalid_argument for an id outside the vocabulary.
  Result<std::string> decode(std::span<const TokenId> ids, ControlText control_text) const;

  // The bytes one id adds after earlier text (may be part of a UTF-8 character); none for a control
  // token, whose text is vocabulary().tokens[id].
  // REQUIRES: 0 <= id < size().
  std::string_view piece_bytes(TokenId id) const;

  size_t size() const { return vocabulary_.tokens.size(); }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  // Control and unknown tokens by the file's types, and control pieces known by name that a file
  // marks otherwise (control_names.h).
  bool is_control(TokenId id) const;
  // Ends a turn: EOS, EOT and the end-of-turn control pieces known by name ("<|im_end|>", ...).
  bool is_end_of_generation(TokenId id) const;

 private:
  struct Traits {
    bool control = false;
    bool end_of_generation = false;
  };

  explicit Tokenizer(Vocabulary vocabulary);
  TokenType type_of(size_t id) const;
  void find_traits();
  void find_ends_of_generation();
  Result<void> build_byte_level_bpe();
  void build_matcher();

  Vocabulary vocabulary_;
  std::vector<Traits> traits_;            // by id
  std::vector<std::string> piece_bytes_;  // by id
  std::unique_ptr<const AddedTokenMatcher> matcher_;
  std::unique_ptr<const PlainEncoder> encoder_;
  bool add_bos_ = false;
  bool add_eos_ = false;
};

}  // namespace qualia::tokenizer
