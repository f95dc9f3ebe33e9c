#include "jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "jinja/case_table.h"

namespace qualia::jinja {

namespace {

struct Range {
  int32_t first;
  int32_t last;
};

// Digits that are no decimals, such as superscripts: Numeric_Type=Digit of Unicode 14.
constexpr Range kOtherDigits[] = {
    {0xb2, 0xb3},       {0xb9, 0xb9},       {0x1369, 0x1371},   {0x19da, 0x19da},
    {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
    {0x2474, 0x247c},   {0x2488, 0x2490},   {0x24ea, 0x24ea},   {0x24f5, 0x24fd},
    {0x24ff, 0x24ff},   {0x2776, 0x277e},   {0x2780, 0x2788},   {0x278a, 0x2792},
    {0x10a40, 0x10a43}, {0x10e60, 0x10e68}, {0x11052, 0x1105a}, {0x1f100, 0x1f10a},
};

constexpr int32_t kCapitalDottedI = 0x130;  // lower case "i" and U+0307
constexpr int32_t kCapitalSigma = 0x3a3;
constexpr int32_t kSmallSigma = 0x3c3;
constexpr int32_t kFinalSigma = 0x3c2;

utf8proc_category_t category(int32_t value) noexcept {
  return value < 0 ? UTF8PROC_CATEGORY_CN : utf8proc_category(value);
}

const LongCase* find_long_case(int32_t value) noexcept {
  const auto* found =
      std::lower_bound(std::begin(kLongCases), std::end(kLongCases), value,
                       [](const LongCase& row, int32_t wanted) { return row.value < wanted; });
  return found != std::end(kLongCases) && found->value == value ? found : nullptr;
}

void append_upper(std::string& out, int32_t value) {
  if (const LongCase* row = find_long_case(value)) {
    out += row->upper;
  } else {
    append_utf8(out, utf8proc_toupper(value));
  }
}

void append_title(std::string& out, int32_t value) {
  if (const LongCase* row = find_long_case(value)) {
    out += row->title;
  } else {
    append_utf8(out, utf8proc_totitle(value));
  }
}

bool is_cased(int32_t value) noexcept {
  return is_upper(value) || is_lower(value) || is_title(value);
}

bool is_case_ignorable(int32_t value) noexcept {
  const utf8proc_category_t kind = category(value);
  return kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_ME ||
         kind == UTF8PROC_CATEGORY_CF || kind == UTF8PROC_CATEGORY_LM ||
         kind == UTF8PROC_CATEGORY_SK || value == '\'' || value == '.' || value == ':' ||
         value == 0xb7 || value == 0x2019;
}

// A capital sigma is final after a cased letter and before none (Unicode 3.13, Final_Sigma).
bool is_final_sigma(std::string_view text, size_t begin, size_t end) noexcept {
  bool letter_before = false;
  for (size_t at = begin; at > 0;) {
    const CodePoint point = code_point_before(text, at);
    at -= point.size_bytes;
    if (is_case_ignorable(point.value)) continue;
    letter_before = is_cased(point.value);
    break;
  }
  if (!letter_before) return false;
  for (size_t at = end; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    at += point.size_bytes;
    if (is_case_ignorable(point.value)) continue;
    return !is_cased(point.value);
  }
  return true;
}

void append_lower(std::string& out, std::string_view text, size_t at, CodePoint point) {
  if (point.value == kCapitalDottedI) {
    out += "i\xcc\x87";
  } else if (point.value == kCapitalSigma) {
    append_utf8(out, is_final_sigma(text, at, at + point.size_bytes) ? kFinalSigma : kSmallSigma);
  } else {
    append_utf8(out, utf8proc_tolower(point.value));
  }
}

// Calls append(out, offset, code point) for each valid code point and copies the other bytes.
template <typename Append>
std::string map_code_points(std::string_view text, Append append) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    if (point.value < 0) {
      out += text[at];
    } else {
      append(out, at, point);
    }
    at += point.size_bytes;
  }
  return out;
}

}  // namespace

CodePoint code_point_at(std::string_view text, size_t offset) noexcept {
  const auto first = static_cast<unsigned char>(text[offset]);
  if (first < 0x80) return {first, 1};
  utf8proc_int32_t value = -1;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data() + offset);
  const size_t left = std::min<size_t>(text.size() - offset, 4);
  const utf8proc_ssize_t size =
      utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(left), &value);
  if (size <= 0 || value < 0) return {};
  return {value, static_cast<uint8_t>(size)};
}

