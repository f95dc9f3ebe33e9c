#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "base/error.h"

namespace qualia {
namespace {

constexpr std::array<std::pair<std::string_view, LogLevel>, 6> kLevelNames{{
    {"trace", LogLevel::trace},
    {"debug", LogLevel::debug},
    {"info", LogLevel::info},
    {"warn", LogLevel::warn},
    {"error", LogLevel::error},
    {"off", LogLevel::off},
}};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::trace:
      return spdlog::level::trace;
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      return spdlog::level::off;
  }
  return spdlog::level::warn;
}

// The one allowed singleton (see docs/style.md): every thread of the process logs to it.
spdlog::logger& sink() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto created = std::make_shared<spdlog::logger>(
        "qualia", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    created->set_pattern("qualia: %^%l%$: %v");
    created->set_level(spdlog::level::warn);
    return created;
  }();
  return *logger;
}

}  // namespace

Result<LogLevel> parse_log_level(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const auto& [name, level] : kLevelNames)
    if (lower == name) return level;
  return invalid_argument("Log level '{}' is unknown (trace, debug, info, warn, error, off).",
                          text);
}

void set_log_level(LogLevel level) { sink().set_level(to_spdlog(level)); }

bool log_enabled(LogLevel level) { return sink().should_log(to_spdlog(level)); }

void log_line(LogLevel level, std::string_view message) {
  std::string line;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F)
      line += fmt::format("\\x{:02x}", byte);
    else
      line += c;
  }
  sink().log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace qualia
