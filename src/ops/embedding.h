// embedding: the rows of the token embedding for a list of tokens, as float32.
// Thread-safety: pure; distinct outputs may run in parallel.
// Shapes: table [vocabulary] rows of `width` values as a file stores them; tokens [count], each
// below the vocabulary size; out count rows of `width` f32, packed. Bound: exact
// (ops/dequantize.h). Errors: none; callers prove tokens and that find_dequantize knows the type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace qualia::ops {

struct EmbeddingTable {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  size_t width = 0;
  size_t row_bytes = 0;
};

void embedding_f32(const EmbeddingTable& table, const int32_t* tokens, size_t count,
                   float* out) noexcept;

}  // namespace qualia::ops
