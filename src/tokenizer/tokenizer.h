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
#include "tokenizer/vocabulary.h"

namespace qualia::tokenizer {

enum class AddSpecial { no, yes };       // BOS / EOS as the vocabulary asks
enum class ControlText { plain, parse };  // whether "<|im_start|>" in the text is a control token

// A half-open byte range.
struct ByteRange {
  size_t begin = 0;
  size_t end = 0;
};

class Tokenizer {
 public:
  static Result<std::unique_ptr<const Tokenizer>> create(Vocabulary vocabulary);
  virtual ~Tokenizer() = default;

  // Any bytes are accepted; see the implementation for what invalid UTF-8 becomes.
  // Control tokens (with ControlText::parse) match only outside `untrusted`, the sorted, disjoint
  // ranges of `text` that came from a user: text there is always plain, yet merges with its
  // neighbours as it would in plain text. User-defined (non-control) added tokens match everywhere.
  std::vector<TokenId> encode(std::string_view text, AddSpecial add_special, ControlText control_text,
                              std::span<const ByteRange> untrusted = {}) const;

  // The exact bytes of the ids; control tokens give no text with ControlText::plain and their piece
  // with ControlText::parse. Errors: invalid_argument for an id outside the vocabulary.
  Result<std::string> decode(std::span<const TokenId> ids, ControlText control_text) const;

  // The bytes one id adds after earlier text (may be part of a UTF-8 character).
  // REQUIRES: 0 <= id < size().
  std::string_view piece_bytes(TokenId id) const;

  size_t size() const;
  const Vocabulary& vocabulary() const;
  bool is_control(TokenId id) const;
  // Ends a turn: EOS, EOT and the end-of-turn control pieces known by name ("<|im_end|>", ...).
  bool is_end_of_generation(TokenId id) const;

 protected:
  Tokenizer() = default;
};

}  // namespace qualia::tokenizer
