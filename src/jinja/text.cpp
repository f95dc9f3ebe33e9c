#include "jinja/text.h"

#include <algorithm>
#include <utility>

#include "jinja/unicode.h"

namespace qualia::jinja {

namespace {

// The first range that ends after `begin`.
auto first_range_after(const std::vector<ByteRange>& ranges, size_t begin) {
  return std::upper_bound(ranges.begin(), ranges.end(), begin,
                          [](size_t at, const ByteRange& range) { return at < range.end; });
}

// Knuth, Morris, Pratt: fallback[i] is the length of the longest proper border of needle[0, i].
std::vector<size_t> border_lengths(std::string_view needle) {
  std::vector<size_t> fallback(needle.size(), 0);
  for (size_t i = 1, length = 0; i < needle.size(); ++i) {
    while (length > 0 && needle[i] != needle[length]) length = fallback[length - 1];
    if (needle[i] == needle[length]) ++length;
    fallback[i] = length;
  }
  return fallback;
}

// Up to this size the plain search costs at most as many compares per byte, without a table.
constexpr size_t kPlainSearchBytes = 16;

}  // namespace

Text::Text(Budget* budget, std::string text, std::vector<ByteRange> ranges)
    : Metered(budget, sizeof(Text) + text.capacity() + ranges.capacity() * sizeof(ByteRange)),
      bytes(std::move(text)),
      untrusted(std::move(ranges)),
      ascii(is_ascii(bytes)) {}

size_t Text::length() const noexcept { return ascii ? bytes.size() : code_point_count(bytes); }

TextPtr make_text(Budget& budget, std::string bytes, Trust trust) {
  budget.spend_bytes(bytes.size());
  std::vector<ByteRange> ranges;
  if (trust == Trust::untrusted && !bytes.empty()) ranges.push_back({0, bytes.size()});
  return std::make_shared<const Text>(&budget, std::move(bytes), std::move(ranges));
}

TextPtr slice_text(Budget& budget, const TextPtr& text, size_t begin, size_t end) {
  if (begin == 0 && end == text->size()) return text;
  TextBuilder builder(budget);
  builder.append(*text, begin, end);
  return builder.finish();
}

bool TextBuilder::reserve(size_t more) {
  // more is at most the sum of sizes that fit a string, so this can't wrap.
  return budget_.text_fits(bytes_.size() + more) && budget_.spend(more / kBytesPerStep);
}

void TextBuilder::mark(size_t begin, size_t end) {
  if (begin == end) return;
  if (!ranges_.empty() && ranges_.back().end == begin) {
    ranges_.back().end = end;
  } else {
    ranges_.push_back({begin, end});
  }
}

void TextBuilder::append(std::string_view bytes, Trust trust) {
  if (!reserve(bytes.size())) return;
  if (trust == Trust::untrusted) mark(bytes_.size(), bytes_.size() + bytes.size());
  bytes_ += bytes;
}

void TextBuilder::append(const Text& text, size_t begin, size_t end) {
  if (!reserve(end - begin)) return;
  for (auto range = first_range_after(text.untrusted, begin);
       range != text.untrusted.end() && range->begin < end; ++range) {
    mark(bytes_.size() + std::max(range->begin, begin) - begin,
         bytes_.size() + std::min(range->end, end) - begin);
  }
  bytes_.append(text.bytes, begin, end - begin);
}

void TextBuilder::append_repeated(std::string_view bytes, size_t count) {
  if (count == 0 || bytes.empty()) return;
  if (count > kTextBytesMax / bytes.size()) {
    budget_.text_fits(kTextBytesMax + 1);
    return;
  }
  if (!reserve(bytes.size() * count)) return;
  for (size_t i = 0; i < count; ++i) bytes_ += bytes;
}

TextPtr TextBuilder::finish() {
  budget_.spend(1);
  return std::make_shared<const Text>(&budget_, std::move(bytes_), std::move(ranges_));
}

size_t find_bytes(std::string_view text, std::string_view needle, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (needle.size() <= kPlainSearchBytes) return text.find(needle, from);
  const std::vector<size_t> fallback = border_lengths(needle);
  for (size_t i = from, length = 0; i < text.size(); ++i) {
    while (length > 0 && text[i] != needle[length]) length = fallback[length - 1];
    if (text[i] == needle[length]) ++length;
    if (length == needle.size()) return i + 1 - length;
  }
  return std::string_view::npos;
}

size_t rfind_bytes(std::string_view text, std::string_view needle) {
  if (needle.size() <= kPlainSearchBytes) return text.rfind(needle);
  size_t found = std::string_view::npos;
  const std::string reversed_text(text.rbegin(), text.rend());
  const std::string reversed_needle(needle.rbegin(), needle.rend());
  found = find_bytes(reversed_text, reversed_needle);
  if (found == std::string_view::npos) return found;
  return text.size() - found - needle.size();
}

}  // namespace qualia::jinja
