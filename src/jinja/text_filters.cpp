// Filters on text.
#include <algorithm>

#include "base/error.h"
#include "jinja/builtins.h"
#include "jinja/format.h"
#include "jinja/json.h"
#include "jinja/operators.h"
#include "jinja/repr.h"
#include "jinja/text_functions.h"
#include "jinja/unicode.h"

namespace qualia::jinja {

namespace {

using Names = std::string_view;

template <std::string (*map)(std::string_view)>
Result<Value> mapped(Runtime& runtime, const Value& self, const Arguments& arguments) {
  QUALIA_TRY(Bound::bind("case filter", {}, 0, arguments).map([](const Bound&) {}));
  const TextPtr text = to_text(runtime.budget, self);
  runtime.budget.spend_bytes(text->size() * 8);
  return Value(make_text(runtime.budget, map(text->bytes), text->trust()));
}

bool starts_title_word(char c) {
  return std::string_view("-({[<").find(c) != std::string_view::npos;
}

// Unlike str.title: words start after white space and opening brackets only.
std::string title_words(std::string_view text) {
  std::string out;
  size_t word = 0;
  const auto flush = [&](size_t end) {
    if (word == end) return;
    const size_t first_end = word + code_point_at(text, word).size_bytes;
    out += to_upper(text.substr(word, first_end - word));
    out += to_lower(text.substr(first_end, end - first_end));
  };
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    const size_t after = at + point.size_bytes;
    if (is_space(point.value) || starts_title_word(text[at])) {
      flush(at);
      out += text.substr(at, point.size_bytes);
      word = after;
    }
    at = after;
  }
  flush(text.size());
  return out;
}

Result<Value> trim_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"chars"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("trim", kParameters, 0, arguments));
  const TextPtr text = to_text(runtime.budget, self);
  if (bound.get_unless_none(0) == nullptr) {
    return Value(strip(runtime.budget, text, Side::both, std::nullopt));
  }
  QUALIA_ASSIGN(const TextPtr characters, bound.text(0));
  return Value(strip(runtime.budget, text, Side::both, characters->bytes));
}

Result<Value> replace_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"old", "new", "count"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("replace", kParameters, 2, arguments));
  Budget& budget = runtime.budget;
  const TextPtr text = to_text(budget, self);
  const TextPtr old = to_text(budget, *bound.get(0));
  const TextPtr replacement = to_text(budget, *bound.get(1));
  int64_t count = -1;
  if (bound.get_unless_none(2) != nullptr) {
    QUALIA_ASSIGN(count, bound.integer(2, -1));
  }
  return Value(replace(budget, *text, old->bytes, *replacement, count));
}

Result<Value> string_filter(Runtime& runtime, const Value& self, const Arguments&) {
  return Value(to_text(runtime.budget, self));
}

Result<Value> safe_filter(Runtime& runtime, const Value& self, const Arguments&) {
  return Value(marked_safe(runtime.budget, to_text(runtime.budget, self)));
}

Result<Value> escape_filter(Runtime& runtime, const Value& self, const Arguments&) {
  const TextPtr text = to_text(runtime.budget, self);
  if (text->markup) return Value(text);
  return Value(marked_safe(runtime.budget, escaped(runtime.budget, *text)));
}

Result<Value> force_escape_filter(Runtime& runtime, const Value& self, const Arguments&) {
  const TextPtr text = to_text(runtime.budget, self);
  return Value(marked_safe(runtime.budget, escaped(runtime.budget, *text)));
}

Result<TextPtr> indentation_of(Budget& budget, const Bound& bound) {
  const Value* width = bound.get(0);
  if (width != nullptr && width->is(Kind::text)) return width->text();
  QUALIA_ASSIGN(const int64_t count, bound.integer(0, 4));
  TextBuilder builder(budget);
  builder.append_repeated(" ", count > 0 ? static_cast<size_t>(count) : 0);
  return builder.finish();
}

