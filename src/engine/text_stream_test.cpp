#include "engine/text_stream.h"

#include <gtest/gtest.h>

namespace qualia::engine {
namespace {

std::string stream(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  TextStream text(stops);
  std::string shown;
  for (const std::string& piece : pieces) shown += text.push(piece);
  return shown + text.finish();
}

TEST(TextStream, EndsBeforeAStopStringWhereverTheTokensCutIt) {
  const std::string whole = "one two END three";
  for (size_t a = 0; a <= whole.size(); ++a)
    for (size_t b = a; b <= whole.size(); ++b)
      EXPECT_EQ(stream({"END"}, {whole.substr(0, a), whole.substr(a, b - a), whole.substr(b)}),
                "one two ");
}

// Row S03: what was held back comes out when the reply ends without the stop string.
TEST(TextStream, DeliversTheHeldBackTailAtTheEnd) {
  EXPECT_EQ(stream({"\n\n"}, {"really", "?", "\n"}), "really?\n");
}

TEST(TextStream, HoldsBackNoMoreThanCouldBecomeAStopString) {
  TextStream text({"abc"});
  EXPECT_EQ(text.push("xab"), "x");
  EXPECT_EQ(text.push("d"), "abd");
}

TEST(TextStream, TakesTheEarliestOfSeveralStopStrings) {
  EXPECT_EQ(stream({"world", "lo w"}, {"hello world"}), "hel");
}

TEST(TextStream, FindsAStopStringThatOverlapsItself) {
  EXPECT_EQ(stream({"aab"}, {"a", "a", "a", "b"}), "a");
}

TEST(TextStream, NeverCutsACharacter) {
  TextStream text({});
  EXPECT_EQ(text.push("\xF0\x9F"), "");
  EXPECT_EQ(text.push("\x98\x80!"), "\xF0\x9F\x98\x80!");
}

TEST(TextStream, ShowsNothingAfterTheStop) {
  TextStream text({"x"});
  EXPECT_EQ(text.push("ax"), "a");
  EXPECT_TRUE(text.is_stopped());
  EXPECT_EQ(text.push("more"), "");
  EXPECT_EQ(text.finish(), "");
}

TEST(TextStream, IgnoresEmptyStopStrings) { EXPECT_EQ(stream({""}, {"abc"}), "abc"); }

}  // namespace
}  // namespace qualia::engine
