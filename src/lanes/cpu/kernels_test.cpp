// Every variant of the row and attention kernels that this machine runs, against the scalar ops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "lanes/cpu/kernel_variants.h"
#include "lanes/cpu/workspace.h"
#include "ops/attention.h"
#include "ops/residual_add.h"
#include "ops/rms_norm.h"
#include "ops/swiglu.h"
#include "tensor/float16.h"

namespace qualia::lanes::cpu {
namespace {

constexpr float kEpsilon = std::numeric_limits<float>::epsilon();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Around every vector width, and the widths of real models.
constexpr size_t kSizes[] = {1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 63, 576, 577, 1536, 4097};

std::vector<float> random_floats(size_t count, uint32_t seed, float spread = 1.0F) {
  std::mt19937 random(seed);
  std::normal_distribution<float> value(0.0F, spread);
  std::vector<float> values(count);
  for (float& entry : values) entry = value(random);
  return values;
}

class KernelVariant : public testing::TestWithParam<const Kernels*> {
 protected:
  const Kernels& kernels() const { return *GetParam(); }
};

TEST_P(KernelVariant, RmsNormKeepsToItsBound) {
  for (const size_t size : kSizes) {
    for (const float spread : {1e-12F, 1.0F, 1e30F}) {
      const std::vector<float> x = random_floats(size, 1, spread);
      const std::vector<float> gain = random_floats(size, 2);
      std::vector<float> expected(size);
      std::vector<float> actual(size);
      ops::rms_norm_f32(x.data(), gain.data(), expected.data(), size, 1e-5F);
      kernels().rms_norm(x.data(), gain.data(), actual.data(), size, 1e-5F);
      for (size_t i = 0; i < size; ++i) {
        ASSERT_NEAR(actual[i], expected[i], 6 * kEpsilon * std::abs(expected[i])) << size;
      }
    }
  }
}

TEST_P(KernelVariant, SwigluKeepsToItsBound) {
  for (const size_t size : kSizes) {
    for (const float spread : {1.0F, 30.0F}) {
      const std::vector<float> gate = random_floats(size, 3, spread);
      const std::vector<float> up = random_floats(size, 4);
      std::vector<float> actual(size);
      kernels().swiglu(gate.data(), up.data(), actual.data(), size);
      for (size_t i = 0; i < size; ++i) {
        const double g = static_cast<double>(gate[i]);
        const double exact = g / (1.0 + std::exp(-g)) * static_cast<double>(up[i]);
        if (gate[i] < -87.0F) continue;
        ASSERT_NEAR(actual[i], exact, 8.0 * static_cast<double>(kEpsilon) * std::abs(exact))
            << gate[i];
      }
    }
  }
}

TEST_P(KernelVariant, SwigluOfExtremesIsTheLimitAndKeepsNaN) {
  const std::vector<float> gate = {-1e30F, -200.0F, -100.0F, 0.0F, 100.0F, 1e30F, std::nanf("")};
  const std::vector<float> up(gate.size(), 2.0F);
  std::vector<float> out(gate.size());
  kernels().swiglu(gate.data(), up.data(), out.data(), gate.size());
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(out[i], 0.0F, 1e-30F);
  EXPECT_EQ(out[3], 0.0F);
  EXPECT_EQ(out[4], 200.0F);
  EXPECT_EQ(out[5], 2e30F);
  EXPECT_TRUE(std::isnan(out[6]));
}

TEST_P(KernelVariant, ResidualAddIsExact) {
  for (const size_t size : kSizes) {
    std::vector<float> expected = random_floats(size, 5, 60000.0F);
    std::vector<float> actual = expected;
    const std::vector<float> y = random_floats(size, 6);
    ops::residual_add_f32(expected.data(), y.data(), size);
    kernels().residual_add(actual.data(), y.data(), size);
    EXPECT_EQ(actual, expected);
  }
}

TEST_P(KernelVariant, ArgmaxFindsTheFirstOfEqualsAnywhere) {
  for (const size_t size : {1U, 5U, 64U, 511U, 512U, 513U, 1100U, 49152U}) {
    for (const size_t place : {size_t{0}, size / 2, size - 1}) {
      std::vector<float> logits = random_floats(size, 7);
      logits[place] = 100.0F;
      logits.back() = 100.0F;
      const ops::ArgmaxResult result = kernels().argmax(logits.data(), size);
      EXPECT_EQ(result.index, place) << size;
      EXPECT_TRUE(result.is_finite);
    }
  }
  const std::vector<float> below(700, -3.0F);
  EXPECT_EQ(kernels().argmax(below.data(), below.size()).index, 0U);
}

TEST_P(KernelVariant, ArgmaxReportsWhatIsNotFinite) {
  for (const float bad : {std::nanf(""), kInfinity, -kInfinity}) {
    for (const size_t place : {0U, 300U, 999U}) {
      std::vector<float> logits = random_floats(1000, 8);
      logits[place] = bad;
      const ops::ArgmaxResult result = kernels().argmax(logits.data(), logits.size());
      EXPECT_FALSE(result.is_finite);
      EXPECT_LT(result.index, logits.size());
    }
  }
}

// Keys and values of one kv head over some pages, as the kernels store them and as float32.
class KvCase {
 public:
  KvCase(const Kernels& kernels, KvType type, size_t head_dim, size_t positions, uint32_t seed)
      : layout(type, head_dim) {
    const size_t page_count = (positions + kPagePositions - 1) / kPagePositions;
    memory_.resize(page_count * layout.head_bytes / sizeof(float) + 16);
    std::vector<float> keys = random_floats(positions * head_dim, seed);
    std::vector<float> values = random_floats(positions * head_dim, seed + 1);
    auto* const start = reinterpret_cast<std::byte*>(memory_.data());
    for (size_t i = 0; i < page_count; ++i) pages.push_back(start + i * layout.head_bytes);
    float_pages_.resize(page_count * 2 * kPagePositions * head_dim);
    for (size_t i = 0; i < page_count; ++i) {
      float_page_starts.push_back(float_pages_.data() + i * 2 * kPagePositions * head_dim);
    }
    for (size_t p = 0; p < positions; ++p) {
      std::byte* const page = start + p / kPagePositions * layout.head_bytes;
      kernels.store_kv(layout, keys.data() + p * head_dim, values.data() + p * head_dim,
                       p % kPagePositions, page);
      read_back(page, p);
    }
  }