// A final line break is kept, and a text's lines are those of str.splitlines.
Result<Value> indent_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"width", "first", "blank"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("indent", kParameters, 0, arguments));
  if (!self.is(Kind::text)) {
    if (self.is(Kind::undefined)) return tl::unexpected(undefined_error(self));
    return invalid_argument("indent needs a str, not '{}'", type_name(self));
  }
  Budget& budget = runtime.budget;
  QUALIA_ASSIGN(const TextPtr indentation, indentation_of(budget, bound));
  const bool blank = bound.boolean(2, false);
  TextBuilder with_break(budget);
  with_break.append(*self.text());
  with_break.append("\n");
  TextBuilder builder(budget);
  bool is_first = true;
  for (const TextPtr& line : split_lines(budget, with_break.finish(), LineBreaks::dropped)) {
    if (!budget.spend(1)) break;
    if (!is_first) builder.append("\n");
    const bool indents = is_first ? bound.boolean(1, false) : blank || !line->bytes.empty();
    if (indents) builder.append(*indentation);
    builder.append(*line);
    is_first = false;
  }
  return Value(builder.finish());
}

Result<Value> format_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.keywords.empty()) {
    return invalid_argument("format gets positional and named arguments at once");
  }
  Budget& budget = runtime.budget;
  Value values = make_tuple(budget, arguments.positional);
  if (!arguments.keywords.empty()) {
    std::vector<Dict::Entry> entries;
    for (const auto& [name, value] : arguments.keywords) {
      entries.emplace_back(make_text(budget, name), value);
    }
    values = make_dict(budget, std::move(entries));
  }
  return percent_format(budget, to_text(budget, self), values);
}

Result<Value> center_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"width"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("center", kParameters, 0, arguments));
  QUALIA_ASSIGN(const int64_t width, bound.integer(0, 80));
  const TextPtr text = to_text(runtime.budget, self);
  return Value(centered(runtime.budget, *text, width, " "));
}

Result<Value> word_count_filter(Runtime& runtime, const Value& self, const Arguments&) {
  const TextPtr text = to_text(runtime.budget, self);
  runtime.budget.spend_bytes(text->size() * 8);
  int64_t count = 0;
  bool inside = false;
  for (size_t at = 0; at < text->size();) {
    const CodePoint point = code_point_at(text->bytes, at);
    const bool word = is_alphabetic(point.value) || is_numeric(point.value) ||
                      is_decimal(point.value) || point.value == '_';
    if (word && !inside) ++count;
    inside = word;
    at += point.size_bytes;
  }
  return Value(count);
}

Result<Value> truncate_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"length", "killwords", "end", "leeway"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("truncate", kParameters, 0, arguments));
  QUALIA_ASSIGN(const int64_t length, bound.integer(0, 255));
  QUALIA_ASSIGN(const int64_t leeway, bound.integer(3, 5));
  Budget& budget = runtime.budget;
  const TextPtr text = to_text(budget, self);
  TextPtr end = make_text(budget, "...");
  if (bound.get(2) != nullptr) {
    QUALIA_ASSIGN(end, bound.text(2));
  }
  const int64_t kept = length - static_cast<int64_t>(end->length());
  if (kept < 0 || leeway < 0) return invalid_argument("truncate gets length {}", length);
  const auto size = static_cast<int64_t>(text->length());
  if (size <= length || size - length <= leeway) return Value(text);
  size_t cut = byte_offset(text->bytes, static_cast<size_t>(kept));
  if (!bound.boolean(1, false)) {
    const size_t space = std::string_view(text->bytes).substr(0, cut).rfind(' ');
    if (space != std::string_view::npos) cut = space;
  }
  TextBuilder builder(budget);
  builder.append(*text, 0, cut);
  builder.append(*end);
  return Value(builder.finish());
}

