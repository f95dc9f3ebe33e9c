#include "lanes/reference/batch_rows.h"

#include <algorithm>

namespace qualia::lanes::reference {
namespace {

// Measured: ops/matmul_bench on a Xeon (Sapphire Rapids), 8 rows and more.
constexpr double kMultiplyAddsPerThreadSecond = 1.0e10;
constexpr double kBatchSeconds = 0.25;
// Fewer rows dequantise weights too often, more gain nothing.
constexpr double kBatchRowsMin = 8;
constexpr double kBatchRowsMax = 512;

}  // namespace

uint32_t batch_rows(const Weights& weights, size_t thread_count) {
  double multiply_adds = 0.0;  // of one row
  for (const LayerWeights& layer : weights.layers) {
    for (const ops::MatmulWeight* weight :
         {&layer.query, &layer.key, &layer.value, &layer.attention_output, &layer.gate, &layer.up,
          &layer.down}) {
      multiply_adds += static_cast<double>(weight->n) * static_cast<double>(weight->k);
    }
  }
  const double rows = kBatchSeconds * kMultiplyAddsPerThreadSecond *
                      static_cast<double>(thread_count) / multiply_adds;
  return static_cast<uint32_t>(std::clamp(rows, kBatchRowsMin, kBatchRowsMax));
}

}  // namespace qualia::lanes::reference
