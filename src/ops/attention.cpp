#include "ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/dot.h"

namespace qualia::ops {
namespace {

struct RunningSoftmax {
  float maximum = -std::numeric_limits<float>::infinity();
  double denominator = 0.0;
  double sums[kAttentionHeadDimMax];  // the first head_dim are used
};

// Scores of `count` keys, and their maximum; a NaN score is the maximum, so that it is not lost.
float score_page(const float* query, const float* keys, size_t count, size_t head_dim, float scale,
                 float* scores) noexcept {
  float maximum = -std::numeric_limits<float>::infinity();
  for (size_t p = 0; p < count; ++p) {
    scores[p] = scale * dot_f32(query, keys + p * head_dim, head_dim);
    if (!(scores[p] <= maximum)) maximum = scores[p];
  }
  return maximum;
}

void add_page(const float* scores, float page_maximum, const float* values, size_t count,
              size_t head_dim, RunningSoftmax& state) noexcept {
  const float maximum = page_maximum <= state.maximum ? state.maximum : page_maximum;
  // exp(-inf) = 0 for the first page, where the sums are zero anyway.
  const double rescale =
      std::exp(static_cast<double>(state.maximum) - static_cast<double>(maximum));
  float part[kAttentionHeadDimMax];
  std::fill_n(part, head_dim, 0.0F);
  double part_denominator = 0.0;
  for (size_t p = 0; p < count; ++p) {
    const float weight = std::exp(scores[p] - maximum);
    part_denominator += static_cast<double>(weight);
    for (size_t d = 0; d < head_dim; ++d) part[d] += weight * values[p * head_dim + d];
  }
  state.maximum = maximum;
  state.denominator = state.denominator * rescale + part_denominator;
  for (size_t d = 0; d < head_dim; ++d) {
    state.sums[d] = state.sums[d] * rescale + static_cast<double>(part[d]);
  }
}

}  // namespace

void attention_f32(const float* query, const PagedKv& kv, size_t position_count, size_t head_dim,
                   float score_scale, float* out) noexcept {
  RunningSoftmax state;
  std::fill_n(state.sums, head_dim, 0.0);
  float scores[kAttentionPagePositionsMax];
  for (size_t begin = 0; begin < position_count; begin += kv.page_positions) {
    const float* page = kv.pages[begin / kv.page_positions];
    const size_t count = std::min(kv.page_positions, position_count - begin);
    const float maximum =
        score_page(query, page + kv.key_offset, count, head_dim, score_scale, scores);
    add_page(scores, maximum, page + kv.value_offset, count, head_dim, state);
  }
  for (size_t d = 0; d < head_dim; ++d) {
    out[d] = static_cast<float>(state.sums[d] / state.denominator);
  }
}

}  // namespace qualia::ops
