#include "tokenizer/regex.h"

#include <array>
#include <string>

#include "base/error.h"
#include "tokenizer/utf8.h"

namespace qualia::tokenizer {
namespace {

// Unicode 15, PropList.txt, White_Space, as the inside of a character class.
constexpr std::string_view kWhiteSpace =
    R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

// Our patterns match by alternatives over single-character classes and need a handful of steps per
// character class; the limits only stop a pattern that runs away.
constexpr uint32_t kMatchLimit = 10'000'000;
constexpr uint32_t kHeapLimitKib = 64 * 1024;

std::string expand_white_space(std::string_view pattern) {
  std::string expanded;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c != '\\' || i + 1 == pattern.size()) {
      if (c == '[') in_class = true;
      if (c == ']') in_class = false;
      expanded.push_back(c);
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's' && in_class) {
      expanded.append(kWhiteSpace);
    } else if (escaped == 's' || escaped == 'S') {
      expanded.append(escaped == 's' ? "[" : "[^").append(kWhiteSpace).push_back(']');
    } else {
      expanded.push_back(c);
      expanded.push_back(escaped);
    }
  }
  return expanded;
}

}  // namespace

Regex::Scratch::Scratch()
    : data_(pcre2_match_data_create(1, nullptr)), context_(pcre2_match_context_create(nullptr)) {
  QUALIA_CHECK(data_ != nullptr && context_ != nullptr);
  pcre2_set_match_limit(context_.get(), kMatchLimit);
  pcre2_set_heap_limit(context_.get(), kHeapLimitKib);
}

Result<Regex> Regex::compile(std::string_view pattern) {
  const std::string expanded = expand_white_space(pattern);
  int error_code = 0;
  PCRE2_SIZE error_offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expanded.data()), expanded.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error_code,
                                   &error_offset, nullptr);
  if (code == nullptr) {
    std::array<PCRE2_UCHAR, 256> text{};
    pcre2_get_error_message(error_code, text.data(), text.size());
    return internal("Pattern '{}' fails to compile at offset {}: {}.", expanded, error_offset,
                    reinterpret_cast<const char*>(text.data()));
  }
  // Where JIT is missing or refused, the interpreter gives the same matches.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return Regex(code);
}

std::optional<ByteRange> Regex::find(std::string_view text, size_t from, Scratch& scratch) const {
  while (from < text.size()) {
    const auto search = [&](uint32_t options) {
      return pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                         PCRE2_NO_UTF_CHECK | options, scratch.data_.get(), scratch.context_.get());
    };
    int found = search(0);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = search(PCRE2_NO_JIT);
    if (found < 0) return std::nullopt;
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(scratch.data_.get());
    if (bounds[1] > bounds[0]) return ByteRange{bounds[0], bounds[1]};
    if (bounds[0] >= text.size()) return std::nullopt;
    from = bounds[0] + utf8_step(text, bounds[0]).size;
  }
  return std::nullopt;
}

}  // namespace qualia::tokenizer
