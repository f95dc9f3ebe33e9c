// Methods of str but for splitting and character classes.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "jinja/builtins.h"
#include "jinja/format.h"
#include "jinja/operators.h"
#include "jinja/repr.h"
#include "jinja/text_functions.h"
#include "jinja/unicode.h"

namespace qualia::jinja {

namespace {

using Names = std::string_view;

Result<Value> strip_side(Runtime& runtime, const Value& self, const Arguments& arguments,
                         Side side) {
  static constexpr Names kParameters[] = {"chars"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("strip", kParameters, 0, arguments));
  if (bound.get_unless_none(0) == nullptr) {
    return Value(strip(runtime.budget, self.text(), side, std::nullopt));
  }
  QUALIA_ASSIGN(const TextPtr characters, bound.text(0));
  return Value(strip(runtime.budget, self.text(), side, characters->bytes));
}

Result<Value> strip_both(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return strip_side(runtime, self, arguments, Side::both);
}
Result<Value> strip_left(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return strip_side(runtime, self, arguments, Side::left);
}
Result<Value> strip_right(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return strip_side(runtime, self, arguments, Side::right);
}

// A part of a text by start and end arguments, as find and startswith take them.
struct Part {
  TextPtr text;
  int64_t first = 0;  // code points before it
};

Result<Part> part_of(Runtime& runtime, const Value& self, const Bound& bound, size_t start_index) {
  const Value* start = bound.get_unless_none(start_index);
  const Value* stop = bound.get_unless_none(start_index + 1);
  if (start == nullptr && stop == nullptr) return Part{self.text(), 0};
  QUALIA_ASSIGN(const Value part, slice(runtime.budget, self, {start, stop, nullptr}));
  const auto length = static_cast<int64_t>(self.text()->length());
  int64_t first = start == nullptr ? 0 : start->as_integer();
  if (first < 0) first = std::max<int64_t>(0, first + length);
  return Part{part.text(), first};
}

enum class TextEnd { front, back };

bool has_affix(Budget& budget, std::string_view text, std::string_view affix, TextEnd side) {
  budget.spend_bytes(affix.size());
  return side == TextEnd::front ? text.starts_with(affix) : text.ends_with(affix);
}

Result<Value> affix_test(Runtime& runtime, const Value& self, const Arguments& arguments,
                         std::string_view name, TextEnd side) {
  static constexpr Names kParameters[] = {"affix", "start", "end"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind(name, kParameters, 1, arguments));
  QUALIA_ASSIGN(const Part part, part_of(runtime, self, bound, 1));
  const Value& affix = *bound.get(0);
  if (affix.is(Kind::text)) {
    return Value(has_affix(runtime.budget, part.text->bytes, affix.bytes(), side));
  }
  if (affix.is(Kind::sequence) && affix.sequence().flavour == Flavour::tuple) {
    for (const Value& item : affix.sequence().items) {
      if (!item.is(Kind::text)) {
        return invalid_argument("{}() needs str in its tuple, not '{}'", name, type_name(item));
      }
      if (has_affix(runtime.budget, part.text->bytes, item.bytes(), side)) return Value(true);
    }
    return Value(false);
  }
  if (affix.is(Kind::undefined)) return tl::unexpected(undefined_error(affix));
  return invalid_argument("{}() needs a str or a tuple of str, not '{}'", name, type_name(affix));
}

Result<Value> starts_with(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return affix_test(runtime, self, arguments, "startswith", TextEnd::front);
}
Result<Value> ends_with(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return affix_test(runtime, self, arguments, "endswith", TextEnd::back);
}

Result<Value> remove_affix(Runtime& runtime, const Value& self, const Arguments& arguments,
                           TextEnd side) {
  static constexpr Names kParameters[] = {"affix"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("removeprefix", kParameters, 1, arguments));
  QUALIA_ASSIGN(const TextPtr affix, bound.text(0));
  const TextPtr& text = self.text();
  if (!has_affix(runtime.budget, text->bytes, affix->bytes, side)) return self;
  const size_t cut = affix->size();
  return Value(side == TextEnd::front ? slice_text(runtime.budget, text, cut, text->size())
                                      : slice_text(runtime.budget, text, 0, text->size() - cut));
}

Result<Value> remove_prefix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return remove_affix(runtime, self, arguments, TextEnd::front);
}
Result<Value> remove_suffix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return remove_affix(runtime, self, arguments, TextEnd::back);
}

template <std::string (*map)(std::string_view)>
Result<Value> mapped_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  QUALIA_TRY(Bound::bind("case method", {}, 0, arguments).map([](const Bound&) {}));
  runtime.budget.spend_bytes(self.text()->size() * 8);  // looking up a code point takes some time
  return Value(make_text(runtime.budget, map(self.bytes()), self.text()->trust()));
}

Result<Value> replace_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"old", "new", "count"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("replace", kParameters, 2, arguments));
  QUALIA_ASSIGN(const TextPtr old, bound.text(0));
  QUALIA_ASSIGN(const TextPtr replacement, bound.text(1));
  QUALIA_ASSIGN(const int64_t count, bound.integer(2, -1));
  return Value(replace(runtime.budget, *self.text(), old->bytes, *replacement, count));
}