  ops::PagedKv reference() const {
    return {float_page_starts.data(), kPagePositions, 0, kPagePositions * layout.head_dim};
  }

  KvLayout layout;
  std::vector<const std::byte*> pages;
  std::vector<const float*> float_page_starts;

 private:
  float element(const std::byte* base, size_t index, const std::byte* scales, size_t p,
                size_t d) const {
    if (layout.type == KvType::f32) return reinterpret_cast<const float*>(base)[index];
    if (layout.type == KvType::f16) {
      return f16_to_f32(reinterpret_cast<const uint16_t*>(base)[index]);
    }
    const uint16_t scale =
        reinterpret_cast<const uint16_t*>(scales)[d / kKvGroup * kPagePositions + p];
    return static_cast<float>(reinterpret_cast<const int8_t*>(base)[index]) * f16_to_f32(scale);
  }

  void read_back(const std::byte* page, size_t position) {
    const size_t p = position % kPagePositions;
    float* const target =
        float_pages_.data() + position / kPagePositions * 2 * kPagePositions * layout.head_dim;
    for (size_t d = 0; d < layout.head_dim; ++d) {
      target[p * layout.head_dim + d] =
          element(page, layout.key_index(p, d), page + layout.key_scales_offset, p, d);
      target[(kPagePositions + p) * layout.head_dim + d] =
          element(page + layout.values_offset, layout.value_index(p, d),
                  page + layout.value_scales_offset, p, d);
    }
  }