void append_quoted(std::string& out, std::string_view bytes, bool for_query) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "_.-~";
  for (const char c : bytes) {
    const bool alphanumeric =
        (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (alphanumeric || kPlain.find(c) != std::string_view::npos || (c == '/' && !for_query)) {
      out += c;
    } else if (c == ' ' && for_query) {
      out += '+';
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
}

Result<Value> url_encode_filter(Runtime& runtime, const Value& self, const Arguments&) {
  Budget& budget = runtime.budget;
  MarkedBytes out;
  const auto add = [&](const Value& value, bool for_query) {
    const TextPtr text = to_text(budget, value);
    if (!budget.text_fits(out.bytes.size() + text->size() * 3)) return;
    if (text->trust() == Trust::untrusted) out.trust = Trust::untrusted;
    append_quoted(out.bytes, text->bytes, for_query);
  };
  const bool pairs = self.is(Kind::dict) || self.is(Kind::sequence);
  if (!pairs) {
    add(self, false);
    return Value(make_text(budget, std::move(out.bytes), out.trust));
  }
  Value items = self;
  if (self.is(Kind::dict)) {
    QUALIA_ASSIGN(items, find_method(self, "items")->call(runtime, self, {}));
  }
  for (const Value& pair : items.sequence().items) {
    if (!budget.spend(1)) break;
    if (!pair.is(Kind::sequence) || pair.sequence().items.size() != 2) {
      return invalid_argument("urlencode needs pairs");
    }
    if (!out.bytes.empty()) out.bytes += '&';
    add(pair.sequence().items[0], true);
    out.bytes += '=';
    add(pair.sequence().items[1], true);
  }
  return Value(make_text(budget, std::move(out.bytes), out.trust));
}

Result<JsonStyle> json_style(Budget& budget, const Bound& bound) {
  JsonStyle style;
  style.ascii_only = bound.boolean(0, false);
  style.sort_keys = bound.boolean(3, false);
  if (const Value* indent = bound.get_unless_none(1)) {
    style.item_separator = ",";
    if (indent->is(Kind::text)) {
      style.indent = indent->bytes();
    } else {
      QUALIA_ASSIGN(const int64_t width, bound.integer(1, 0));
      const size_t count = width > 0 ? static_cast<size_t>(width) : 0;
      if (budget.text_fits(count)) style.indent = std::string(count, ' ');
    }
  }
  if (const Value* separators = bound.get_unless_none(2)) {
    const bool is_pair = separators->is(Kind::sequence) && separators->sequence().items.size() == 2;
    if (!is_pair || !separators->sequence().items[0].is(Kind::text) ||
        !separators->sequence().items[1].is(Kind::text)) {
      return invalid_argument("tojson needs two str as 'separators'");
    }
    style.item_separator = separators->sequence().items[0].bytes();
    style.key_separator = separators->sequence().items[1].bytes();
  }
  return style;
}

Result<Value> to_json_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"ensure_ascii", "indent", "separators", "sort_keys"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("tojson", kParameters, 0, arguments));
  QUALIA_ASSIGN(const JsonStyle style, json_style(runtime.budget, bound));
  QUALIA_ASSIGN(TextPtr text, write_json(runtime.budget, self, style));
  return Value(std::move(text));
}

Result<Value> from_json_filter(Runtime& runtime, const Value& self, const Arguments&) {
  if (!self.is(Kind::text))
    return invalid_argument("from_json needs a str, not '{}'", type_name(self));
  const bool trusted = self.text()->trust() == Trust::trusted;
  return read_json(runtime.budget, self.bytes(),
                   trusted ? TrustedJson::everything : TrustedJson::nothing);
}

Result<Value> print_filter(Runtime& runtime, const Value& self, const Arguments&) {
  MarkedBytes plain = repr(runtime.budget, self);
  return Value(make_text(runtime.budget, std::move(plain.bytes), plain.trust));
}

constexpr NamedBuiltin kTextFilters[] = {
    {"trim", trim_filter},
    {"tojson", to_json_filter},
    {"from_json", from_json_filter},
    {"fromjson", from_json_filter},
    {"string", string_filter},
    {"upper", mapped<to_upper>},
    {"lower", mapped<to_lower>},
    {"capitalize", mapped<to_capitalized>},
    {"title", mapped<title_words>},
    {"replace", replace_filter},
    {"indent", indent_filter},
    {"safe", safe_filter},
    {"escape", escape_filter},
    {"e", escape_filter},
    {"forceescape", force_escape_filter},
    {"format", format_filter},
    {"center", center_filter},
    {"wordcount", word_count_filter},
    {"truncate", truncate_filter},
    {"urlencode", url_encode_filter},
    {"pprint", print_filter},
};

}  // namespace

std::span<const NamedBuiltin> text_filters() { return kTextFilters; }

}  // namespace qualia::jinja
