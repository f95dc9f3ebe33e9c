// The merging half of byte-level BPE: bytes of one word -> token ids.
// Thread-safety: immutable after create(); each thread brings its own Scratch.
// A symbol is a string of bytes that merging can reach. Symbols below the vocabulary's size are its
// tokens; behind them come the strings that merges name but the vocabulary lacks. Such a string may
// still merge on; left over at the end it is written byte by byte.
// Cost: O(n log n) in the length of a word.
// Errors: corrupt_file for a merge that is not two pieces.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "qualia/result.h"
#include "tokenizer/vocabulary.h"

namespace qualia::tokenizer {

class BpeMerger {
 public:
  struct Link {
    uint32_t symbol;
    uint32_t previous;
    uint32_t next;
  };
  struct Candidate {
    uint32_t rank;
    uint32_t left;        // index of the left link
    uint32_t symbols[2];  // what the pair was when it was found
  };
  struct Scratch {
    std::vector<Link> links;
    std::vector<Candidate> heap;
  };

  // token_bytes: by id, what each token that plain text may become stands for; empty for the
  // others. The bytes viewed must outlive the merger. Where two tokens stand for the same bytes,
  // the lower id is used.
  static Result<BpeMerger> create(std::span<const std::string_view> token_bytes,
                                  std::span<const std::string> merges);

  // Whether the byte alone can be written as a token.
  bool has_byte(uint8_t byte) const { return byte_token_[byte].has_value(); }

  // The token that stands for exactly these bytes.
  std::optional<TokenId> whole(std::string_view bytes) const;

  // Appends the tokens of one word. Bytes without a token are left out.
  void encode(std::string_view word, Scratch& scratch, std::vector<TokenId>& ids) const;

 private:
  struct Merge {
    uint64_t pair = kNoPair;
    uint32_t rank = 0;
    uint32_t symbol = 0;
  };
  static constexpr uint64_t kNoPair = ~uint64_t{0};

  BpeMerger() = default;
  Result<void> add_merges(std::span<const std::string> merges);
  uint32_t symbol_of(std::string bytes);
  void insert(const Merge& merge);
  const Merge* find(uint32_t left, uint32_t right) const;
  void push_candidate(uint32_t left, Scratch& scratch) const;
  void encode_slice(std::string_view word, Scratch& scratch, std::vector<TokenId>& ids) const;
  void append(uint32_t symbol, std::vector<TokenId>& ids) const;

  size_t token_count_ = 0;
  std::unordered_map<std::string_view, uint32_t> symbols_;
  std::vector<std::unique_ptr<const std::string>>
      extra_;  // symbol token_count_ + i; addresses kept
  std::array<uint32_t, 256> byte_symbol_{};
  std::array<std::optional<TokenId>, 256> byte_token_;
  std::vector<Merge> table_;  // open addressing, size a power of two, at most half full
};

}  // namespace qualia::tokenizer
