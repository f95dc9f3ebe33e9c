#include "base/error.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace qualia {
namespace {

Result<int> parse_digit(char digit) {
  if (digit < '0' || digit > '9') return invalid_argument("'{}' is no digit.", digit);
  return digit - '0';
}

Result<void> require_digit(char digit) {
  QUALIA_TRY(parse_digit(digit));
  return {};
}

Result<int> add_digits(char a, char b) {
  QUALIA_ASSIGN(const int first, parse_digit(a));
  QUALIA_ASSIGN(const int second, parse_digit(b));
  QUALIA_TRY(require_digit(b));
  return first + second;
}

Result<std::unique_ptr<std::string>> boxed(bool works) {
  if (!works) return out_of_memory("A box does not fit.");
  return std::make_unique<std::string>("inside");
}

Result<std::string> unboxed(bool works) {
  QUALIA_ASSIGN(std::unique_ptr<std::string> box, boxed(works));
  return *box;
}

TEST(Error, ConstructorsCarryCodeAndFormattedMessage) {
  const Result<int> result = corrupt_file("Tensor '{}' ends at {} (file has {} bytes).", "a", 8, 6);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::corrupt_file);
  EXPECT_EQ(result.error().message, "Tensor 'a' ends at 8 (file has 6 bytes).");
}

TEST(Error, AssignYieldsValuesAndPassesErrorsOn) {
  EXPECT_EQ(add_digits('3', '4'), 7);
  for (const Result<int>& failed : {add_digits('x', '4'), add_digits('4', 'x')}) {
    ASSERT_FALSE(failed.has_value());
    EXPECT_EQ(failed.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(failed.error().message, "'x' is no digit.");
  }
}

TEST(Error, TryReturnsTheErrorOfAnotherResultType) {
  EXPECT_TRUE(require_digit('1').has_value());
  const Result<void> failed = require_digit('y');
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().message, "'y' is no digit.");
}

TEST(Error, AssignMovesValuesThatCannotBeCopied) {
  EXPECT_EQ(unboxed(true), "inside");
  ASSERT_FALSE(unboxed(false).has_value());
  EXPECT_EQ(unboxed(false).error().code, ErrorCode::out_of_memory);
}

TEST(ErrorDeathTest, CheckNamesTheConditionAndThePlace) {
  QUALIA_CHECK(1 + 1 == 2);
  EXPECT_DEATH(QUALIA_CHECK(1 + 1 == 3), "1 \\+ 1 == 3 does not hold .*error_test\\.cpp:");
}

}  // namespace
}  // namespace qualia
