// The log sink: one process-wide stream of lines on standard error, wrapped around spdlog.
// Thread-safety: all functions may be called from any thread.
// Standard output is for data; everything a person should merely notice goes through here.
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "qualia/result.h"

namespace qualia {

enum class LogLevel { trace, debug, info, warn, error, off };

// "trace", "debug", "info", "warn", "error" or "off", any case. Errors: names the allowed words.
Result<LogLevel> parse_log_level(std::string_view text);

// Default: warn.
void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
// Control characters (of a file's name, say) become escapes: a message stays one line.
void log_line(LogLevel level, std::string_view message);

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace qualia
