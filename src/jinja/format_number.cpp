// Numbers and padding of jinja_format.h. Everything goes through fmt, which ignores the locale.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "jinja/format.h"
#include "jinja/operators.h"
#include "jinja/repr.h"
#include "jinja/unicode.h"

namespace qualia::jinja {

namespace {

std::string group_digits(std::string_view digits, char separator, size_t group) {
  if (separator == '\0') return std::string(digits);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % group == 0) out += separator;
    out += digits[i];
  }
  return out;
}

std::string sign_of(bool negative, char sign) {
  if (negative) return "-";
  return sign == '-' ? "" : std::string(1, sign);
}

// Pads between sign and digits for '=', around them otherwise.
std::string pad_number(std::string sign, const std::string& digits, const FormatSpec& spec) {
  const auto width = static_cast<size_t>(spec.width);
  const size_t size = sign.size() + digits.size();
  const size_t missing = width > size ? width - size : 0;
  const char align = spec.align == '\0' ? '>' : spec.align;
  const size_t left = align == '<' ? 0 : (align == '^' ? missing / 2 : missing);
  std::string out;
  if (align == '=') out = sign;
  for (size_t i = 0; i < left; ++i) out += spec.fill;
  if (align != '=') out += sign;
  out += digits;
  for (size_t i = left; i < missing; ++i) out += spec.fill;
  return out;
}

Result<std::string> format_integer(int64_t value, const FormatSpec& spec) {
  const bool negative = value < 0;
  const uint64_t magnitude =
      negative ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string sign = sign_of(negative, spec.sign);
  std::string digits;
  size_t group = 4;
  switch (spec.type) {
    case 'x':
      digits = fmt::format("{:x}", magnitude);
      break;
    case 'X':
      digits = fmt::format("{:X}", magnitude);
      break;
    case 'o':
      digits = fmt::format("{:o}", magnitude);
      break;
    case 'b':
      digits = fmt::format("{:b}", magnitude);
      break;
    default:
      digits = fmt::format("{}", magnitude);
      group = 3;
  }
  if (spec.alternate && group == 4) sign += std::string("0") + spec.type;
  // printf-style precision is the least number of digits.
  if (spec.precision > static_cast<int64_t>(digits.size())) {
    digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
  }
  return pad_number(std::move(sign), group_digits(digits, spec.grouping, group), spec);
}

std::string real_digits(double magnitude, const FormatSpec& spec) {
  const int precision = spec.precision < 0 ? 6 : static_cast<int>(spec.precision);
  switch (spec.type) {
    case 'e':
      return fmt::format("{:.{}e}", magnitude, precision);
    case 'E':
      return fmt::format("{:.{}E}", magnitude, precision);
    case 'f':
    case 'F':
      return fmt::format("{:.{}f}", magnitude, precision);
    case '%':
      return fmt::format("{:.{}f}%", magnitude * 100, precision);
    case 'g':
      return fmt::format("{:.{}g}", magnitude, std::max(precision, 1));
    case 'G':
      return fmt::format("{:.{}G}", magnitude, std::max(precision, 1));
    default:
      if (spec.precision < 0) return real_repr(magnitude);
      std::string digits = fmt::format("{:.{}g}", magnitude, std::max(precision, 1));
      if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
      return digits;
  }
}

std::string format_real(double value, const FormatSpec& spec) {
  const bool negative = std::signbit(value) && !std::isnan(value);
  std::string digits = real_digits(std::abs(value), spec);
  if (spec.grouping != '\0') {
    const size_t integer_end = std::min(digits.find_first_not_of("0123456789"), digits.size());
    digits =
        group_digits(digits.substr(0, integer_end), spec.grouping, 3) + digits.substr(integer_end);
  }
  return pad_number(sign_of(negative, spec.sign), digits, spec);
}

bool is_real_type(char type) {
  return type != '\0' && std::string_view("eEfFgG%").find(type) != std::string_view::npos;
}

}  // namespace

Result<std::string> format_number(const Value& value, const FormatSpec& spec) {
  const bool known = std::string_view("bcdoxX").find(spec.type) != std::string_view::npos ||
                     is_real_type(spec.type) || spec.type == '\0';
  const bool integral = value.is_integral();
  if (!known || (!integral && spec.type != '\0' && !is_real_type(spec.type))) {
    return invalid_argument("format code '{}' is not defined for '{}'", spec.type,
                            type_name(value));
  }
  if (!integral || is_real_type(spec.type)) return format_real(value.as_real(), spec);
  if (spec.type != 'c') return format_integer(value.as_integer(), spec);
  if (value.as_integer() < 0 || value.as_integer() > 0x10ffff) {
    return invalid_argument("{} is no code point", value.as_integer());
  }
  std::string character;
  append_utf8(character, static_cast<int32_t>(value.as_integer()));
  return character;
}

TextPtr centered(Budget& budget, const Text& text, int64_t width, std::string_view fill) {
  const int64_t missing = std::max<int64_t>(0, width - static_cast<int64_t>(text.length()));
  const int64_t left = missing / 2 + (missing & width & 1);
  TextBuilder builder(budget);
  builder.append_repeated(fill, static_cast<size_t>(left));
  builder.append(text);
  builder.append_repeated(fill, static_cast<size_t>(missing - left));
  return builder.finish();
}

void append_padded(TextBuilder& builder, const Text& text, const FormatSpec& spec) {
  const auto length = static_cast<int64_t>(text.length());
  const int64_t kept = spec.precision < 0 ? length : std::min(length, spec.precision);
  const size_t end = byte_offset(text.bytes, static_cast<size_t>(kept));
  const auto missing = static_cast<size_t>(std::max<int64_t>(0, spec.width - kept));
  const char align = spec.align == '\0' ? '<' : spec.align;
  const size_t left = align == '<' ? 0 : (align == '^' ? missing / 2 : missing);
  builder.append_repeated(spec.fill, left);
  builder.append(text, 0, end);
  builder.append_repeated(spec.fill, missing - left);
}

}  // namespace qualia::jinja
