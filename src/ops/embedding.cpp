#include "ops/embedding.h"

#include "ops/dequantize.h"

namespace qualia::ops {

void embedding_f32(const EmbeddingTable& table, const int32_t* tokens, size_t count,
                   float* out) noexcept {
  const DequantizeFunction dequantize = find_dequantize(table.dtype);
  for (size_t i = 0; i < count; ++i) {
    const auto token = static_cast<size_t>(tokens[i]);
    dequantize(table.data + token * table.row_bytes, out + i * table.width, table.width);
  }
}

}  // namespace qualia::ops
