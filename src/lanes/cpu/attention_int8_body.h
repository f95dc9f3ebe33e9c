// Bodies of the attention kernels over INT8 pages. Included inside an anonymous namespace, and
// inside a target region where Simd needs one (kernels_body.h), by attention_body.h.
// Thread-safety: pure.
// Queries and softmax weights become 16-bit integers (32767 steps of their group's largest), so
// that a register multiplies twice as many elements as in float32 and codes need one widening:
//   score  += (key scale * query scale) * integer dot of 32 dimensions     |dot| <= 32 * 127 *
//   32767 sum    += weight scale * integer dot of a page's 64 positions          |dot| <= 64 * 127
//   * 32767
// A value's scale goes into its weight. Integer sums are exact: a position of weight 0 adds nothing
// whatever its code, and a result depends on no tile.
#pragma once

struct Int8Page {
  const int8_t* keys;
  const int8_t* values;
  const uint16_t* key_scales;
  const uint16_t* value_scales;
};

// 16-bit queries of a tile: words [query][padded_dim], scales [query][padded_dim / 32].
struct QueryWords {
  int16_t* words;
  float* scales;
};

// `count` values, a multiple of 32, as 16-bit integers; returns their scale, NaN where a value is
// not finite. Values that are all below 1e-30 become zero.
inline float words_of(const float* x, size_t count, int16_t* words) noexcept {
  Simd::F largest = Simd::set(0.0F);
  Simd::F zeros = Simd::set(0.0F);
  for (size_t i = 0; i < count; i += Simd::kWidth) {
    const Simd::F value = Simd::load(x + i);
    largest = Simd::max(Simd::max(value, Simd::sub(Simd::set(0.0F), value)), largest);
    zeros = Simd::fma(value, Simd::set(0.0F), zeros);
  }
  const float maximum = Simd::largest(largest);
  const float inverse = maximum > 1e-30F ? 32767.0F / maximum : 0.0F;
  for (size_t i = 0; i < count; i += Simd::kWidth) {
    Simd::store_i16(words + i, Simd::mul(Simd::load(x + i), Simd::set(inverse)));
  }
  return (inverse > 0.0F ? maximum / 32767.0F : 0.0F) + Simd::sum(zeros);
}

inline QueryWords query_words(const AttentionTile& tile, float* room) noexcept {
  const size_t padded_dim = tile.layout->padded_dim;
  const size_t groups = padded_dim / kKvGroup;
  QueryWords out{reinterpret_cast<int16_t*>(room + tile.query_count * groups), room};
  for (size_t i = 0; i < tile.query_count * groups; ++i) {
    out.scales[i] = words_of(tile.queries + i * kKvGroup, kKvGroup, out.words + i * kKvGroup);
  }
  return out;
}

// Scores of kQueries queries with the positions of kScoreBlocks key blocks from `block` on.
template <size_t kQueries>
struct Int8Score {
  static constexpr size_t kVectors = Simd::kScoreBlocks * kBlockVectors;

  static void run(const Int8Page* page, size_t padded_dim, size_t block, const int16_t* words,
                  const float* word_scales, PageAhead* ahead, float* scores) noexcept {
    const size_t groups = padded_dim / kKvGroup;
    for (size_t group = 0; group < groups; ++group) {
      ahead->step();
      Simd::I sums[kQueries][kVectors];
      add_group(page->keys + (block * padded_dim + group * kKvGroup) * kKeyBlock, padded_dim,
                words + group * kKvGroup, sums);
      const uint16_t* const scales = page->key_scales + group * kPagePositions + block * kKeyBlock;
      for (size_t v = 0; v < kVectors; ++v) {
        const Simd::F key_scale = Simd::load_f16(scales + v * Simd::kWidth);
        for (size_t q = 0; q < kQueries; ++q) {
          const Simd::F scale = Simd::mul(key_scale, Simd::set(word_scales[q * groups + group]));
          float* const at = scores + q * kPagePositions + block * kKeyBlock + v * Simd::kWidth;
          const Simd::F before = group == 0 ? Simd::set(0.0F) : Simd::load(at);
          Simd::store(at, Simd::fma(Simd::to_float(sums[q][v]), scale, before));
        }
      }
    }
  }

 private:
  // The integer dots of 32 dimensions.
  static void add_group(const int8_t* keys, size_t padded_dim, const int16_t* words,
                        Simd::I (&sums)[kQueries][kVectors]) noexcept {
    for (size_t q = 0; q < kQueries; ++q) {
      for (size_t v = 0; v < kVectors; ++v) sums[q][v] = Simd::zero();
    }
    for (size_t d = 0; d < kKvGroup; d += 2) {
      Simd::I two[kVectors];
      for (size_t v = 0; v < kVectors; ++v) {
        const size_t block_start = v / kBlockVectors * padded_dim * kKeyBlock;
        two[v] =
            Simd::widen(keys + block_start + d * kKeyBlock + v % kBlockVectors * 2 * Simd::kWidth);
      }
      for (size_t q = 0; q < kQueries; ++q) {
        const Simd::I factors = Simd::pair(words + q * padded_dim + d);
        for (size_t v = 0; v < kVectors; ++v) sums[q][v] = Simd::dot(sums[q][v], two[v], factors);
      }
    }
  }
};

