#include "jinja/text_functions.h"

#include "jinja/repr.h"
#include "jinja/unicode.h"

namespace qualia::jinja {

namespace {

bool is_stripped(Budget& budget, std::string_view character, int32_t value,
                 const std::optional<std::string_view>& characters) {
  if (!characters) return is_space(value);
  budget.spend_bytes(characters->size());
  // A code point is found as a whole, since UTF-8 synchronises itself.
  return budget.ok() && characters->find(character) != std::string_view::npos;
}

// An empty `old` is found before each code point and at the end.
TextPtr insert_between(Budget& budget, const Text& text, const Text& inserted, int64_t limit) {
  TextBuilder builder(budget);
  size_t at = 0;
  for (int64_t count = 0; count != limit && budget.spend(1); ++count) {
    builder.append(inserted);
    if (at == text.size()) break;
    const size_t size = code_point_at(text.bytes, at).size_bytes;
    builder.append(text, at, at + size);
    at += size;
  }
  builder.append(text, at, text.size());
  return builder.finish();
}

}  // namespace

TextPtr strip(Budget& budget, const TextPtr& text, Side side,
              std::optional<std::string_view> characters) {
  const std::string_view bytes = text->bytes;
  size_t begin = 0;
  size_t end = bytes.size();
  while (side != Side::right && begin < end) {
    const CodePoint point = code_point_at(bytes, begin);
    if (!is_stripped(budget, bytes.substr(begin, point.size_bytes), point.value, characters)) break;
    begin += point.size_bytes;
  }
  while (side != Side::left && end > begin) {
    const CodePoint point = code_point_before(bytes, end);
    const std::string_view character = bytes.substr(end - point.size_bytes, point.size_bytes);
    if (!is_stripped(budget, character, point.value, characters)) break;
    end -= point.size_bytes;
  }
  return slice_text(budget, text, begin, end);
}

TextPtr replace(Budget& budget, const Text& text, std::string_view old, const Text& replacement,
                int64_t limit) {
  if (old.empty()) return insert_between(budget, text, replacement, limit);
  budget.spend_bytes(text.size() + old.size());
  TextBuilder builder(budget);
  size_t copied = 0;
  for (int64_t count = 0; count != limit && budget.ok(); ++count) {
    const size_t found = find_bytes(text.bytes, old, copied);
    if (found == std::string_view::npos || !budget.spend_bytes(old.size())) break;
    builder.append(text, copied, found);
    builder.append(replacement);
    copied = found + old.size();
  }
  builder.append(text, copied, text.size());
  return builder.finish();
}

std::vector<TextPtr> split_lines(Budget& budget, const TextPtr& text, LineBreaks breaks) {
  std::vector<TextPtr> lines;
  const std::string_view bytes = text->bytes;
  size_t line_begin = 0;
  for (size_t at = 0; at < bytes.size() && budget.ok();) {
    const CodePoint point = code_point_at(bytes, at);
    size_t after = at + point.size_bytes;
    if (is_line_break(point.value)) {
      if (point.value == '\r' && after < bytes.size() && bytes[after] == '\n') ++after;
      const size_t line_end = breaks == LineBreaks::kept ? after : at;
      lines.push_back(slice_text(budget, text, line_begin, line_end));
      line_begin = after;
    }
    at = after;
  }
  if (line_begin < bytes.size()) {
    lines.push_back(slice_text(budget, text, line_begin, bytes.size()));
  }
  budget.spend_bytes(bytes.size());
  return lines;
}

TextPtr join(Budget& budget, const Text& separator, const std::vector<Value>& items) {
  TextBuilder builder(budget);
  for (size_t i = 0; i < items.size() && budget.spend(1); ++i) {
    if (i > 0) builder.append(separator);
    append_text(builder, budget, items[i]);
  }
  return builder.finish();
}

}  // namespace qualia::jinja
