// Byte-level BPE: text is cut into words by the patterns of its profile, each word is merged.
// Thread-safety: immutable; encode may run in parallel.
//
// Bytes that are not UTF-8: patterns see each maximal invalid part as U+FFFD, but the bytes
// themselves are encoded, so that decoding gives them back.
// What the vocabulary can't spell (some lack the letters of bytes that were rare in training): a
// character with such a byte, or such an invalid part, is encoded as U+FFFD.
// Errors: corrupt_file (a malformed merge), internal (a pattern that fails to compile).
#pragma once

#include <memory>
#include <span>
#include <string>

#include "qualia/result.h"
#include "tokenizer/bpe_merger.h"
#include "tokenizer/bpe_patterns.h"
#include "tokenizer/plain_encoder.h"
#include "tokenizer/word_splitter.h"

namespace qualia::tokenizer {

class BpeEncoder final : public PlainEncoder {
 public:
  // token_bytes as for BpeMerger::create: the bytes viewed must outlive the encoder.
  static Result<std::unique_ptr<const BpeEncoder>> create(
      const BpeProfile& profile, std::span<const std::string_view> token_bytes,
      std::span<const std::string> merges);

  void encode(std::string_view text, std::vector<TokenId>& ids) const override;

 private:
  BpeEncoder(WordSplitter splitter, BpeMerger merger, bool ignore_merges);

  bool can_spell(std::string_view bytes) const;
  void encode_odd_text(std::string_view text, std::vector<TokenId>& ids) const;
  void encode_word(std::string_view word, BpeMerger::Scratch& scratch,
                   std::vector<TokenId>& ids) const;

  WordSplitter splitter_;
  BpeMerger merger_;
  bool ignore_merges_;
  bool has_all_bytes_ = true;
};

}  // namespace qualia::tokenizer
