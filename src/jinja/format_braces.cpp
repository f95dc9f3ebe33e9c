// str.format() of jinja_format.h.
#include <algorithm>

#include "base/error.h"
#include "jinja/builtins.h"
#include "jinja/format.h"
#include "jinja/operators.h"
#include "jinja/repr.h"
#include "jinja/unicode.h"

namespace qualia::jinja {

namespace {

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// At most 9 digits, so that nothing overflows; larger numbers are out of range anyway.
Result<int64_t> parse_count(std::string_view digits) {
  int64_t value = 0;
  if (digits.size() > 9)
    return invalid_argument("a format has number {} (limit {})", digits, kFormatWidthMax);
  for (const char c : digits) value = value * 10 + (c - '0');
  return value;
}

class SpecParser {
 public:
  explicit SpecParser(std::string_view text) : text_(text) {}

  Result<FormatSpec> run() {
    parse_alignment();
    if (is_one_of("+- ")) spec_.sign = take();
    if (is_one_of("#")) spec_.alternate = take() == '#';
    if (is_one_of("0")) {
      take();
      if (spec_.align == '\0') {
        spec_.fill = "0";
        spec_.align = '=';
      }
    }
    QUALIA_ASSIGN(spec_.width, parse_digits(0));
    if (is_one_of(",_")) spec_.grouping = take();
    if (is_one_of(".")) {
      take();
      QUALIA_ASSIGN(spec_.precision, parse_digits(-1));
      if (spec_.precision < 0) return invalid_argument("a format spec lacks its precision");
    }
    if (text_.size() == 1) spec_.type = take();
    if (!text_.empty()) return invalid_argument("'{}' is no format spec", text_);
    if (spec_.width > kFormatWidthMax || spec_.precision > 1000) {
      return invalid_argument("a format has width {} and precision {} (limits {} and 1000)",
                              spec_.width, spec_.precision, kFormatWidthMax);
    }
    return spec_;
  }

 private:
  bool is_one_of(std::string_view characters) const {
    return !text_.empty() && characters.find(text_.front()) != std::string_view::npos;
  }
  char take() {
    const char c = text_.front();
    text_.remove_prefix(1);
    return c;
  }
  void parse_alignment() {
    if (text_.empty()) return;
    const size_t size = code_point_at(text_, 0).size_bytes;
    constexpr std::string_view kAligns = "<>=^";
    if (size < text_.size() && kAligns.find(text_[size]) != std::string_view::npos) {
      spec_.fill = std::string(text_.substr(0, size));
      spec_.align = text_[size];
      text_.remove_prefix(size + 1);
    } else if (is_one_of(kAligns)) {
      spec_.align = take();
    }
  }
  Result<int64_t> parse_digits(int64_t otherwise) {
    size_t count = 0;
    while (count < text_.size() && text_[count] >= '0' && text_[count] <= '9') ++count;
    if (count == 0) return otherwise;
    const std::string_view digits = text_.substr(0, count);
    text_.remove_prefix(count);
    return parse_count(digits);
  }

  std::string_view text_;
  FormatSpec spec_;
};

class BraceFormatter {
 public:
  BraceFormatter(Runtime& runtime, const TextPtr& format, const Arguments& arguments)
      : runtime_(runtime), builder_(runtime.budget), format_(format), arguments_(arguments) {}

  Result<Value> run();

 private:
  Result<void> append_field(std::string_view field);
  Result<Value> find_field(std::string_view name);
  Result<Value> find_argument(std::string_view name);
  Result<std::string> resolve_spec(std::string_view spec);
  Result<void> append_value(Value value, char conversion, std::string_view spec_text);

