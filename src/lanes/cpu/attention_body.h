// Bodies of the attention kernels over f16 and f32 pages, and what those over INT8 share, over
// Simd. Included inside an anonymous namespace, and inside a target region where Simd needs one
// (kernels_body.h), after row_kernels_body.h. Thread-safety: pure. One pass over keys and values
// serves all queries of a tile. A query's sums are formed in an order that depends on its own
// positions alone: page by page, dimension by dimension, position by position; so a result is
// bit-equal whatever the tile. A query never reads weights beyond what it sees: a NaN that a later
// row wrote stays out of it.
#pragma once

// Elements as the page stores them; `keys` and `values` point to the kv head's place.
struct HalfPage {
  const uint16_t* keys;
  const uint16_t* values;
  Simd::F key(size_t index) const noexcept { return Simd::load_f16(keys + index); }
  Simd::F value(size_t index) const noexcept { return Simd::load_f16(values + index); }
};
struct FloatPage {
  const float* keys;
  const float* values;
  Simd::F key(size_t index) const noexcept { return Simd::load(keys + index); }
  Simd::F value(size_t index) const noexcept { return Simd::load(values + index); }
};

template <typename Page>
Page page_at(const KvLayout& layout, const std::byte* head) noexcept {
  Page page;
  page.keys = reinterpret_cast<decltype(page.keys)>(head);
  page.values = reinterpret_cast<decltype(page.values)>(head + layout.values_offset);
  if constexpr (requires { page.key_scales; }) {
    page.key_scales = reinterpret_cast<const uint16_t*>(head + layout.key_scales_offset);
    page.value_scales = reinterpret_cast<const uint16_t*>(head + layout.value_scales_offset);
  }
  return page;
}

// Reads ahead into the next page of a sequence while this one is computed: pages of a head lie far
// apart, where the hardware's prefetch doesn't look.
class PageAhead {
 public:
  PageAhead(const AttentionTile& tile, size_t next) noexcept {
    if (next >= tile.page_count) return;
    next_ = tile.pages[next] + tile.head_offset;
    left_ = tile.layout->head_bytes;
    step_bytes_ = left_ / kSteps + kLineBytes;
  }

  // Asks for a part of the page, until it is there.
  void step() noexcept {
    const std::byte* const end = next_ + std::min(left_, step_bytes_);
    left_ -= static_cast<size_t>(end - next_);
    for (; next_ < end; next_ += kLineBytes) __builtin_prefetch(next_);
    next_ = end;
  }

 private:
  static constexpr size_t kLineBytes = 64;
  // As many as a page of 64 dimensions has: a few lines at a time, while there is work beside.
  static constexpr size_t kSteps = 96 / Simd::kWidth;

  const std::byte* next_ = nullptr;
  size_t left_ = 0;
  size_t step_bytes_ = 0;
};

// Calls Work<n>::run(arguments...) for the n in 1 .. kMost that equals `count`.
template <size_t kMost, template <size_t> typename Work, typename... Arguments>
void run_of(size_t count, Arguments... arguments) noexcept {
  if constexpr (kMost > 1) {
    if (count != kMost) return run_of<kMost - 1, Work>(count, arguments...);
  }
  Work<kMost>::run(arguments...);
}

constexpr size_t kBlockVectors = kKeyBlock / Simd::kWidth;
constexpr size_t kGroupVectors = kKvGroup / Simd::kWidth;

// Scores of kQueries queries with the positions of kScoreBlocks key blocks from `block` on.
template <typename Page>
struct Score {
  template <size_t kQueries>
  struct Of {
    static void run(const Page* page, size_t head_dim, size_t block, const float* queries,
                    size_t query_stride, float* scores) noexcept {
      constexpr size_t kVectors = Simd::kScoreBlocks * kBlockVectors;
      Simd::F sums[kQueries][kVectors];
      for (size_t q = 0; q < kQueries; ++q) {
        for (size_t v = 0; v < kVectors; ++v) sums[q][v] = Simd::set(0.0F);
      }
      for (size_t d = 0; d < head_dim; ++d) {
        Simd::F keys[kVectors];
        for (size_t v = 0; v < kVectors; ++v) {
          const size_t row = (block + v / kBlockVectors) * head_dim + d;
          keys[v] = page->key(row * kKeyBlock + v % kBlockVectors * Simd::kWidth);
        }
        for (size_t q = 0; q < kQueries; ++q) {
          const Simd::F query = Simd::set(queries[q * query_stride + d]);
          for (size_t v = 0; v < kVectors; ++v) sums[q][v] = Simd::fma(query, keys[v], sums[q][v]);
        }
      }
      for (size_t q = 0; q < kQueries; ++q) {
        for (size_t v = 0; v < kVectors; ++v) {
          Simd::store(scores + q * kPagePositions + block * kKeyBlock + v * Simd::kWidth,
                      sums[q][v]);
        }
      }
    }
  };
};

