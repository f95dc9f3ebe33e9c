#include "ops/top_k.h"

#include <algorithm>
#include <numeric>

namespace qualia::ops {

size_t top_k_f32(const float* logits, size_t count, size_t k, uint32_t* out) noexcept {
  const size_t kept = std::min(k, count);
  if (kept == 0) return 0;
  const auto better = [logits](uint32_t a, uint32_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  };
  // A heap of the best so far with the worst of them on top.
  std::iota(out, out + kept, 0U);
  std::make_heap(out, out + kept, better);
  for (size_t i = kept; i < count; ++i) {
    const auto index = static_cast<uint32_t>(i);
    if (!better(index, out[0])) continue;
    std::pop_heap(out, out + kept, better);
    out[kept - 1] = index;
    std::push_heap(out, out + kept, better);
  }
  std::sort_heap(out, out + kept, better);
  return kept;
}

}  // namespace qualia::ops
