#include "ops/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace qualia::ops {
namespace {

constexpr size_t kPage = 4;

// A sequence whose pages lie in reverse order, with a gap of NaN before keys and values.
struct PagedSequence {
  PagedSequence(size_t positions, size_t head_dim_in, float spread) : head_dim(head_dim_in) {
    std::mt19937 random(17);
    std::normal_distribution<float> value(0.0F, spread);
    const size_t page_count = (positions + kPage - 1) / kPage;
    storage.assign(page_count, std::vector<float>(1 + 2 * kPage * head_dim, std::nanf("")));
    for (size_t p = 0; p < positions; ++p) {
      for (size_t d = 0; d < head_dim; ++d) {
        key(p)[d] = value(random);
        this->value(p)[d] = value(random);
      }
    }
    for (size_t p = 0; p < page_count; ++p) pages.push_back(page(p));
  }
  float* page(size_t index) { return storage[storage.size() - 1 - index].data(); }
  float* key(size_t p) { return page(p / kPage) + 1 + p % kPage * head_dim; }
  float* value(size_t p) { return page(p / kPage) + 1 + (kPage + p % kPage) * head_dim; }
  PagedKv view() const { return {pages.data(), kPage, 1, 1 + kPage * head_dim}; }

  size_t head_dim;
  std::vector<std::vector<float>> storage;
  std::vector<const float*> pages;
};

std::vector<double> attention_in_double(PagedSequence& kv, const std::vector<float>& query,
                                        size_t count, double scale) {
  std::vector<double> weights(count);
  double maximum = -1e300;
  for (size_t p = 0; p < count; ++p) {
    double dot = 0.0;
    for (size_t d = 0; d < kv.head_dim; ++d) {
      dot += static_cast<double>(query[d]) * static_cast<double>(kv.key(p)[d]);
    }
    weights[p] = dot * scale;
    maximum = std::max(maximum, weights[p]);
  }
  double total = 0.0;
  for (double& weight : weights) total += weight = std::exp(weight - maximum);
  std::vector<double> out(kv.head_dim);
  for (size_t p = 0; p < count; ++p) {
    for (size_t d = 0; d < kv.head_dim; ++d) {
      out[d] += weights[p] / total * static_cast<double>(kv.value(p)[d]);
    }
  }
  return out;
}

TEST(Attention, MatchesSoftmaxInDoubleAcrossPagesAndHeadSizes) {
  for (const size_t head_dim : {1U, 7U, 64U, 80U, 96U, 112U, 128U, 160U, 192U, 256U, 512U}) {
    PagedSequence kv(23, head_dim, 1.0F);
    const std::vector<float> query(kv.key(3), kv.key(3) + head_dim);
    const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim)));
    for (const size_t count : {1U, 3U, 4U, 5U, 8U, 23U}) {
      std::vector<float> out(head_dim);
      attention_f32(query.data(), kv.view(), count, head_dim, scale, out.data());
      const std::vector<double> exact =
          attention_in_double(kv, query, count, static_cast<double>(scale));
      for (size_t d = 0; d < head_dim; ++d) {
        ASSERT_NEAR(out[d], exact[d], 1e-5) << head_dim << ", " << count << ", " << d;
      }
    }
  }
}

TEST(Attention, HugeScoresNeitherOverflowNorBecomeNaN) {
  PagedSequence kv(9, 8, 100.0F);  // scores of thousands
  const std::vector<float> query(8, 300.0F);
  std::vector<float> out(8);
  attention_f32(query.data(), kv.view(), 9, 8, 1.0F, out.data());
  const std::vector<double> exact = attention_in_double(kv, query, 9, 1.0);
  for (size_t d = 0; d < 8; ++d) EXPECT_NEAR(out[d], exact[d], 1e-2) << d;
}

TEST(Attention, LooksAtNoPositionBeyondItsOwn) {
  PagedSequence kv(8, 4, 1.0F);
  const std::vector<float> query = {1, -1, 0.5F, 2};
  std::vector<float> before(4);
  std::vector<float> after(4);
  attention_f32(query.data(), kv.view(), 6, 4, 0.5F, before.data());
  for (size_t d = 0; d < 4; ++d) kv.key(6)[d] = kv.value(6)[d] = std::nanf("");
  attention_f32(query.data(), kv.view(), 6, 4, 0.5F, after.data());
  EXPECT_EQ(before, after);
}

TEST(Attention, EqualKeysAverageAHundredThousandValues) {  // row N05's length
  constexpr size_t kPositions = 100'000;
  std::vector<float> page(kPage * 2, 0.0F);
  for (size_t p = 0; p < kPage; ++p) page[kPage + p] = p % 2 == 0 ? 0.1F : 0.3F;
  const std::vector<const float*> pages(kPositions / kPage, page.data());
  const float query = 1.0F;
  float out = 0.0F;
  attention_f32(&query, {pages.data(), kPage, 0, kPage}, kPositions, 1, 1.0F, &out);
  EXPECT_NEAR(out, 0.2, 1e-7);
}

TEST(Attention, PassesOnANaNKey) {
  PagedSequence kv(8, 4, 1.0F);
  kv.key(1)[2] = std::nanf("");
  const std::vector<float> query(4, 1.0F);
  std::vector<float> out(4);
  attention_f32(query.data(), kv.view(), 8, 4, 0.5F, out.data());
  for (const float value : out) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace qualia::ops
