// Decode attention, one thread: bytes of keys and values per second and positions per second.
// Keys and values of 4096 positions lie as in a model of 30 layers with 3 kv heads of 64 dimensions
// and 3 queries each: a head's share of one page is far from that of the next, and all of them
// (50 MB as INT8) pass through once before any is read again.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lanes/cpu/kernel_variants.h"
#include "lanes/cpu/kv_pages.h"
#include "lanes/cpu/workspace.h"

namespace qualia::lanes::cpu {
namespace {

constexpr uint32_t kPositions = 4096;
constexpr size_t kLayers = 30;
constexpr size_t kKvHeads = 3;
constexpr size_t kGroup = 3;
constexpr size_t kHeadDim = 64;

ops::DecoderSpec model_spec() {
  ops::DecoderSpec spec;
  ops::LayerSpec layer;
  layer.attention.head_count = kKvHeads * kGroup;
  layer.attention.kv_head_count = kKvHeads;
  layer.attention.head_dim = kHeadDim;
  spec.layers.assign(kLayers, layer);
  return spec;
}

void fill_pages(const Kernels& kernels, KvPages& pages) {
  std::vector<float> row(kHeadDim);
  for (size_t d = 0; d < kHeadDim; ++d) row[d] = static_cast<float>(d % 7) - 3.0F;
  for (uint32_t p = 0; p < kPositions; ++p) {
    for (size_t layer = 0; layer < kLayers; ++layer) {
      for (size_t head = 0; head < kKvHeads; ++head) {
        kernels.store_kv(pages.layout(layer), row.data(), row.data(), p % kPagePositions,
                         pages.page(p / kPagePositions) + pages.head_offset(layer, head));
      }
    }
  }
}

void run_attention(benchmark::State& state, const Kernels& kernels, KvType type) {
  KvPages pages(model_spec(), type);
  if (!pages.reserve(kPositions / kPagePositions)) return state.SkipWithError("no memory");
  fill_pages(kernels, pages);
  std::vector<const std::byte*> table;
  for (PageId id = 0; id < pages.page_count(); ++id) table.push_back(pages.page(id));
  const std::vector<float> queries(kGroup * kHeadDim, 0.01F);
  const std::vector<uint32_t> visible(kGroup, kPositions);
  FloatBuffer scratch;
  scratch.grow(attention_scratch_count(kGroup, kHeadDim));
  FloatBuffer parts[2];
  PartialAttention partial[2];
  for (size_t i = 0; i < 2; ++i) {
    parts[i].grow(partial_floats(kGroup, kHeadDim));
    partial[i] = {parts[i].data(), parts[i].data() + 16, parts[i].data() + 32};
  }
  AttentionTile tile;
  tile.pages = table.data();
  tile.page_count = table.size();
  tile.query_count = kGroup;
  tile.queries = queries.data();
  tile.visible = visible.data();
  tile.scratch = scratch.data();
  for (auto _ : state) {
    for (size_t i = 0; i < kLayers * kKvHeads; ++i) {
      tile.layout = &pages.layout(i / kKvHeads);
      tile.head_offset = pages.head_offset(i / kKvHeads, i % kKvHeads);
      for (uint32_t begin = 0; begin < kPositions; begin += kChunkPositions) {
        kernels.attend(tile, begin, begin + kChunkPositions, partial[1]);
        if (begin != 0) kernels.merge(kGroup, kHeadDim, partial[1], partial[0]);
      }
    }
    benchmark::ClobberMemory();
  }
  const auto runs = static_cast<double>(state.iterations());
  const auto bytes = static_cast<double>(pages.page_bytes() * pages.page_count());
  state.counters["GB/s"] = benchmark::Counter(runs * bytes * 1e-9, benchmark::Counter::kIsRate);
  state.counters["positions/s"] =
      benchmark::Counter(runs * kPositions, benchmark::Counter::kIsRate);
}

[[maybe_unused]] const bool kAttentionRegistered = [] {
  for (const Kernels* kernels : usable_kernels(detect_cpu_features())) {
    for (const auto& [type, name] : {std::pair{KvType::int8, "int8"}, {KvType::f16, "f16"}}) {
      benchmark::RegisterBenchmark(
          ("attention/" + std::string(name) + "/" + std::string(kernels->name)).c_str(),
          [kernels, kv = type](benchmark::State& state) { run_attention(state, *kernels, kv); })
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace qualia::lanes::cpu
