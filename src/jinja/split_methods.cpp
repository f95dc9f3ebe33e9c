// Methods of str that split, and those that ask for a class of characters.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "jinja/builtins.h"
#include "jinja/operators.h"
#include "jinja/text_functions.h"
#include "jinja/unicode.h"

namespace qualia::jinja {

namespace {

using Names = std::string_view;

// A part [begin, end) of a text.
using Pieces = std::vector<ByteRange>;

Pieces split_by(Budget& budget, std::string_view text, std::string_view separator, int64_t limit) {
  Pieces pieces;
  size_t begin = 0;
  while (limit != 0 && budget.spend_bytes(separator.size())) {
    const size_t found = find_bytes(text, separator, begin);
    if (found == std::string_view::npos) break;
    pieces.push_back({begin, found});
    begin = found + separator.size();
    --limit;
  }
  pieces.push_back({begin, text.size()});
  return pieces;
}

Pieces split_by_from_right(Budget& budget, std::string_view text, std::string_view separator,
                           int64_t limit) {
  Pieces pieces;
  size_t end = text.size();
  // Each search costs what it passes over, so the whole is linear.
  while (limit != 0 && budget.spend_bytes(separator.size())) {
    const size_t found = rfind_bytes(text.substr(0, end), separator);
    if (found == std::string_view::npos) break;
    if (separator.size() > 16 && !budget.spend_bytes(end)) break;
    pieces.push_back({found + separator.size(), end});
    end = found;
    --limit;
  }
  pieces.push_back({0, end});
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

size_t skip_space(std::string_view text, size_t at) {
  while (at < text.size()) {
    const CodePoint point = code_point_at(text, at);
    if (!is_space(point.value)) break;
    at += point.size_bytes;
  }
  return at;
}

size_t skip_space_back(std::string_view text, size_t end) {
  while (end > 0) {
    const CodePoint point = code_point_before(text, end);
    if (!is_space(point.value)) break;
    end -= point.size_bytes;
  }
  return end;
}

Pieces split_words(Budget& budget, std::string_view text, int64_t limit) {
  Pieces pieces;
  size_t at = skip_space(text, 0);
  while (at < text.size() && budget.spend(1)) {
    const size_t begin = at;
    if (limit-- == 0) {
      pieces.push_back({begin, text.size()});
      break;
    }
    while (at < text.size() && !is_space(code_point_at(text, at).value)) {
      at += code_point_at(text, at).size_bytes;
    }
    pieces.push_back({begin, at});
    at = skip_space(text, at);
  }
  return pieces;
}

Pieces split_words_from_right(Budget& budget, std::string_view text, int64_t limit) {
  Pieces pieces;
  size_t end = skip_space_back(text, text.size());
  while (end > 0 && budget.spend(1)) {
    if (limit-- == 0) {
      pieces.push_back({0, end});
      break;
    }
    size_t begin = end;
    while (begin > 0 && !is_space(code_point_before(text, begin).value)) {
      begin -= code_point_before(text, begin).size_bytes;
    }
    pieces.push_back({begin, end});
    end = skip_space_back(text, begin);
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

Value cut(Budget& budget, const TextPtr& text, const Pieces& pieces) {
  std::vector<Value> items;
  for (const ByteRange& piece : pieces) {
    if (!budget.spend(1)) break;
    items.emplace_back(slice_text(budget, text, piece.begin, piece.end));
  }
  return make_list(budget, std::move(items));
}

enum class End { front, back };

template <End from>
Result<Value> split_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"sep", "maxsplit"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("split", kParameters, 0, arguments));
  QUALIA_ASSIGN(const int64_t limit, bound.integer(1, -1));
  Budget& budget = runtime.budget;
  const TextPtr& text = self.text();
  budget.spend_bytes(text->size());
  if (bound.get(0) == nullptr || bound.get(0)->is(Kind::none)) {
    return cut(budget, text,
               from == End::front ? split_words(budget, text->bytes, limit)
                                  : split_words_from_right(budget, text->bytes, limit));
  }
  QUALIA_ASSIGN(const TextPtr separator, bound.text(0));
  if (separator->bytes.empty()) return invalid_argument("a text is split by an empty separator");
  const Pieces pieces = from == End::front
                            ? split_by(budget, text->bytes, separator->bytes, limit)
                            : split_by_from_right(budget, text->bytes, separator->bytes, limit);
  return cut(budget, text, pieces);
}

Result<Value> split_lines_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"keepends"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("splitlines", kParameters, 0, arguments));
  const auto breaks = bound.boolean(0, false) ? LineBreaks::kept : LineBreaks::dropped;
  std::vector<Value> items;
  for (TextPtr& line : split_lines(runtime.budget, self.text(), breaks)) {
    items.emplace_back(std::move(line));
  }
  return make_list(runtime.budget, std::move(items));
}

template <End from>
Result<Value> partition(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"sep"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("partition", kParameters, 1, arguments));
  QUALIA_ASSIGN(const TextPtr separator, bound.text(0));
  if (separator->bytes.empty()) return invalid_argument("a text is split by an empty separator");
  Budget& budget = runtime.budget;
  const TextPtr& text = self.text();
  budget.spend_bytes(text->size() + separator->size());
  const size_t found = from == End::front ? find_bytes(text->bytes, separator->bytes)
                                          : rfind_bytes(text->bytes, separator->bytes);
  const Value empty = make_text(budget, "");
  if (found == std::string_view::npos) {
    return from == End::front ? make_tuple(budget, {self, empty, empty})
                              : make_tuple(budget, {empty, empty, self});
  }
  const size_t after = found + separator->size();
  return make_tuple(budget,
                    {slice_text(budget, text, 0, found), slice_text(budget, text, found, after),
                     slice_text(budget, text, after, text->size())});
}

