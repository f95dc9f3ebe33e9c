// For tests: parses bytes that a GgufWriter made and hands out the error.
// Thread-safety: pure.
#pragma once

#include <string>
#include <vector>

#include "gguf/gguf_file.h"
#include "support/gguf_writer.h"

namespace qualia::gguf {

constexpr std::string_view kTestName = "t.gguf";

// The error of parsing `bytes`; an empty message where there is none. The bytes are copied to a
// block of exactly their size, so that the address sanitizer sees a read of even one byte more.
inline Error error_of(std::string_view bytes) {
  const auto view = test::as_bytes(bytes);
  const std::vector<std::byte> exact(view.begin(), view.end());
  const auto file = File::parse(exact, kTestName);
  return file ? Error{} : file.error();
}

inline std::string message_of(std::string_view bytes) { return error_of(bytes).message; }

// A small sound model of two tensors, the last one without padding behind it.
inline test::GgufWriter sound_model() {
  test::GgufWriter writer;
  writer.kv_string("general.architecture", "llama").kv_u32("llama.block_count", 1);
  writer.tensor_f32("a", {16, 2}, 1.0F).tensor_f32("b", {32}, 2.0F);
  return writer;
}

}  // namespace qualia::gguf
