#include "tokenizer/bpe_encoder.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "tokenizer/utf8.h"

namespace qualia::tokenizer {

// One call of encode. `shown` is the text as the patterns see it, `spelled` the bytes to encode.
// The two differ only where `edits` says: words come in order, so a cursor keeps their offset.
struct BpeEncoder::Work {
  struct Edit {
    size_t shown_end;  // behind an invalid part that is shown as U+FFFD
    size_t saved;      // how many bytes shorter than U+FFFD its spelling is
  };

  std::vector<TokenId>* ids = nullptr;
  std::string_view spelled;
  std::vector<Edit> edits;
  size_t next_edit = 0;
  size_t shown_at = 0;
  size_t spelled_at = 0;
  Regex::Scratch search;
  BpeMerger::Scratch merge;

  // The bytes behind the next `shown_size` bytes of the shown text.
  std::string_view take(size_t shown_size) {
    const size_t begin = spelled_at;
    shown_at += shown_size;
    spelled_at += shown_size;
    for (; next_edit < edits.size() && edits[next_edit].shown_end <= shown_at; ++next_edit) {
      spelled_at -= edits[next_edit].saved;
    }
    return spelled.substr(begin, spelled_at - begin);
  }
};

Result<std::unique_ptr<const BpeEncoder>> BpeEncoder::create(
    const BpeProfile& profile, std::span<const std::string_view> token_bytes,
    std::span<const std::string> merges) {
  std::vector<Regex> patterns;
  for (const std::string_view pattern : profile.patterns) {
    QUALIA_ASSIGN(Regex regex, Regex::compile(pattern));
    patterns.push_back(std::move(regex));
  }
  QUALIA_ASSIGN(BpeMerger merger, BpeMerger::create(token_bytes, merges));
  return std::unique_ptr<const BpeEncoder>(
      new BpeEncoder(std::move(patterns), std::move(merger), profile.ignore_merges));
}

BpeEncoder::BpeEncoder(std::vector<Regex> patterns, BpeMerger merger, bool ignore_merges)
    : patterns_(std::move(patterns)), merger_(std::move(merger)), ignore_merges_(ignore_merges) {
  size_t missing = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!merger_.has_byte(static_cast<uint8_t>(byte))) ++missing;
  }
  has_all_bytes_ = missing == 0;
  if (missing != 0) log(LogLevel::debug, "Vocabulary has no token for {} of 256 bytes.", missing);
}

bool BpeEncoder::can_spell(std::string_view bytes) const {
  return has_all_bytes_ || std::all_of(bytes.begin(), bytes.end(), [&](char byte) {
           return merger_.has_byte(static_cast<uint8_t>(byte));
         });
}

void BpeEncoder::encode(std::string_view text, std::vector<TokenId>& ids) const {
  if (text.empty()) return;
  Work work;
  work.ids = &ids;
  if (can_spell(text) && is_valid_utf8(text)) {
    work.spelled = text;
    split(text, 0, work);
    return;
  }
  std::string shown;
  std::string spelled;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    const std::string_view part = text.substr(at, step.size);
    const std::string_view spelling = can_spell(part) ? part : kReplacementCharacter;
    shown.append(step.valid ? spelling : kReplacementCharacter);
    spelled.append(spelling);
    if (!step.valid && spelling.size() < kReplacementCharacter.size()) {
      work.edits.push_back({shown.size(), kReplacementCharacter.size() - spelling.size()});
    }
    at += step.size;
  }
  work.spelled = spelled;
  split(shown, 0, work);
}

// Cuts by one pattern and hands the pieces, the gaps between matches included, to the next.
void BpeEncoder::split(std::string_view text, size_t pattern_index, Work& work) const {
  if (pattern_index == patterns_.size()) {
    encode_word(text, work);
    return;
  }
  size_t at = 0;
  while (at < text.size()) {
    const std::optional<ByteRange> match = patterns_[pattern_index].find(text, at, work.search);
    const size_t gap_end = match ? match->begin : text.size();
    if (gap_end > at) split(text.substr(at, gap_end - at), pattern_index + 1, work);
    if (!match) return;
    split(text.substr(match->begin, match->end - match->begin), pattern_index + 1, work);
    at = match->end;
  }
}

void BpeEncoder::encode_word(std::string_view shown, Work& work) const {
  const std::string_view word = work.take(shown.size());
  if (ignore_merges_) {
    if (const std::optional<TokenId> id = merger_.whole(word)) {
      work.ids->push_back(*id);
      return;
    }
  }
  merger_.encode(word, work.merge, *work.ids);
}

}  // namespace qualia::tokenizer
