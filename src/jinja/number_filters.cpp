// Filters on numbers.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "jinja/builtins.h"
#include "jinja/literals.h"
#include "jinja/operators.h"
#include "jinja/text_functions.h"

namespace qualia::jinja {

namespace {

using Names = std::string_view;

// 2^63: the first double that does not fit.
constexpr double kIntegerLimit = 9223372036854775808.0;

// Digits beyond this change nothing in a double.
constexpr int64_t kRoundDigitsMax = 330;

std::string without_space_and_underscores(Runtime& runtime, const TextPtr& text) {
  const TextPtr stripped = strip(runtime.budget, text, Side::both, std::nullopt);
  std::string out;
  for (const char c : stripped->bytes) {
    if (c != '_') out += c;
  }
  return out;
}

std::optional<int64_t> truncated(double value) {
  if (!(std::abs(value) < kIntegerLimit)) return std::nullopt;
  return static_cast<int64_t>(value);
}

// int(text, base), where base 0 and the own base allow a prefix.
std::optional<int64_t> parse_integer(std::string_view text, int64_t base) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.size() > 2 && text[0] == '0') {
    const char kind = static_cast<char>(text[1] | 0x20);
    const int64_t prefix_base = kind == 'x' ? 16 : (kind == 'o' ? 8 : (kind == 'b' ? 2 : 10));
    if (prefix_base != 10 && (base == prefix_base || base == 0)) {
      base = prefix_base;
      text.remove_prefix(2);
    }
  }
  if (base == 0) base = 10;
  if (base < 2 || base > 36 || text.empty() || text.front() == '-') return std::nullopt;
  int64_t value = 0;
  const auto result =
      std::from_chars(text.data(), text.data() + text.size(), value, static_cast<int>(base));
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return negative ? -value : value;
}

std::optional<double> to_real(Runtime& runtime, const Value& value) {
  if (value.is_number()) return value.as_real();
  if (!value.is(Kind::text)) return std::nullopt;
  return parse_real(without_space_and_underscores(runtime, value.text()));
}

Result<Value> int_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"default", "base"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("int", kParameters, 0, arguments));
  QUALIA_ASSIGN(const int64_t base, bound.integer(1, 10));
  if (self.is(Kind::undefined)) return tl::unexpected(undefined_error(self));
  std::optional<int64_t> value;
  if (self.is_integral()) value = self.as_integer();
  if (self.is(Kind::text)) {
    value = parse_integer(without_space_and_underscores(runtime, self.text()), base);
  }
  if (!value) {
    const std::optional<double> real = to_real(runtime, self);
    if (real) value = truncated(*real);
  }
  if (value) return Value(*value);
  return bound.get(0) != nullptr ? *bound.get(0) : Value(int64_t{0});
}

Result<Value> float_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"default"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("float", kParameters, 0, arguments));
  if (self.is(Kind::undefined)) return tl::unexpected(undefined_error(self));
  if (const auto value = to_real(runtime, self)) return Value(*value);
  return bound.get(0) != nullptr ? *bound.get(0) : Value(0.0);
}

Result<Value> abs_filter(Runtime&, const Value& self, const Arguments&) {
  if (self.is(Kind::real)) return Value(std::abs(self.as_real()));
  if (self.is_integral()) return self.as_integer() < 0 ? negated(self) : Value(self.as_integer());
  if (self.is(Kind::undefined)) return tl::unexpected(undefined_error(self));
  return invalid_argument("abs needs a number, not '{}'", type_name(self));
}

// Python's round(): correct decimal rounding of the exact binary value, half to even.
double rounded(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > kRoundDigitsMax) return value;
  if (digits >= 0) {
    return parse_real(fmt::format("{:.{}f}", value, static_cast<int>(digits))).value_or(value);
  }
  if (digits < -kRoundDigitsMax) return 0.0 * value;
  const double scale = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(value / scale) * scale;
}

Result<Value> rounded_integer(Budget& budget, int64_t value, int64_t digits) {
  if (digits >= 0) return Value(value);
  if (digits < -18) return Value(int64_t{0});
  int64_t scale = 1;
  for (int64_t i = digits; i < 0; ++i) scale *= 10;
  int64_t quotient = value / scale;
  const int64_t remainder = value % scale;
  const int64_t twice = remainder < 0 ? -remainder : remainder;
  const bool up = twice > scale - twice || (twice == scale - twice && quotient % 2 != 0);
  if (up) quotient += value < 0 ? -1 : 1;
  return arithmetic(budget, BinaryOp::multiply, Value(quotient), Value(scale));
}

Result<Value> round_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"precision", "method"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("round", kParameters, 0, arguments));
  QUALIA_ASSIGN(const int64_t digits, bound.integer(0, 0));
  std::string method = "common";
  if (bound.get(1) != nullptr) {
    QUALIA_ASSIGN(const TextPtr given, bound.text(1));
    method = given->bytes;
  }
  if (self.is(Kind::undefined)) return tl::unexpected(undefined_error(self));
  if (!self.is_number()) return invalid_argument("round needs a number, not '{}'", type_name(self));
  if (method == "common") {
    if (self.is_integral()) return rounded_integer(runtime.budget, self.as_integer(), digits);
    return Value(rounded(self.as_real(), digits));
  }
  if (method != "ceil" && method != "floor") {
    return invalid_argument("round has methods common, ceil and floor, not '{}'", method);
  }
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double scaled = self.as_real() * scale;
  return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Result<Value> file_size_filter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"binary"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("filesizeformat", kParameters, 0, arguments));
  const bool binary = bound.boolean(0, false);
  const auto bytes = to_real(runtime, self);
  if (!bytes) return invalid_argument("filesizeformat needs a number, not '{}'", type_name(self));
  const double base = binary ? 1024 : 1000;
  if (*bytes == 1) return Value(make_text(runtime.budget, "1 Byte"));
  if (*bytes < base)
    return Value(make_text(runtime.budget, fmt::format("{:.0f} Bytes", std::trunc(*bytes))));
  double unit = base;
  size_t index = 0;
  constexpr std::string_view kPrefixes = "kMGTPEZY";
  while (index + 1 < kPrefixes.size() && *bytes >= unit * base) {
    unit *= base;
    ++index;
  }
  const char prefix = binary && index == 0 ? 'K' : kPrefixes[index];
  return Value(make_text(runtime.budget,
                         fmt::format("{:.1f} {}{}", *bytes / unit, prefix, binary ? "iB" : "B")));
}

constexpr NamedBuiltin kNumberFilters[] = {
    {"int", int_filter},
    {"float", float_filter},
    {"abs", abs_filter},
    {"round", round_filter},
    {"filesizeformat", file_size_filter},
};

}  // namespace

std::span<const NamedBuiltin> number_filters() { return kNumberFilters; }

}  // namespace qualia::jinja
