// Any bytes through byte-level BPE: encoding and decoding gives them back, text is never a control
// token where it may not be, and the stream decoder agrees with itself on every split.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "tokenizer/bpe_patterns.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/test_vocabulary.h"

namespace {

using namespace qualia::tokenizer;

// All bytes, a few merges that build on each other, added tokens that overlap.
Vocabulary fuzz_vocabulary(std::string_view pre) {
  Vocabulary vocabulary = byte_vocabulary();
  vocabulary.pre = pre;
  for (const auto& [left, right] :
       {std::pair("a", "a"), std::pair("aa", "aa"), std::pair("a", "b"), std::pair(" ", "a"),
        std::pair(" ", " "), std::pair("\xE2", "\x82"), std::pair("\xF0", "\x9F"),
        std::pair("\n", "\n")}) {
    add_merge(vocabulary, left, right);
  }
  add_token(vocabulary, "<|im_start|>", TokenType::control);
  add_token(vocabulary, "<|im_end|>", TokenType::control);
  add_token(vocabulary, "<|", TokenType::user_defined);
  add_token(vocabulary, "  ", TokenType::user_defined);
  return vocabulary;
}

const std::vector<std::unique_ptr<const Tokenizer>>& tokenizers() {
  static const auto made = [] {
    std::vector<std::unique_ptr<const Tokenizer>> all;
    for (const BpeProfile& profile : bpe_profiles()) {
      all.push_back(create_or_throw(fuzz_vocabulary(profile.name)));
    }
    return all;
  }();
  return made;
}

std::string stream_decode(std::string_view first, std::string_view second) {
  StreamDecoder decoder;
  const std::string begin = decoder.push(first) + decoder.push(second);
  return begin + decoder.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const Tokenizer& tokenizer = *tokenizers()[data[0] % tokenizers().size()];
  const std::string_view text(reinterpret_cast<const char*>(data) + 3, size - 3);
  const size_t begin = data[1] % (text.size() + 1);
  const ByteRange untrusted{begin, begin + data[2] % (text.size() - begin + 1)};

  const std::vector<TokenId> plain = tokenizer.encode(text, AddSpecial::no, ControlText::plain);
  for (const TokenId id : plain) QUALIA_CHECK(!tokenizer.is_control(id));
  QUALIA_CHECK(tokenizer.decode(plain, ControlText::plain).value() == text);

  const std::vector<TokenId> parsed =
      tokenizer.encode(text, AddSpecial::no, ControlText::parse, {&untrusted, 1});
  size_t at = 0;
  for (const TokenId id : parsed) {
    const size_t next = at + tokenizer.decode({&id, 1}, ControlText::parse).value().size();
    const bool outside = next <= untrusted.begin || at >= untrusted.end;
    QUALIA_CHECK(!tokenizer.is_control(id) || outside);
    at = next;
  }
  QUALIA_CHECK(tokenizer.decode(parsed, ControlText::parse).value() == text);

  QUALIA_CHECK(stream_decode(text.substr(0, begin), text.substr(begin)) == stream_decode(text, ""));
  return 0;
}