// The code point index of a text in another, -1 if it does not occur.
Result<int64_t> find_index(Runtime& runtime, const Value& self, const Arguments& arguments,
                           TextEnd from) {
  static constexpr Names kParameters[] = {"sub", "start", "end"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("find", kParameters, 1, arguments));
  QUALIA_ASSIGN(const TextPtr wanted, bound.text(0));
  QUALIA_ASSIGN(const Part part, part_of(runtime, self, bound, 1));
  runtime.budget.spend_bytes(part.text->size() + wanted->size());
  const std::string_view bytes = part.text->bytes;
  const size_t found =
      from == TextEnd::front ? find_bytes(bytes, wanted->bytes) : rfind_bytes(bytes, wanted->bytes);
  if (found == std::string_view::npos) return int64_t{-1};
  return part.first + static_cast<int64_t>(code_point_count(bytes.substr(0, found)));
}

template <TextEnd from>
Result<Value> find_method_of(Runtime& runtime, const Value& self, const Arguments& arguments) {
  QUALIA_ASSIGN(const int64_t index, find_index(runtime, self, arguments, from));
  return Value(index);
}

template <TextEnd from>
Result<Value> index_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  QUALIA_ASSIGN(const int64_t index, find_index(runtime, self, arguments, from));
  if (index < 0) return invalid_argument("the substring is not found");
  return Value(index);
}

Result<Value> count_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"sub", "start", "end"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("count", kParameters, 1, arguments));
  QUALIA_ASSIGN(const TextPtr wanted, bound.text(0));
  QUALIA_ASSIGN(const Part part, part_of(runtime, self, bound, 1));
  runtime.budget.spend_bytes(part.text->size() + wanted->size());
  if (wanted->bytes.empty()) return Value(static_cast<int64_t>(part.text->length()) + 1);
  int64_t count = 0;
  size_t at = 0;
  while (runtime.budget.spend_bytes(wanted->size()) &&
         (at = find_bytes(part.text->bytes, wanted->bytes, at)) != std::string_view::npos) {
    ++count;
    at += wanted->size();
  }
  return Value(count);
}

Result<Value> join_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"iterable"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("join", kParameters, 1, arguments));
  QUALIA_ASSIGN(const SequencePtr items, iterate(runtime.budget, *bound.get(0)));
  for (const Value& item : items->items) {
    if (item.is(Kind::text)) continue;
    return invalid_argument("join() needs str items, not '{}'", type_name(item));
  }
  return Value(join(runtime.budget, *self.text(), items->items));
}

Result<Value> format_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return brace_format(runtime, self.text(), arguments);
}

template <char align>
Result<Value> pad_method(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"width", "fillchar"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("pad", kParameters, 1, arguments));
  FormatSpec spec;
  QUALIA_ASSIGN(spec.width, bound.integer(0, 0));
  if (bound.get(1) != nullptr) {
    QUALIA_ASSIGN(const TextPtr fill, bound.text(1));
    if (fill->length() != 1) return invalid_argument("a fill text has not one character");
    spec.fill = fill->bytes;
  }
  if (align == '^') return Value(centered(runtime.budget, *self.text(), spec.width, spec.fill));
  spec.align = align;
  TextBuilder builder(runtime.budget);
  append_padded(builder, *self.text(), spec);
  return Value(builder.finish());
}

Result<Value> zero_fill(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"width"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("zfill", kParameters, 1, arguments));
  QUALIA_ASSIGN(const int64_t width, bound.integer(0, 0));
  const Text& text = *self.text();
  const size_t sign = text.bytes.starts_with('-') || text.bytes.starts_with('+') ? 1 : 0;
  const int64_t missing = width - static_cast<int64_t>(text.length());
  TextBuilder builder(runtime.budget);
  builder.append(text, 0, sign);
  builder.append_repeated("0", missing > 0 ? static_cast<size_t>(missing) : 0);
  builder.append(text, sign, text.size());
  return Value(builder.finish());
}

constexpr NamedBuiltin kTextMethods[] = {
    {"strip", strip_both},
    {"lstrip", strip_left},
    {"rstrip", strip_right},
    {"startswith", starts_with},
    {"endswith", ends_with},
    {"removeprefix", remove_prefix},
    {"removesuffix", remove_suffix},
    {"upper", mapped_method<to_upper>},
    {"lower", mapped_method<to_lower>},
    {"casefold", mapped_method<to_lower>},
    {"title", mapped_method<to_title>},
    {"capitalize", mapped_method<to_capitalized>},
    {"swapcase", mapped_method<to_swapped_case>},
    {"replace", replace_method},
    {"find", find_method_of<TextEnd::front>},
    {"rfind", find_method_of<TextEnd::back>},
    {"index", index_method<TextEnd::front>},
    {"rindex", index_method<TextEnd::back>},
    {"count", count_method},
    {"join", join_method},
    {"format", format_method},
    {"ljust", pad_method<'<'>},
    {"rjust", pad_method<'>'>},
    {"center", pad_method<'^'>},
    {"zfill", zero_fill},
};

}  // namespace

std::span<const NamedBuiltin> text_methods() { return kTextMethods; }

}  // namespace qualia::jinja
