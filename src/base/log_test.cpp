#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace qualia {
namespace {

using ::testing::HasSubstr;

class Log : public ::testing::Test {
 protected:
  ~Log() override { set_log_level(LogLevel::warn); }
};

TEST_F(Log, ParsesEachLevelInAnyCase) {
  EXPECT_EQ(parse_log_level("trace"), LogLevel::trace);
  EXPECT_EQ(parse_log_level("Debug"), LogLevel::debug);
  EXPECT_EQ(parse_log_level("INFO"), LogLevel::info);
  EXPECT_EQ(parse_log_level("warn"), LogLevel::warn);
  EXPECT_EQ(parse_log_level("eRRor"), LogLevel::error);
  EXPECT_EQ(parse_log_level("off"), LogLevel::off);
}

TEST_F(Log, RefusesAnUnknownLevelAndNamesTheKnownOnes) {
  for (const std::string text : {"", "loud", "warning", "info "}) {
    const Result<LogLevel> level = parse_log_level(text);
    ASSERT_FALSE(level.has_value()) << text;
    EXPECT_EQ(level.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(level.error().message, HasSubstr("'" + text + "'"));
    EXPECT_THAT(level.error().message, HasSubstr("trace, debug, info, warn, error, off"));
  }
}

TEST_F(Log, EnablesTheLevelThatWasSetAndThoseAbove) {
  EXPECT_FALSE(log_enabled(LogLevel::info));
  EXPECT_TRUE(log_enabled(LogLevel::warn));
  set_log_level(LogLevel::debug);
  EXPECT_FALSE(log_enabled(LogLevel::trace));
  EXPECT_TRUE(log_enabled(LogLevel::debug));
  EXPECT_TRUE(log_enabled(LogLevel::error));
  set_log_level(LogLevel::off);
  EXPECT_FALSE(log_enabled(LogLevel::error));
}

TEST_F(Log, WritesToStandardErrorOnly) {
  set_log_level(LogLevel::info);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  log(LogLevel::info, "{} of {}", 1, 2);
  log(LogLevel::debug, "unseen");
  log_line(LogLevel::warn, "braces {} stay");
  const std::string err = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_THAT(err, HasSubstr("1 of 2\n"));
  EXPECT_THAT(err, HasSubstr("braces {} stay\n"));
  EXPECT_THAT(err, ::testing::Not(HasSubstr("unseen")));
}

TEST_F(Log, KeepsAMessageOnOneLineWhateverItHolds) {
  ::testing::internal::CaptureStderr();
  log(LogLevel::warn, "'{}'", "a\nb\x1b[31mc\x7F é");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("'a\\x0ab\\x1b[31mc\\x7f é'\n"));
}

}  // namespace
}  // namespace qualia
