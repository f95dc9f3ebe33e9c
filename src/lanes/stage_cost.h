// What the stages of a step read and compute, on lanes whose steps and weights have the same parts.
// Thread-safety: pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lanes/stage_clock.h"

namespace qualia::lanes {

// What a lane knows of its own: `product(weight, rows)`, the cost of a weight times `rows` rows,
// and `attention(layer)`. `output_rows` of the step are computed `at_once` at a time; `index` is
// the layer, or which of those parts.
template <typename Step, typename Product, typename Attention>
profile::Cost stage_cost(const Step& step, Stage stage, uint32_t index, size_t output_rows,
                         size_t at_once, const Product& product, const Attention& attention) {
  const size_t rows = step.row_count();
  const auto products = [&](size_t count, const auto&... weights) {
    profile::Cost sum;
    const auto add = [&](const profile::Cost& cost) {
      sum.bytes += cost.bytes;
      sum.multiply_adds += cost.multiply_adds;
    };
    (add(product(weights, count)), ...);
    return sum;
  };
  if (stage == Stage::embedding) return {rows * step.weights.embedding.row_bytes, 0};
  if (stage == Stage::attend) return attention(index);
  if (stage == Stage::output) {
    return products(std::min(output_rows - index * at_once, at_once), step.weights.output);
  }
  const auto& weights = step.weights.layers[index];
  if (stage == Stage::qkv) return products(rows, weights.query, weights.key, weights.value);
  if (stage == Stage::attention_output) return products(rows, weights.attention_output);
  if (stage == Stage::gate_up) return products(rows, weights.gate, weights.up);
  return products(rows, weights.down);
}

}  // namespace qualia::lanes
