#include "tokenizer/word_splitter.h"

#include <utility>

#include "base/error.h"

namespace qualia::tokenizer {
namespace {

// Appends the matches in `text` and what lies between them.
void cut(const Regex& pattern, std::string_view text, Regex::Scratch& scratch,
         std::vector<std::string_view>& pieces) {
  size_t at = 0;
  while (at < text.size()) {
    const std::optional<ByteRange> match = pattern.find(text, at, scratch);
    const size_t gap_end = match ? match->begin : text.size();
    if (gap_end > at) pieces.push_back(text.substr(at, gap_end - at));
    if (!match) return;
    pieces.push_back(text.substr(match->begin, match->end - match->begin));
    at = match->end;
  }
}

}  // namespace

Result<WordSplitter> WordSplitter::create(std::span<const std::string_view> patterns) {
  std::vector<Regex> compiled;
  for (const std::string_view pattern : patterns) {
    QUALIA_ASSIGN(Regex regex, Regex::compile(pattern));
    compiled.push_back(std::move(regex));
  }
  return WordSplitter(std::move(compiled));
}

std::vector<std::string_view> WordSplitter::split(std::string_view text) const {
  Regex::Scratch scratch;
  std::vector<std::string_view> words = {text};
  std::vector<std::string_view> pieces;
  for (const Regex& pattern : patterns_) {
    pieces.clear();
    for (const std::string_view word : words) cut(pattern, word, scratch, pieces);
    std::swap(words, pieces);
  }
  return words;
}

}  // namespace qualia::tokenizer
