#include "tokenizer/byte_piece.h"

namespace qualia::tokenizer {
namespace {

constexpr int kNoDigit = -1;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return kNoDigit;
}

}  // namespace

std::optional<char> byte_of_piece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return std::nullopt;
  const int high = hex_digit(piece[3]);
  const int low = hex_digit(piece[4]);
  if (high == kNoDigit || low == kNoDigit) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

}  // namespace qualia::tokenizer
