#include "ops/matmul.h"

#include <algorithm>

#include "ops/dequantize.h"
#include "ops/dot.h"

namespace qualia::ops {
namespace {

// Two rows of x against `count` (1 to 4) dequantised rows of W, in tiles of 2 x 2: eight
// accumulators and their operands fit the sixteen registers of SSE2.
template <size_t kRows>
void dot_rows(const float* weights, size_t count, const float* x, size_t k, float* y,
              size_t n) noexcept {
  size_t row = 0;
  for (; row + 2 <= count; row += 2) {
    dot_tile<2, kRows>(weights + row * k, k, x, k, k, y + row, n);
  }
  if (row < count) dot_tile<1, kRows>(weights + row * k, k, x, k, k, y + row, n);
}

}  // namespace

void matmul_f32(const MatmulWeight& weight, const float* x, size_t m, float* y, size_t n_begin,
                size_t n_end, float* scratch) noexcept {
  const DequantizeFunction dequantize = find_dequantize(weight.dtype);
  const size_t k = weight.k;
  for (size_t first = n_begin; first < n_end; first += kMatmulRowsAtOnce) {
    const size_t count = std::min(kMatmulRowsAtOnce, n_end - first);
    for (size_t i = 0; i < count; ++i) {
      dequantize(weight.data + (first + i) * weight.row_bytes, scratch + i * k, k);
    }
    size_t row = 0;
    for (; row + 2 <= m; row += 2) {
      dot_rows<2>(scratch, count, x + row * k, k, y + row * weight.n + first, weight.n);
    }
    if (row < m) dot_rows<1>(scratch, count, x + row * k, k, y + row * weight.n + first, weight.n);
  }
}

}  // namespace qualia::ops