template <typename Page>
void score_page(const AttentionTile& tile, const Page& page, size_t count, PageAhead& ahead,
                float* scores) noexcept {
  const size_t stride = tile.layout->padded_dim;
  for (size_t block = 0; block * kKeyBlock < count; block += Simd::kScoreBlocks) {
    ahead.step();
    for (size_t q = 0; q < tile.query_count; q += Simd::kScoreQueries) {
      const size_t queries = std::min(Simd::kScoreQueries, tile.query_count - q);
      run_of<Simd::kScoreQueries, Score<Page>::template Of>(queries, &page, tile.layout->head_dim,
                                                            block, tile.queries + q * stride,
                                                            stride, scores + q * kPagePositions);
    }
  }
}

// sums[q] += sum over positions [begin, end) of weights[q][p] * value[p], 32 dimensions of them.
template <typename Page>
struct Weigh {
  template <size_t kQueries>
  struct Of {
    static void run(const Page* page, size_t padded_dim, size_t first_dim, size_t begin, size_t end,
                    const float* weights, float* sums, size_t stride) noexcept {
      Simd::F total[kQueries][kGroupVectors];
      for (size_t q = 0; q < kQueries; ++q) {
        for (size_t v = 0; v < kGroupVectors; ++v) {
          total[q][v] = Simd::load(sums + q * stride + first_dim + v * Simd::kWidth);
        }
      }
      for (size_t p = begin; p < end; ++p) {
        Simd::F values[kGroupVectors];
        for (size_t v = 0; v < kGroupVectors; ++v) {
          values[v] = page->value(p * padded_dim + first_dim + v * Simd::kWidth);
        }
        for (size_t q = 0; q < kQueries; ++q) {
          const Simd::F weight = Simd::set(weights[q * kPagePositions + p]);
          for (size_t v = 0; v < kGroupVectors; ++v) {
            total[q][v] = Simd::fma(weight, values[v], total[q][v]);
          }
        }
      }
      for (size_t q = 0; q < kQueries; ++q) {
        for (size_t v = 0; v < kGroupVectors; ++v) {
          Simd::store(sums + q * stride + first_dim + v * Simd::kWidth, total[q][v]);
        }
      }
    }
  };
};

inline size_t visible_in_page(const AttentionTile& tile, size_t query, size_t first) noexcept {
  const size_t visible = tile.visible[query];
  return visible <= first ? 0 : std::min<size_t>(visible - first, kPagePositions);
}

// Adds a page's weighted values to queries [q, q + queries): what all of them see together, then
// the rest of each.
template <typename Page>
void weigh_queries(const AttentionTile& tile, const Page& page, size_t first, size_t q,
                   size_t queries, const float* weights, float* sums) noexcept {
  const size_t stride = tile.layout->padded_dim;
  size_t common = kPagePositions;
  for (size_t i = 0; i < queries; ++i) {
    common = std::min(common, visible_in_page(tile, q + i, first));
  }
  for (size_t dim = 0; dim < stride; dim += kKvGroup) {
    run_of<Simd::kValueQueries, Weigh<Page>::template Of>(queries, &page, stride, dim, size_t{0},
                                                          common, weights, sums, stride);
    for (size_t i = 0; i < queries; ++i) {
      const size_t end = visible_in_page(tile, q + i, first);
      if (end == common) continue;
      Weigh<Page>::template Of<1>::run(&page, stride, dim, common, end,
                                       weights + i * kPagePositions, sums + i * stride, stride);
    }
  }
}

template <typename Page>
void weigh_page(const AttentionTile& tile, const Page& page, size_t first, const float* weights,
                PageAhead& ahead, float* sums) noexcept {
  for (size_t q = 0; q < tile.query_count; q += Simd::kValueQueries) {
    const size_t queries = std::min(Simd::kValueQueries, tile.query_count - q);
    ahead.step();
    weigh_queries(tile, page, first, q, queries, weights + q * kPagePositions,
                  sums + q * tile.layout->padded_dim);
  }
}

inline void multiply_row(float* row, size_t count, float factor) noexcept {
  for (size_t i = 0; i < count; i += Simd::kWidth) {
    Simd::store(row + i, Simd::mul(Simd::load(row + i), Simd::set(factor)));
  }
}

// exp(x) of one value, by the same polynomial as the vectors.
inline float exp_one(float x) noexcept {
  float lanes[Simd::kWidth];
  Simd::store(lanes, exp_f(Simd::set(x)));
  return lanes[0];
}

// Turns `count` scores of a page into weights against the running maximum; sums already gathered
// are scaled down when the maximum rises.
inline void weights_of_scores(float* scores, size_t count, size_t padded_dim, float& maximum,
                              float& denominator, float* sums) noexcept {
  const float lowest = -std::numeric_limits<float>::infinity();
  std::fill(scores + count, scores + kPagePositions, lowest);
  Simd::F best = Simd::set(maximum);
  for (size_t p = 0; p < kPagePositions; p += Simd::kWidth) {
    best = Simd::max(Simd::load(scores + p), best);
  }
  const float raised = Simd::largest(best);
  if (raised > maximum && maximum != lowest) {
    const float factor = exp_one(maximum - raised);
    multiply_row(sums, padded_dim, factor);
    denominator *= factor;
  }
  maximum = raised;
  Simd::F total = Simd::set(0.0F);
  for (size_t p = 0; p < kPagePositions; p += Simd::kWidth) {
    const Simd::F weight = exp_f(Simd::sub(Simd::load(scores + p), Simd::set(maximum)));
    Simd::store(scores + p, weight);
    total = Simd::add(total, weight);
  }
  denominator += Simd::sum(total);
}