inline void score_page(const AttentionTile& tile, const Int8Page& page, const QueryWords& queries,
                       size_t count, PageAhead& ahead, float* scores) noexcept {
  const size_t padded_dim = tile.layout->padded_dim;
  const size_t groups = padded_dim / kKvGroup;
  for (size_t block = 0; block * kKeyBlock < count; block += Simd::kScoreBlocks) {
    for (size_t q = 0; q < tile.query_count; q += Simd::kScoreQueries) {
      run_of<Simd::kScoreQueries, Int8Score>(
          std::min(Simd::kScoreQueries, tile.query_count - q), &page, padded_dim, block,
          static_cast<const int16_t*>(queries.words + q * padded_dim),
          static_cast<const float*>(queries.scales + q * groups), &ahead,
          scores + q * kPagePositions);
    }
  }
}

// sums[q] += scales[q] * sum over pairs of positions of words[q][p] * value[p], for the dimensions
// of two vectors from `dim` on.
template <size_t kQueries>
struct Int8Weigh {
  static constexpr size_t kVectors = 2;

  static void run(const int8_t* values, size_t padded_dim, size_t count, const int16_t* words,
                  const float* scales, float* sums) noexcept {
    Simd::I total[kQueries][kVectors];
    for (size_t q = 0; q < kQueries; ++q) total[q][0] = total[q][1] = Simd::zero();
    for (size_t p = 0; p < count; p += 2) {
      const Simd::I two[kVectors] = {
          Simd::widen(values + p * padded_dim),
          Simd::widen(values + p * padded_dim + 2 * Simd::kWidth),
      };
      for (size_t q = 0; q < kQueries; ++q) {
        const Simd::I factors = Simd::pair(words + q * kPagePositions + p);
        for (size_t v = 0; v < kVectors; ++v) total[q][v] = Simd::dot(total[q][v], two[v], factors);
      }
    }
    for (size_t q = 0; q < kQueries; ++q) {
      for (size_t v = 0; v < kVectors; ++v) {
        float* const at = sums + q * padded_dim + v * Simd::kWidth;
        const Simd::F sum = Simd::to_float(total[q][v]);
        Simd::store(at, Simd::fma(sum, Simd::set(scales[q]), Simd::load(at)));
      }
    }
  }
};

// A query's weights times the scales of a group of values, zero beyond what it sees. g++ 12 keeps
// the scales in registers from query to query and saves them around the call of std::fill, which
// tools/check_spills.py counts. Masks in place of the call are no faster (measured, attention/int8:
// the same to 1 % slower; with all products in registers, 3 % slower).
inline float weight_words(const float* weights, const uint16_t* scales, size_t seen,
                          int16_t* words) noexcept {
  float scaled[kPagePositions];
  for (size_t p = 0; p < kPagePositions; p += Simd::kWidth) {
    Simd::store(scaled + p, Simd::mul(Simd::load(weights + p), Simd::load_f16(scales + p)));
  }
  std::fill(scaled + seen, scaled + kPagePositions, 0.0F);
  return words_of(scaled, kPagePositions, words);
}

inline void weigh_page(const AttentionTile& tile, const Int8Page& page, size_t first, size_t count,
                       const float* weights, PageAhead& ahead, float* sums) noexcept {
  const size_t padded_dim = tile.layout->padded_dim;
  const size_t even = round_up(count, 2);
  int16_t words[Simd::kScoreQueries * kPagePositions];
  float scales[Simd::kScoreQueries];
  for (size_t q = 0; q < tile.query_count; q += Simd::kScoreQueries) {
    const size_t queries = std::min(Simd::kScoreQueries, tile.query_count - q);
    for (size_t dim = 0; dim < padded_dim; dim += kKvGroup) {
      for (size_t i = 0; i < queries; ++i) {
        scales[i] = weight_words(weights + (q + i) * kPagePositions,
                                 page.value_scales + dim / kKvGroup * kPagePositions,
                                 visible_in_page(tile, q + i, first), words + i * kPagePositions);
      }
      for (size_t d = dim; d < dim + kKvGroup; d += 2 * Simd::kWidth) {
        ahead.step();
        run_of<Simd::kScoreQueries, Int8Weigh>(
            queries, page.values + 2 * d, padded_dim, even, static_cast<const int16_t*>(words),
            static_cast<const float*>(scales), sums + q * padded_dim + d);
      }
    }
  }
}

inline void attend_int8_pages(const AttentionTile& tile, size_t begin, size_t end,
                              const PartialAttention& out) noexcept {
  const KvLayout& layout = *tile.layout;
  float* const scores = tile.scratch;
  const QueryWords queries = query_words(tile, scores + tile.query_count * kPagePositions);
  for (size_t first = begin; first < end; first += kPagePositions) {
    const auto page =
        page_at<Int8Page>(layout, tile.pages[first / kPagePositions] + tile.head_offset);
    const size_t count = std::min<size_t>(kPagePositions, end - first);
    PageAhead ahead(tile, first / kPagePositions + 1);
    score_page(tile, page, queries, count, ahead, scores);
    weights_of_page(tile, first, scores, out);
    weigh_page(tile, page, first, count, scores, ahead, out.sums);
  }
}