  std::vector<float> memory_;
  std::vector<float> float_pages_;
};

// Attention of `visible.size()` queries in chunks; [query][head_dim].
std::vector<float> attend(const Kernels& kernels, const KvCase& kv,
                          const std::vector<float>& queries, const std::vector<uint32_t>& visible,
                          size_t chunk) {
  const size_t count = visible.size();
  const size_t padded = kv.layout.padded_dim;
  FloatBuffer scratch;
  scratch.grow(attention_scratch_count(count, padded));
  AttentionTile tile;
  tile.layout = &kv.layout;
  tile.pages = kv.pages.data();
  tile.page_count = kv.pages.size();
  tile.query_count = count;
  tile.queries = queries.data();
  tile.visible = visible.data();
  tile.scratch = scratch.data();
  std::vector<float> memory[2];
  PartialAttention parts[2];
  for (size_t i = 0; i < 2; ++i) {
    memory[i].resize(count * (padded + 2));
    float* const start = memory[i].data();
    parts[i] = {start, start + count, start + 2 * count};
  }
  const size_t end = visible.back();
  kernels.attend(tile, 0, std::min(chunk, end), parts[0]);
  for (size_t begin = chunk; begin < end; begin += chunk) {
    kernels.attend(tile, begin, std::min(begin + chunk, end), parts[1]);
    kernels.merge(count, padded, parts[1], parts[0]);
  }
  std::vector<float> out(count * kv.layout.head_dim);
  for (size_t q = 0; q < count; ++q) {
    for (size_t d = 0; d < kv.layout.head_dim; ++d) {
      out[q * kv.layout.head_dim + d] = parts[0].sums[q * padded + d] / parts[0].denominator[q];
    }
  }
  return out;
}

std::vector<float> padded_queries(const std::vector<float>& queries, size_t head_dim) {
  const size_t padded = round_up(head_dim, kKvGroup);
  std::vector<float> result(queries.size() / head_dim * padded);
  for (size_t i = 0; i < queries.size(); ++i) {
    result[i / head_dim * padded + i % head_dim] = queries[i];
  }
  return result;
}

constexpr KvType kKvTypes[] = {KvType::int8, KvType::f16, KvType::f32};

TEST_P(KernelVariant, AttentionKeepsToItsBoundOverAllKvTypesAndSizes) {
  for (const KvType type : kKvTypes) {
    for (const size_t head_dim : {1U, 2U, 12U, 64U, 80U, 96U, 128U, 256U, 512U}) {
      for (const size_t positions : {1U, 15U, 33U, 64U, 65U, 200U}) {
        SCOPED_TRACE(testing::Message()
                     << static_cast<int>(type) << " head " << head_dim << " at " << positions);
        const KvCase kv(kernels(), type, head_dim, positions, 11);
        const size_t count = 3;
        std::vector<float> queries = random_floats(count * head_dim, 13, 2.0F);
        for (float& q : queries) q /= std::sqrt(static_cast<float>(head_dim));
        const std::vector<uint32_t> visible(count, static_cast<uint32_t>(positions));
        const std::vector<float> actual =
            attend(kernels(), kv, padded_queries(queries, head_dim), visible, kChunkPositions);
        std::vector<float> expected(head_dim);
        for (size_t q = 0; q < count; ++q) {
          ops::attention_f32(queries.data() + q * head_dim, kv.reference(), positions, head_dim,
                             1.0F, expected.data());
          // |s| stays below 8, |value| below 5.
          float bound = (static_cast<float>(head_dim) / 8 + 16) * kEpsilon * 8 * 5;
          // Queries and weights in 16 bits; INT8 itself costs some ten times as much.
          if (type == KvType::int8) bound += 5e-4F;
          for (size_t d = 0; d < head_dim; ++d) {
            ASSERT_NEAR(actual[q * head_dim + d], expected[d], bound);
          }
        }
      }
    }
  }
}

TEST_P(KernelVariant, AttentionOfAQueryDependsOnNoTileAndNoChunk) {
  for (const KvType type : kKvTypes) {
    const size_t head_dim = 80;
    const size_t positions = 300;
    const KvCase kv(kernels(), type, head_dim, positions, 17);
    for (const size_t count : {1U, 2U, 5U, 8U, 9U, 16U, 17U, 40U}) {
      const std::vector<float> queries = random_floats(count * head_dim, 19, 0.3F);
      std::vector<uint32_t> visible(count);
      for (size_t q = 0; q < count; ++q) {
        visible[q] = static_cast<uint32_t>(positions - count + q + 1);
      }
      const std::vector<float> together =
          attend(kernels(), kv, padded_queries(queries, head_dim), visible, kChunkPositions);
      for (size_t q = 0; q < count; ++q) {
        const auto from = queries.begin() + static_cast<std::ptrdiff_t>(q * head_dim);
        const std::vector<float> one(from, from + head_dim);
        const std::vector<float> alone =
            attend(kernels(), kv, padded_queries(one, head_dim), {visible[q]}, kChunkPositions);
        const auto mine = together.begin() + static_cast<std::ptrdiff_t>(q * head_dim);
        ASSERT_EQ(std::vector<float>(mine, mine + head_dim), alone) << count << " queries";
      }
    }
  }
}

TEST_P(KernelVariant, AttentionToLaterPositionsStaysOutOfEarlierQueries) {
  for (const KvType type : kKvTypes) {
    for (const size_t count : {2U, 40U}) {
      const size_t head_dim = 32;
      KvCase kv(kernels(), type, head_dim, count, 23);
      const std::vector<float> bad(head_dim, std::nanf(""));
      kernels().store_kv(kv.layout, bad.data(), bad.data(), count - 1,
                         const_cast<std::byte*>(kv.pages[0]));
      std::vector<uint32_t> visible(count);
      std::iota(visible.begin(), visible.end(), 1U);
      const std::vector<float> out =
          attend(kernels(), kv, padded_queries(random_floats(count * head_dim, 29), head_dim),
                 visible, kChunkPositions);
      for (size_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(std::isfinite(out[i]), i < (count - 1) * head_dim) << i;
      }
    }
  }
}

TEST_P(KernelVariant, Int8KvKeepsValuesWithinHalfAStep) {
  const size_t head_dim = 70;
  const KvLayout layout(KvType::int8, head_dim);
  std::vector<std::byte> head(layout.head_bytes);
  for (const float spread : {1e-3F, 1.0F, 1e5F}) {
    const std::vector<float> x = random_floats(head_dim, 31, spread);
    kernels().store_kv(layout, x.data(), x.data(), 37, head.data());
    const auto* codes = reinterpret_cast<const int8_t*>(head.data() + layout.values_offset);
    const auto* scales =
        reinterpret_cast<const uint16_t*>(head.data() + layout.value_scales_offset);
    for (size_t d = 0; d < head_dim; ++d) {
      const float scale = f16_to_f32(scales[d / kKvGroup * kPagePositions + 37]);
      const float restored = scale * static_cast<float>(codes[layout.value_index(37, d)]);
      // Half a step, and the rounding of the scale where the code is clamped.
      ASSERT_NEAR(restored, x[d], 0.57F * scale);
    }
  }
}

TEST_P(KernelVariant, Int8KvOfZerosIsZero) {
  const KvLayout layout(KvType::int8, 32);
  std::vector<std::byte> head(layout.head_bytes, std::byte{0x55});
  const std::vector<float> zeros(32, 0.0F);
  kernels().store_kv(layout, zeros.data(), zeros.data(), 0, head.data());
  const auto* codes = reinterpret_cast<const int8_t*>(head.data() + layout.values_offset);
  for (size_t d = 0; d < 32; ++d) EXPECT_EQ(codes[layout.value_index(0, d)], 0) << d;
}

INSTANTIATE_TEST_SUITE_P(Usable, KernelVariant,
                         testing::ValuesIn(usable_kernels(detect_cpu_features())),
                         [](const auto& test) { return std::string(test.param->name); });

TEST(KernelVariants, EndWithPortableAndFollowTheFeatures) {
  const std::vector<const Kernels*> none = usable_kernels({});
  ASSERT_EQ(none.size(), 1U);
  EXPECT_EQ(none[0]->name, "portable");
#if defined(__x86_64__)
  CpuFeatures features;
  features.avx2 = true;
  EXPECT_EQ(usable_kernels(features).front()->name, "avx2");
  features.avx512 = true;
  EXPECT_EQ(usable_kernels(features).front()->name, "avx2");
  features.avx512_vnni = true;
  EXPECT_EQ(usable_kernels(features).front()->name, "avx512");
#endif
}

}  // namespace
}  // namespace qualia::lanes::cpu
