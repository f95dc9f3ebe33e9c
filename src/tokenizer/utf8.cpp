#include "tokenizer/utf8.h"

#include <cstdint>
#include <cstring>

namespace qualia::tokenizer {
namespace {

struct Lead {
  size_t size;         // bytes of the whole character; 0: no character starts so
  uint8_t second_min;  // bounds of the second byte; later ones are 80..BF
  uint8_t second_max;
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};  // no surrogates
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};  // up to U+10FFFF
  return {0, 0, 0};
}

}  // namespace

Utf8Step utf8_step(std::string_view text, size_t at) {
  const Lead lead = lead_of(static_cast<uint8_t>(text[at]));
  if (lead.size == 0) return {1, false, false};
  for (size_t i = 1; i < lead.size; ++i) {
    if (at + i == text.size()) return {i, false, true};
    const auto byte = static_cast<uint8_t>(text[at + i]);
    const uint8_t low = i == 1 ? lead.second_min : uint8_t{0x80};
    const uint8_t high = i == 1 ? lead.second_max : uint8_t{0xBF};
    if (byte < low || byte > high) return {i, false, false};
  }
  return {lead.size, true, false};
}

bool is_valid_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight = 0;
    if (text.size() - at >= sizeof(eight)) {
      std::memcpy(&eight, text.data() + at, sizeof(eight));
      if ((eight & 0x8080808080808080u) == 0) {
        at += sizeof(eight);
        continue;
      }
    }
    const Utf8Step step = utf8_step(text, at);
    if (!step.valid) return false;
    at += step.size;
  }
  return true;
}

}  // namespace qualia::tokenizer