  Runtime& runtime_;
  TextBuilder builder_;
  const TextPtr& format_;
  const Arguments& arguments_;
  size_t next_index_ = 0;
};

Result<Value> BraceFormatter::find_argument(std::string_view name) {
  size_t index = next_index_;
  if (name.empty()) {
    ++next_index_;
  } else if (is_digits(name)) {
    QUALIA_ASSIGN(const int64_t parsed, parse_count(name));
    index = static_cast<size_t>(parsed);
  } else {
    for (const auto& [keyword, value] : arguments_.keywords) {
      if (keyword == name) return value;
    }
    return invalid_argument("a format's key '{}' is missing", name);
  }
  if (index < arguments_.positional.size()) return arguments_.positional[index];
  return invalid_argument("a format's argument {} is missing", index);
}

// An argument, then .attribute and [key] parts.
Result<Value> BraceFormatter::find_field(std::string_view name) {
  const size_t first_end = std::min(name.find_first_of(".["), name.size());
  QUALIA_ASSIGN(Value value, find_argument(name.substr(0, first_end)));
  name.remove_prefix(first_end);
  while (!name.empty() && runtime_.budget.spend(1)) {
    const bool is_item = name.front() == '[';
    const size_t end =
        is_item ? name.find(']') : std::min(name.find_first_of(".[", 1), name.size());
    if (end == std::string_view::npos) return invalid_argument("a format field has no ']'");
    const std::string_view part = name.substr(1, end - 1);
    Value key = make_text(runtime_.budget, std::string(part));
    if (is_item && is_digits(part)) {
      QUALIA_ASSIGN(const int64_t index, parse_count(part));
      key = Value(index);
    }
    QUALIA_ASSIGN(value,
                  is_item ? get_item(runtime_, value, key) : get_attribute(runtime_, value, part));
    name.remove_prefix(is_item ? end + 1 : end);
  }
  return value;
}

// A spec may hold fields itself, one level deep.
Result<std::string> BraceFormatter::resolve_spec(std::string_view spec) {
  std::string out;
  while (!spec.empty()) {
    const size_t open = std::min(spec.find('{'), spec.size());
    out += spec.substr(0, open);
    spec.remove_prefix(open);
    if (spec.empty()) break;
    const size_t close = spec.find('}');
    if (close == std::string_view::npos) return invalid_argument("a format field has no '}}'");
    QUALIA_ASSIGN(const Value value, find_field(spec.substr(1, close - 1)));
    out += to_text(runtime_.budget, value)->bytes;
    spec.remove_prefix(close + 1);
  }
  return out;
}

Result<void> BraceFormatter::append_value(Value value, char conversion,
                                          std::string_view spec_text) {
  Budget& budget = runtime_.budget;
  if (conversion == 's') value = to_text(budget, value);
  if (conversion == 'r' || conversion == 'a') {
    MarkedBytes plain = repr(budget, value);
    value = make_text(budget, std::move(plain.bytes), plain.trust);
  }
  if (spec_text.empty()) {
    append_text(builder_, budget, value);
    return {};
  }
  QUALIA_ASSIGN(const FormatSpec spec, SpecParser(spec_text).run());
  if (value.is_number()) {
    QUALIA_ASSIGN(const std::string text, format_number(value, spec));
    builder_.append(text);
    return {};
  }
  if (!value.is(Kind::text) || (spec.type != '\0' && spec.type != 's')) {
    return invalid_argument("format spec '{}' is not defined for '{}'", spec_text,
                            type_name(value));
  }
  append_padded(builder_, *value.text(), spec);
  return {};
}

Result<void> BraceFormatter::append_field(std::string_view field) {
  const size_t name_end = std::min(field.find_first_of("!:"), field.size());
  // A ':' inside of [...] belongs to the key; such keys don't occur in templates.
  QUALIA_ASSIGN(Value value, find_field(field.substr(0, name_end)));
  field.remove_prefix(name_end);
  char conversion = '\0';
  if (field.starts_with('!')) {
    if (field.size() < 2) return invalid_argument("a format field lacks its conversion");
    conversion = field[1];
    field.remove_prefix(2);
    if (std::string_view("sra").find(conversion) == std::string_view::npos) {
      return invalid_argument("'{}' is no conversion of a format field", conversion);
    }
  }
  if (!field.empty() && field.front() != ':') {
    return invalid_argument("a format field continues with '{}'", field);
  }
  if (!field.empty()) field.remove_prefix(1);
  QUALIA_ASSIGN(const std::string spec_text, resolve_spec(field));
  return append_value(std::move(value), conversion, spec_text);
}

Result<Value> BraceFormatter::run() {
  const std::string_view bytes = format_->bytes;
  for (size_t at = 0; at < bytes.size() && runtime_.budget.spend(1);) {
    const size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
    builder_.append(*format_, at, brace);
    at = brace;
    if (at == bytes.size()) break;
    if (at + 1 < bytes.size() && bytes[at + 1] == bytes[at]) {
      builder_.append(*format_, at, at + 1);
      at += 2;
      continue;
    }
    if (bytes[at] == '}') return invalid_argument("a format has a '}}' alone");
    size_t close = at + 1;
    for (size_t depth = 1; close < bytes.size(); ++close) {
      if (bytes[close] == '{') ++depth;
      if (bytes[close] == '}' && --depth == 0) break;
    }
    if (close == bytes.size()) return invalid_argument("a format has a '{{' without '}}'");
    QUALIA_TRY(append_field(bytes.substr(at + 1, close - at - 1)));
    at = close + 1;
  }
  return Value(builder_.finish());
}

}  // namespace

Result<Value> brace_format(Runtime& runtime, const TextPtr& format, const Arguments& arguments) {
  return BraceFormatter(runtime, format, arguments).run();
}

}  // namespace qualia::jinja
