// The '%' operator of jinja_format.h.
#include <cmath>
#include <limits>

#include "base/error.h"
#include "jinja/format.h"
#include "jinja/operators.h"
#include "jinja/repr.h"

namespace qualia::jinja {

namespace {

class PercentFormatter {
 public:
  PercentFormatter(Budget& budget, const TextPtr& format, const Value& arguments)
      : budget_(budget), builder_(budget), format_(*format), arguments_(arguments) {}

  Result<Value> run();

 private:
  bool at_end() const { return at_ >= format_.size(); }
  char peek() const { return at_end() ? '\0' : format_.bytes[at_]; }
  Result<const Value*> next_argument();
  Result<const Value*> named_argument();
  Result<int64_t> parse_count();
  void parse_flags(FormatSpec& spec);
  Result<void> convert();
  Result<void> append_converted(const Value& value, FormatSpec spec);

  Budget& budget_;
  TextBuilder builder_;
  const Text& format_;
  const Value& arguments_;
  size_t at_ = 0;
  size_t used_ = 0;
};

bool is_tuple(const Value& value) {
  return value.is(Kind::sequence) && value.sequence().flavour == Flavour::tuple;
}

Result<const Value*> PercentFormatter::next_argument() {
  const size_t count = is_tuple(arguments_) ? arguments_.sequence().items.size() : 1;
  if (used_ >= count) return invalid_argument("a format has fewer arguments than it names");
  const size_t index = used_++;
  return is_tuple(arguments_) ? &arguments_.sequence().items[index] : &arguments_;
}

Result<const Value*> PercentFormatter::named_argument() {
  const size_t close = format_.bytes.find(')', at_);
  if (close == std::string::npos) return invalid_argument("a format key has no end");
  const std::string key = format_.bytes.substr(at_ + 1, close - at_ - 1);
  at_ = close + 1;
  if (!arguments_.is(Kind::dict)) return invalid_argument("a format with keys needs a dict");
  const Value* value = arguments_.dict().find(key);
  if (value == nullptr) return invalid_argument("a format's key '{}' is missing", key);
  used_ = 1;
  return value;
}

// Digits, or "*" for the next argument.
Result<int64_t> PercentFormatter::parse_count() {
  int64_t count = 0;
  if (peek() == '*') {
    ++at_;
    QUALIA_ASSIGN(const Value* value, next_argument());
    if (!value->is_integral()) return invalid_argument("'*' in a format needs an int");
    count = value->as_integer();
  } else {
    for (; peek() >= '0' && peek() <= '9' && count <= kFormatWidthMax; ++at_) {
      count = count * 10 + (peek() - '0');
    }
  }
  if (count > kFormatWidthMax || count < -kFormatWidthMax) {
    return invalid_argument("a format has width {} (limit {})", count, kFormatWidthMax);
  }
  return count;
}

void PercentFormatter::parse_flags(FormatSpec& spec) {
  bool left = false;
  bool zero = false;
  for (;; ++at_) {
    const char c = peek();
    if (c == '-') {
      left = true;
    } else if (c == '0') {
      zero = true;
    } else if (c == '+' || (c == ' ' && spec.sign != '+')) {
      spec.sign = c;
    } else if (c == '#') {
      spec.alternate = true;
    } else if (c != ' ') {
      break;
    }
  }
  if (zero && !left) {
    spec.fill = "0";
    spec.align = '=';
  } else {
    spec.align = left ? '<' : '>';
  }
}

Result<void> PercentFormatter::append_converted(const Value& value, FormatSpec spec) {
  if (spec.type == 's' || spec.type == 'r' || spec.type == 'a') {
    TextPtr text;
    if (spec.type == 's') {
      text = to_text(budget_, value);
    } else {
      MarkedBytes plain = repr(budget_, value);
      text = make_text(budget_, std::move(plain.bytes), plain.trust);
    }
    spec.fill = " ";
    spec.align = spec.align == '=' ? '>' : spec.align;
    append_padded(builder_, *text, spec);
    return {};
  }
  if (spec.type == 'c' && value.is(Kind::text) && value.text()->length() == 1) {
    spec.precision = -1;
    append_padded(builder_, *value.text(), spec);
    return {};
  }
  if (!value.is_number()) {
    if (value.is(Kind::undefined)) return tl::unexpected(undefined_error(value));
    return invalid_argument("%{} format needs a number, not '{}'", spec.type, type_name(value));
  }
  Value number = value;
  if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
  if (spec.type == 'd' && value.is(Kind::real)) {
    // The bounds are 2^63, exactly representable.
    if (!(std::abs(value.as_real()) < 9223372036854775808.0)) {
      return invalid_argument("%d of {} does not fit 64 bits", value.as_real());
    }
    number = Value(static_cast<int64_t>(value.as_real()));
  }
  if (spec.type == '%') return invalid_argument("format code '%' stands after flags");
  QUALIA_ASSIGN(const std::string text, format_number(number, spec));
  builder_.append(text);
  return {};
}

// One conversion; at_ is behind its '%'.
Result<void> PercentFormatter::convert() {
  const Value* value = nullptr;
  if (peek() == '(') {
    QUALIA_ASSIGN(value, named_argument());
  }
  FormatSpec spec;
  parse_flags(spec);
  QUALIA_ASSIGN(spec.width, parse_count());
  if (spec.width < 0) {
    spec.align = '<';
    spec.width = -spec.width;
  }
  if (peek() == '.') {
    ++at_;
    QUALIA_ASSIGN(spec.precision, parse_count());
    if (spec.precision > 1000)
      return invalid_argument("a format has precision {} (limit 1000)", spec.precision);
  }
  while (peek() == 'l' || peek() == 'h' || peek() == 'L') ++at_;
  if (at_end()) return invalid_argument("a format ends within a conversion");
  spec.type = format_.bytes[at_++];
  if (std::string_view("sraciduoxXeEfFgG").find(spec.type) == std::string_view::npos) {
    return invalid_argument("'%{}' is no conversion of a format", spec.type);
  }
  if (value == nullptr) {
    QUALIA_ASSIGN(value, next_argument());
  }
  return append_converted(*value, std::move(spec));
}

Result<Value> PercentFormatter::run() {
  while (!at_end() && budget_.spend(1)) {
    const size_t percent = std::min(format_.bytes.find('%', at_), format_.size());
    builder_.append(format_, at_, percent);
    at_ = percent + 1;
    if (percent == format_.size()) break;
    if (peek() == '%') {
      builder_.append(format_, at_, at_ + 1);
      ++at_;
      continue;
    }
    QUALIA_TRY(convert());
  }
  const bool leftover = is_tuple(arguments_) ? used_ < arguments_.sequence().items.size()
                                             : used_ == 0 && !arguments_.is(Kind::dict) &&
                                                   !arguments_.is(Kind::sequence);
  if (leftover) return invalid_argument("a format has more arguments than it names");
  return Value(builder_.finish());
}

}  // namespace

Result<Value> percent_format(Budget& budget, const TextPtr& format, const Value& arguments) {
  return PercentFormatter(budget, format, arguments).run();
}

}  // namespace qualia::jinja
