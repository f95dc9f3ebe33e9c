#include <algorithm>

#include "lanes/reference/step.h"

namespace qualia::lanes::reference {
namespace {

// Outputs [begin, end) of the products laid end to end.
void multiply_range(std::span<const Product> products, size_t row_count, size_t begin, size_t end,
                    float* scratch) {
  size_t first = 0;
  for (const Product& product : products) {
    const size_t n = product.weight->n;
    const size_t from = std::max(begin, first);
    const size_t to = std::min(end, first + n);
    if (from < to) {
      ops::matmul_f32(*product.weight, product.x, row_count, product.y, from - first, to - first,
                      scratch);
    }
    first += n;
  }
}

}  // namespace

void multiply(Step& step, std::span<const Product> products, size_t row_count) {
  size_t outputs = 0;
  size_t inputs = 0;
  for (const Product& product : products) {
    outputs += product.weight->n;
    inputs = std::max(inputs, product.weight->k);
  }
  const size_t ranges = kRangesPerThread * step.pool.thread_count();
  constexpr size_t kUnit = ops::kMatmulRowsAtOnce;
  const size_t grain = ((outputs + ranges - 1) / ranges + kUnit - 1) / kUnit * kUnit;
  const size_t scratch_count = ops::matmul_scratch_count(inputs);
  step.pool.parallel_for(outputs, grain, [&](size_t begin, size_t end) {
    // Each range has its own part of the scratch buffer: at most `ranges` of them.
    float* scratch = step.work.scratch.data() + begin / grain * scratch_count;
    multiply_range(products, row_count, begin, end, scratch);
  });
}

}  // namespace qualia::lanes::reference
