// Cuts text into the words that merging works on, by the patterns of a BpeProfile.
// Thread-safety: immutable; split may run in parallel.
// Errors: internal (a pattern that fails to compile).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "qualia/result.h"
#include "tokenizer/regex.h"

namespace qualia::tokenizer {

class WordSplitter {
 public:
  static Result<WordSplitter> create(std::span<const std::string_view> patterns);

  // The words in order; together they are the whole text. REQUIRES: text is valid UTF-8.
  std::vector<std::string_view> split(std::string_view text) const;

 private:
  explicit WordSplitter(std::vector<Regex> patterns) : patterns_(std::move(patterns)) {}
  std::vector<Regex> patterns_;
};

}  // namespace qualia::tokenizer
