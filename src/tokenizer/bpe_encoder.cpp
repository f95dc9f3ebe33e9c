#include "tokenizer/bpe_encoder.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "tokenizer/utf8.h"

namespace qualia::tokenizer {

namespace {

// Text that patterns can't see as it is: `shown` is what they see, `spelled` the bytes to encode.
// The two differ only where `edits` says. Words come in order, so a cursor keeps their offset.
struct OddText {
  struct Edit {
    size_t shown_end;  // behind an invalid part that is shown as U+FFFD
    size_t saved;      // how many bytes shorter than U+FFFD its spelling is
  };

  std::string shown;
  std::string spelled;
  std::vector<Edit> edits;
  size_t next_edit = 0;
  size_t shown_at = 0;
  size_t spelled_at = 0;

  void append(std::string_view shown_part, std::string_view spelled_part) {
    shown.append(shown_part);
    spelled.append(spelled_part);
    if (spelled_part.size() < shown_part.size()) {
      edits.push_back({shown.size(), shown_part.size() - spelled_part.size()});
    }
  }

  // The bytes behind the next `shown_size` bytes of the shown text.
  std::string_view take(size_t shown_size) {
    const size_t begin = spelled_at;
    shown_at += shown_size;
    spelled_at += shown_size;
    for (; next_edit < edits.size() && edits[next_edit].shown_end <= shown_at; ++next_edit) {
      spelled_at -= edits[next_edit].saved;
    }
    return std::string_view(spelled).substr(begin, spelled_at - begin);
  }
};

}  // namespace

Result<std::unique_ptr<const BpeEncoder>> BpeEncoder::create(
    const BpeProfile& profile, std::span<const std::string_view> token_bytes,
    std::span<const std::string> merges) {
  QUALIA_ASSIGN(WordSplitter splitter, WordSplitter::create(profile.patterns));
  QUALIA_ASSIGN(BpeMerger merger, BpeMerger::create(token_bytes, merges));
  return std::unique_ptr<const BpeEncoder>(
      new BpeEncoder(std::move(splitter), std::move(merger), profile.ignore_merges));
}

BpeEncoder::BpeEncoder(WordSplitter splitter, BpeMerger merger, bool ignore_merges)
    : splitter_(std::move(splitter)), merger_(std::move(merger)), ignore_merges_(ignore_merges) {
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
  if (!can_spell(text) || !is_valid_utf8(text)) {
    encode_odd_text(text, ids);
    return;
  }
  BpeMerger::Scratch scratch;
  for (const std::string_view word : splitter_.split(text)) encode_word(word, scratch, ids);
}

void BpeEncoder::encode_odd_text(std::string_view text, std::vector<TokenId>& ids) const {
  OddText odd;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    const std::string_view part = text.substr(at, step.size);
    const std::string_view spelling = can_spell(part) ? part : kReplacementCharacter;
    odd.append(step.valid ? spelling : kReplacementCharacter, spelling);
    at += step.size;
  }
  BpeMerger::Scratch scratch;
  for (const std::string_view word : splitter_.split(odd.shown)) {
    encode_word(odd.take(word.size()), scratch, ids);
  }
}

void BpeEncoder::encode_word(std::string_view word, BpeMerger::Scratch& scratch,
                             std::vector<TokenId>& ids) const {
  if (ignore_merges_) {
    if (const std::optional<TokenId> id = merger_.whole(word)) {
      ids.push_back(*id);
      return;
    }
  }
  merger_.encode(word, scratch, ids);
}

}  // namespace qualia::tokenizer
