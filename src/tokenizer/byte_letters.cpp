#include "tokenizer/byte_letters.h"

#include <array>
#include <cstdint>

#include "tokenizer/utf8.h"

namespace qualia::tokenizer {
namespace {

constexpr bool is_own_letter(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// 256 Latin-1 characters and the 68 letters behind them.
constexpr unsigned kLetterEnd = 0x100 + 68;
constexpr int kNoByte = -1;

struct Letters {
  std::array<uint16_t, 256> of_byte{};
  std::array<int, kLetterEnd> byte_of{};
};

constexpr Letters make_letters() {
  Letters letters;
  letters.byte_of.fill(kNoByte);
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const unsigned letter = is_own_letter(byte) ? byte : next++;
    letters.of_byte[byte] = static_cast<uint16_t>(letter);
    letters.byte_of[letter] = static_cast<int>(byte);
  }
  return letters;
}

constexpr Letters kLetters = make_letters();

// The byte that one UTF-8 character is the letter of, or kNoByte. Letters take at most two bytes.
int byte_of_character(std::string_view character) {
  const auto first = static_cast<uint8_t>(character[0]);
  if (character.size() == 1) return first < 0x80 ? kLetters.byte_of[first] : kNoByte;
  if (character.size() != 2) return kNoByte;
  const unsigned code = ((first & 0x1Fu) << 6) | (static_cast<uint8_t>(character[1]) & 0x3Fu);
  return code < kLetterEnd ? kLetters.byte_of[code] : kNoByte;
}

}  // namespace

std::optional<std::string> bytes_of_letters(std::string_view piece) {
  std::string bytes;
  bytes.reserve(piece.size());
  for (size_t at = 0; at < piece.size();) {
    const Utf8Step step = utf8_step(piece, at);
    const int byte = byte_of_character(piece.substr(at, step.size));
    if (!step.valid || byte == kNoByte) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
    at += step.size;
  }
  return bytes;
}

std::string bytes_of_piece(std::string_view piece) {
  std::string bytes;
  bytes.reserve(piece.size());
  for (size_t at = 0; at < piece.size();) {
    const Utf8Step step = utf8_step(piece, at);
    const std::string_view character = piece.substr(at, step.size);
    const int byte = step.valid ? byte_of_character(character) : kNoByte;
    if (byte == kNoByte) {
      bytes.append(character);
    } else {
      bytes.push_back(static_cast<char>(byte));
    }
    at += step.size;
  }
  return bytes;
}

std::string letters_of_bytes(std::string_view bytes) {
  std::string piece;
  piece.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    const unsigned letter = kLetters.of_byte[static_cast<uint8_t>(byte)];
    if (letter < 0x80) {
      piece.push_back(static_cast<char>(letter));
    } else {
      piece.push_back(static_cast<char>(0xC0u | (letter >> 6)));
      piece.push_back(static_cast<char>(0x80u | (letter & 0x3Fu)));
    }
  }
  return piece;
}

}  // namespace qualia::tokenizer