CodePoint code_point_before(std::string_view text, size_t end) noexcept {
  for (size_t size = 1; size <= 4 && size <= end; ++size) {
    const auto byte = static_cast<unsigned char>(text[end - size]);
    if (byte >= 0x80 && byte < 0xc0) continue;  // a continuation byte
    const CodePoint point = code_point_at(text, end - size);
    if (point.size_bytes == size) return point;
    break;
  }
  return {};
}

void append_utf8(std::string& out, int32_t value) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t size = utf8proc_encode_char(value, bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
}

bool is_ascii(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

size_t code_point_count(std::string_view text) noexcept {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); at += code_point_at(text, at).size_bytes) ++count;
  return count;
}

size_t byte_offset(std::string_view text, size_t index) noexcept {
  size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += code_point_at(text, at).size_bytes;
  return at;
}

bool is_space(int32_t value) noexcept {
  return (value >= 0x09 && value <= 0x0d) || (value >= 0x1c && value <= 0x20) || value == 0x85 ||
         value == 0xa0 || value == 0x1680 || (value >= 0x2000 && value <= 0x200a) ||
         value == 0x2028 || value == 0x2029 || value == 0x202f || value == 0x205f ||
         value == 0x3000;
}

bool is_line_break(int32_t value) noexcept {
  return (value >= 0x0a && value <= 0x0d) || (value >= 0x1c && value <= 0x1e) || value == 0x85 ||
         value == 0x2028 || value == 0x2029;
}

bool is_printable(int32_t value) noexcept {
  if (value == ' ') return true;
  switch (category(value)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

bool is_alphabetic(int32_t value) noexcept {
  const utf8proc_category_t kind = category(value);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(int32_t value) noexcept { return category(value) == UTF8PROC_CATEGORY_ND; }

bool is_digit(int32_t value) noexcept {
  return is_decimal(value) ||
         std::any_of(std::begin(kOtherDigits), std::end(kOtherDigits), [value](const Range& range) {
           return value >= range.first && value <= range.last;
         });
}

bool is_numeric(int32_t value) noexcept {
  const utf8proc_category_t kind = category(value);
  return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO;
}

// Letter-like numbers and circled letters (Other_Uppercase, Other_Lowercase) have case by mapping.
bool is_upper(int32_t value) noexcept {
  const utf8proc_category_t kind = category(value);
  if (kind == UTF8PROC_CATEGORY_LU) return true;
  return (kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_SO) &&
         utf8proc_tolower(value) != value;
}

bool is_lower(int32_t value) noexcept {
  const utf8proc_category_t kind = category(value);
  if (kind == UTF8PROC_CATEGORY_LL || value == 0xaa || value == 0xba) return true;
  return (kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_SO) &&
         utf8proc_toupper(value) != value;
}

bool is_title(int32_t value) noexcept { return category(value) == UTF8PROC_CATEGORY_LT; }

bool is_identifier_part(int32_t value) noexcept {
  const utf8proc_category_t kind = category(value);
  return is_alphabetic(value) || kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_MC ||
         kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL ||
         kind == UTF8PROC_CATEGORY_PC;
}

std::string to_upper(std::string_view text) {
  return map_code_points(
      text, [](std::string& out, size_t, CodePoint point) { append_upper(out, point.value); });
}

std::string to_lower(std::string_view text) {
  return map_code_points(text, [text](std::string& out, size_t at, CodePoint point) {
    append_lower(out, text, at, point);
  });
}

std::string to_title(std::string_view text) {
  bool inside_word = false;
  return map_code_points(text, [&](std::string& out, size_t at, CodePoint point) {
    if (inside_word) {
      append_lower(out, text, at, point);
    } else {
      append_title(out, point.value);
    }
    inside_word = is_cased(point.value);
  });
}

std::string to_capitalized(std::string_view text) {
  return map_code_points(text, [text](std::string& out, size_t at, CodePoint point) {
    if (at == 0) {
      append_title(out, point.value);
    } else {
      append_lower(out, text, at, point);
    }
  });
}

std::string to_swapped_case(std::string_view text) {
  return map_code_points(text, [text](std::string& out, size_t at, CodePoint point) {
    if (is_upper(point.value)) {
      append_lower(out, text, at, point);
    } else if (is_lower(point.value)) {
      append_upper(out, point.value);
    } else {
      append_utf8(out, point.value);
    }
  });
}

}  // namespace qualia::jinja