// A page's elements as float32, for tiles of many queries.
template <typename Page>
FloatPage widen_page(const Page& page, const KvLayout& layout, size_t count, float* keys,
                     float* values) noexcept {
  const size_t blocks = round_up(count, kKeyBlock * Simd::kScoreBlocks) / kKeyBlock;
  for (size_t block = 0; block < blocks; ++block) {
    for (size_t d = 0; d < layout.head_dim; ++d) {
      const size_t row = (block * layout.head_dim + d) * kKeyBlock;
      for (size_t i = 0; i < kKeyBlock; i += Simd::kWidth) {
        Simd::store(keys + row + i, page.key(row + i));
      }
    }
  }
  for (size_t i = 0; i < count * layout.padded_dim; i += Simd::kWidth) {
    Simd::store(values + i, page.value(i));
  }
  return {keys, values};
}

// Turns a page's scores into weights, each query's against its own running maximum.
inline void weights_of_page(const AttentionTile& tile, size_t first, float* scores,
                            const PartialAttention& out) noexcept {
  const size_t padded_dim = tile.layout->padded_dim;
  for (size_t q = 0; q < tile.query_count; ++q) {
    const size_t seen = visible_in_page(tile, q, first);
    if (seen == 0) continue;
    weights_of_scores(scores + q * kPagePositions, seen, padded_dim, out.maximum[q],
                      out.denominator[q], out.sums + q * padded_dim);
  }
}

template <typename Page>
void attend_page(const AttentionTile& tile, const Page& page, size_t first, size_t count,
                 PageAhead& ahead, const PartialAttention& out) noexcept {
  float* const scores = tile.scratch;
  score_page(tile, page, count, ahead, scores);
  weights_of_page(tile, first, scores, out);
  weigh_page(tile, page, first, scores, ahead, out.sums);
}

template <typename Page>
void attend_pages(const AttentionTile& tile, size_t begin, size_t end,
                  const PartialAttention& out) noexcept {
  const KvLayout& layout = *tile.layout;
  float* const keys = tile.scratch + tile.query_count * kPagePositions;
  float* const values = keys + kPagePositions * layout.padded_dim;
  // From here on, widening a page once costs less than widening it for each set of queries.
  const bool widen = tile.query_count > 2 * Simd::kScoreQueries;
  for (size_t first = begin; first < end; first += kPagePositions) {
    const Page page = page_at<Page>(layout, tile.pages[first / kPagePositions] + tile.head_offset);
    const size_t count = std::min<size_t>(kPagePositions, end - first);
    PageAhead ahead(tile, first / kPagePositions + 1);
    if (widen) {
      attend_page(tile, widen_page(page, layout, count, keys, values), first, count, ahead, out);
    } else {
      attend_page(tile, page, first, count, ahead, out);
    }
  }
}

// The functions above serve INT8 pages too.
#include "lanes/cpu/attention_int8_body.h"

void attend(const AttentionTile& tile, size_t begin, size_t end,
            const PartialAttention& out) noexcept {
  std::fill_n(out.maximum, tile.query_count, -std::numeric_limits<float>::infinity());
  std::fill_n(out.denominator, tile.query_count, 0.0F);
  std::fill_n(out.sums, tile.query_count * tile.layout->padded_dim, 0.0F);
  switch (tile.layout->type) {
    case KvType::int8:
      return attend_int8_pages(tile, begin, end, out);
    case KvType::f16:
      return attend_pages<HalfPage>(tile, begin, end, out);
    default:
      return attend_pages<FloatPage>(tile, begin, end, out);
  }
}

void merge(size_t query_count, size_t padded_dim, const PartialAttention& part,
           const PartialAttention& total) noexcept {
  for (size_t q = 0; q < query_count; ++q) {
    if (part.denominator[q] == 0.0F) continue;  // sees none of the part's positions
    const float maximum = std::max(total.maximum[q], part.maximum[q]);
    const float old_factor = exp_one(total.maximum[q] - maximum);
    const float new_factor = exp_one(part.maximum[q] - maximum);
    float* const to = total.sums + q * padded_dim;
    const float* const from = part.sums + q * padded_dim;
    for (size_t i = 0; i < padded_dim; i += Simd::kWidth) {
      const Simd::F kept = Simd::mul(Simd::load(to + i), Simd::set(old_factor));
      Simd::store(to + i, Simd::fma(Simd::load(from + i), Simd::set(new_factor), kept));
    }
    total.denominator[q] = total.denominator[q] * old_factor + part.denominator[q] * new_factor;
    total.maximum[q] = maximum;
  }
}
