#include "tokenizer/stream_decoder.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tokenizer/utf8.h"

namespace qualia::tokenizer {
namespace {

std::string decode(const std::vector<std::string_view>& parts) {
  StreamDecoder decoder;
  std::string text;
  for (const std::string_view part : parts) {
    const std::string whole = decoder.push(part);
    EXPECT_TRUE(is_valid_utf8(whole));
    text += whole;
  }
  return text + decoder.finish();
}

TEST(StreamDecoder, HoldsBackAnUnfinishedCharacter) {
  StreamDecoder decoder;
  EXPECT_EQ(decoder.push("a\xF0\x9F"), "a");
  EXPECT_EQ(decoder.push("\xA6"), "");
  EXPECT_EQ(decoder.push("\x99!"), "\xF0\x9F\xA6\x99!");
  EXPECT_EQ(decoder.finish(), "");
}

TEST(StreamDecoder, ShowsAnUnfinishedEndOnce) {
  StreamDecoder decoder;
  EXPECT_EQ(decoder.push("\xE2\x82"), "");
  EXPECT_EQ(decoder.finish(), kReplacementCharacter);
  EXPECT_EQ(decoder.finish(), "");
  EXPECT_EQ(decoder.push("b"), "b");
}

// Unicode 15, section 3.9, tables 3-8 to 3-11.
TEST(StreamDecoder, ReplacesEachMaximalInvalidPart) {
  const std::string r(kReplacementCharacter);
  EXPECT_EQ(decode({"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"}), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(decode({"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"}), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(decode({"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"}),
            r + r + r + r + r + "A" + r + r + "B");
  EXPECT_EQ(decode({"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"}), r + r + r + r + "A");
}

TEST(StreamDecoder, GivesTheSameTextForEverySplit) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string_view parts[] = {
      "a",        "\xC3\xB6", "\xE2\x82\xAC", "\xF0\x9F\xA6\x99", "\xE2\x82",
      "\xF0\x9F", "\xFF",     "\x80",         "\xED\xA0\x80",     "\xF4\x90"};
  for (int i = 0; i < 300; ++i) {
    std::string bytes;
    for (size_t j = random() % 5; j > 0; --j) bytes += parts[random() % std::size(parts)];
    const std::string whole = decode({bytes});
    const std::string_view view = bytes;
    for (size_t a = 0; a <= bytes.size(); ++a) {
      for (size_t b = a; b <= bytes.size(); ++b) {
        EXPECT_EQ(decode({view.substr(0, a), view.substr(a, b - a), view.substr(b)}), whole);
      }
    }
    std::vector<std::string_view> single;
    for (size_t a = 0; a < bytes.size(); ++a) single.push_back(view.substr(a, 1));
    EXPECT_EQ(decode(single), whole);
  }
}

TEST(StreamDecoder, LeavesValidTextAsItIs) {
  const std::string text = "a\xC3\xB6\xE2\x82\xAC\xF0\x9F\xA6\x99";
  EXPECT_EQ(decode({text}), text);
}

}  // namespace
}  // namespace qualia::tokenizer
