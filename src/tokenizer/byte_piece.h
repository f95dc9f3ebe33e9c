// Byte tokens: pieces of the form "<0xHH>" that stand for one byte.
// Thread-safety: pure.
// Errors: nullopt for anything but exactly two hexadecimal digits ("<0x-1>", "<0x100>", "<0x>",
// ...).
#pragma once

#include <optional>
#include <string_view>

namespace qualia::tokenizer {

std::optional<char> byte_of_piece(std::string_view piece);

}  // namespace qualia::tokenizer