// All code points are in the class, and there is one.
template <bool (*is_member)(int32_t)>
Result<Value> all_are(Runtime& runtime, const Value& self, const Arguments&) {
  const std::string_view text = self.bytes();
  runtime.budget.spend_bytes(text.size() * 8);
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    if (!is_member(point.value)) return Value(false);
    at += point.size_bytes;
  }
  return Value(!text.empty());
}

bool is_alphanumeric(int32_t value) {
  return is_alphabetic(value) || is_decimal(value) || is_digit(value) || is_numeric(value);
}

// No cased code point is outside of the class, and one is inside.
template <bool (*is_member)(int32_t), bool (*is_opposite)(int32_t)>
Result<Value> cased_are(Runtime& runtime, const Value& self, const Arguments&) {
  const std::string_view text = self.bytes();
  runtime.budget.spend_bytes(text.size() * 8);
  bool found = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    if (is_opposite(point.value) || is_title(point.value)) return Value(false);
    found |= is_member(point.value);
    at += point.size_bytes;
  }
  return Value(found);
}

Result<Value> is_title_case(Runtime& runtime, const Value& self, const Arguments&) {
  const std::string_view text = self.bytes();
  runtime.budget.spend_bytes(text.size() * 8);
  bool found = false;
  bool inside_word = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    const bool upper = is_upper(point.value) || is_title(point.value);
    const bool lower = is_lower(point.value);
    if ((upper && inside_word) || (lower && !inside_word)) return Value(false);
    inside_word = upper || lower;
    found |= inside_word;
    at += point.size_bytes;
  }
  return Value(found);
}

Result<Value> is_ascii_method(Runtime&, const Value& self, const Arguments&) {
  return Value(self.text()->ascii);
}

constexpr NamedBuiltin kSplitMethods[] = {
    {"split", split_method<End::front>},  {"rsplit", split_method<End::back>},
    {"splitlines", split_lines_method},   {"partition", partition<End::front>},
    {"rpartition", partition<End::back>},
};

constexpr NamedBuiltin kClassMethods[] = {
    {"isalpha", all_are<is_alphabetic>},
    {"isalnum", all_are<is_alphanumeric>},
    {"isdigit", all_are<is_digit>},
    {"isdecimal", all_are<is_decimal>},
    {"isnumeric", all_are<is_numeric>},
    {"isspace", all_are<is_space>},
    {"isprintable", all_are<is_printable>},
    {"isupper", cased_are<is_upper, is_lower>},
    {"islower", cased_are<is_lower, is_upper>},
    {"istitle", is_title_case},
    {"isascii", is_ascii_method},
};

}  // namespace

std::span<const NamedBuiltin> split_methods() { return kSplitMethods; }
std::span<const NamedBuiltin> text_class_methods() { return kClassMethods; }

}  // namespace qualia::jinja
