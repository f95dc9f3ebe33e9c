// The letters that byte-level BPE writes bytes with: every byte is one printable character, so that
// a vocabulary is text. Printable Latin-1 bytes are their own letter; the other 68 are U+0100 up.
// Thread-safety: pure. Errors: nullopt for a piece that holds any other character.
// Source: the byte table of the GPT-2 encoder (Radford et al. 2019).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace qualia::tokenizer {

// The bytes that a piece stands for, or nullopt if some character of it is no byte letter.
std::optional<std::string> bytes_of_letters(std::string_view piece);

// The same, but characters that are no byte letters stand for themselves.
std::string bytes_of_piece(std::string_view piece);

// Bytes as letters: the inverse of bytes_of_letters.
std::string letters_of_bytes(std::string_view bytes);

}  // namespace qualia::tokenizer
