#include "jinja/time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace qualia::jinja {

namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr int64_t kSecondsPerDay = 86400;
// 0001-01-01 and 9999-12-31T23:59:59.
constexpr int64_t kSecondsMin = -62135596800;
constexpr int64_t kSecondsMax = 253402300799;

struct Civil {
  int64_t year = 1970;
  unsigned month = 1;  // 1-12
  unsigned day = 1;
  unsigned week_day = 4;  // 0 is Sunday
  unsigned year_day = 0;  // 0-365
  unsigned hour = 0, minute = 0, second = 0;
  int64_t unix_seconds = 0;
};

bool is_leap(int64_t year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

Civil civil_time(int64_t unix_seconds) {
  Civil civil;
  unix_seconds = std::clamp(unix_seconds, kSecondsMin, kSecondsMax);
  civil.unix_seconds = unix_seconds;
  int64_t days = unix_seconds / kSecondsPerDay;
  int64_t rest = unix_seconds % kSecondsPerDay;
  if (rest < 0) {
    rest += kSecondsPerDay;
    --days;
  }
  civil.hour = static_cast<unsigned>(rest / 3600);
  civil.minute = static_cast<unsigned>(rest / 60 % 60);
  civil.second = static_cast<unsigned>(rest % 60);
  civil.week_day = static_cast<unsigned>(((days + 4) % 7 + 7) % 7);
  // Days since 0000-03-01, so that a leap day ends its year; eras have 400 years.
  const int64_t shifted = days + 719468;
  const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  const int64_t era_day = shifted - era * 146097;
  const int64_t era_year = (era_day - era_day / 1460 + era_day / 36524 - era_day / 146096) / 365;
  const int64_t march_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
  const int64_t march_month = (5 * march_day + 2) / 153;
  civil.day = static_cast<unsigned>(march_day - (153 * march_month + 2) / 5 + 1);
  civil.month = static_cast<unsigned>(march_month < 10 ? march_month + 3 : march_month - 9);
  civil.year = era_year + era * 400 + (civil.month <= 2 ? 1 : 0);
  constexpr std::array<unsigned, 12> kDaysBefore = {0,   31,  59,  90,  120, 151,
                                                    181, 212, 243, 273, 304, 334};
  civil.year_day = kDaysBefore[civil.month - 1] + civil.day - 1;
  if (civil.month > 2 && is_leap(civil.year)) ++civil.year_day;
  return civil;
}

unsigned hour_of_twelve(unsigned hour) { return hour % 12 == 0 ? 12 : hour % 12; }

// Weeks that start on `first_day` (0 is Sunday); days before the first such day are in week 0.
unsigned week_of_year(const Civil& civil, unsigned first_day) {
  return (civil.year_day + 7 - (civil.week_day + 7 - first_day) % 7) / 7;
}

// ISO 8601: weeks start on Monday, week 1 has the first Thursday.
struct IsoWeek {
  int64_t year = 0;
  unsigned week = 0;
};

IsoWeek iso_week(const Civil& civil) {
  const unsigned monday_based = (civil.week_day + 6) % 7;
  // The Thursday of the same week decides the year.
  const Civil thursday =
      civil_time(civil.unix_seconds + (3 - static_cast<int64_t>(monday_based)) * kSecondsPerDay);
  return {thursday.year, thursday.year_day / 7 + 1};
}

std::string convert_date(char conversion, const Civil& civil) {
  switch (conversion) {
    case 'a':
      return std::string(kDays[civil.week_day].substr(0, 3));
    case 'A':
      return std::string(kDays[civil.week_day]);
    case 'b':
    case 'h':
      return std::string(kMonths[civil.month - 1].substr(0, 3));
    case 'B':
      return std::string(kMonths[civil.month - 1]);
    case 'C':
      return fmt::format("{:02}", civil.year / 100);
    case 'd':
      return fmt::format("{:02}", civil.day);
    case 'e':
      return fmt::format("{:2}", civil.day);
    case 'G':
      return fmt::format("{}", iso_week(civil).year);
    case 'j':
      return fmt::format("{:03}", civil.year_day + 1);
    case 'm':
      return fmt::format("{:02}", civil.month);
    case 'u':
      return fmt::format("{}", civil.week_day == 0 ? 7 : civil.week_day);
    case 'U':
      return fmt::format("{:02}", week_of_year(civil, 0));
    case 'V':
      return fmt::format("{:02}", iso_week(civil).week);
    case 'w':
      return fmt::format("{}", civil.week_day);
    case 'W':
      return fmt::format("{:02}", week_of_year(civil, 1));
    case 'y':
      return fmt::format("{:02}", civil.year % 100);
    case 'Y':
      return fmt::format("{}", civil.year);
    default:
      return {'%', conversion};
  }
}

std::string convert(char conversion, const Civil& civil) {
  switch (conversion) {
    case '%':
      return "%";
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case 'H':
      return fmt::format("{:02}", civil.hour);
    case 'I':
      return fmt::format("{:02}", hour_of_twelve(civil.hour));
    case 'k':
      return fmt::format("{:2}", civil.hour);
    case 'l':
      return fmt::format("{:2}", hour_of_twelve(civil.hour));
    case 'M':
      return fmt::format("{:02}", civil.minute);
    case 'p':
      return civil.hour < 12 ? "AM" : "PM";
    case 's':
      return fmt::format("{}", civil.unix_seconds);
    case 'S':
      return fmt::format("{:02}", civil.second);
    case 'f':
      return "000000";  // Python's microseconds
    case 'z':
      return "+0000";
    case 'Z':
      return "UTC";
    default:
      return convert_date(conversion, civil);
  }
}

// Conversions that stand for several others.
std::string_view expansion(char conversion) {
  switch (conversion) {
    case 'c':
      return "%a %b %e %H:%M:%S %Y";
    case 'D':
    case 'x':
      return "%m/%d/%y";
    case 'F':
      return "%Y-%m-%d";
    case 'r':
      return "%I:%M:%S %p";
    case 'R':
      return "%H:%M";
    case 'T':
    case 'X':
      return "%H:%M:%S";
    default:
      return "";
  }
}

// "%-d" and "%#d" print without the leading zero or space.
std::string without_padding(std::string text) {
  const size_t first = text.find_first_not_of("0 ");
  return text.substr(std::min(first, text.size() - 1));
}

void append_formatted(std::string& out, std::string_view format, const Civil& civil) {
  for (size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%' || at + 1 == format.size()) {
      out += format[at];
      continue;
    }
    const bool unpadded =
        (format[at + 1] == '-' || format[at + 1] == '#') && at + 2 < format.size();
    at += unpadded ? 2 : 1;
    if (const std::string_view parts = expansion(format[at]); !parts.empty()) {
      append_formatted(out, parts, civil);  // expansions hold no expansions: one level
      continue;
    }
    const std::string text = convert(format[at], civil);
    out += unpadded ? without_padding(text) : text;
  }
}

}  // namespace

std::string format_time(std::string_view format, long long unix_seconds) {
  std::string out;
  append_formatted(out, format, civil_time(unix_seconds));
  return out;
}

}  // namespace qualia::jinja
