// strftime in English, whatever the locale, for UTC.
// Thread-safety: pure.
// Source: C11 7.27.3.5 in the "C" locale; civil dates after Hinnant, "chrono-compatible low-level
// date algorithms".
#pragma once

#include <string>
#include <string_view>

namespace qualia::jinja {

// Unknown conversions stay as they are. Years are clamped to 1-9999.
std::string format_time(std::string_view format, long long unix_seconds);

}  // namespace qualia::jinja
