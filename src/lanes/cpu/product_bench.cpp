// Every product variant, one thread: weight bytes per second, their share of what one thread reads
// from the same memory in turns, and multiply-adds per second.
// m = 1 and 2 (a row in precise precision is two of INT8) walk 96 MiB of panels (a large server
// cache holds them, hence the share in turns); m > 2 a matrix of 1536 x 1536.
#include <benchmark/benchmark.h>

#include <time.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lanes/cpu/packed_matrix.h"
#include "lanes/cpu/product_variants.h"

namespace qualia::lanes::cpu {
namespace {

constexpr size_t kColumns = 1536;
constexpr size_t kStreamBytes = size_t{96} << 20;
constexpr size_t kBatchRows = 1536;

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// One pass over memory as the kernels read it, prefetching as far ahead, with nothing to compute.
void read_once(const uint64_t* words, size_t count) {
  constexpr size_t kAheadWords = 4096 / sizeof(uint64_t);
  uint64_t sums[8] = {};
  for (size_t i = 0; i < count; i += 8) {
    __builtin_prefetch(words + i + kAheadWords);
    for (size_t j = 0; j < 8; ++j) sums[j] += words[i + j];
  }
  benchmark::DoNotOptimize(sums);
}

// The kernel's speed over that of reading the same bytes, taken in turns: the machine's bandwidth
// changes from second to second where others use it. The best of each, on the thread's own CPU
// time.
template <typename Product>
double share_of_reading(const AlignedMemory& memory, const Product& product) {
  constexpr int kRounds = 12;
  double read_seconds = 1e9;
  double product_seconds = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = thread_seconds();
    read_once(reinterpret_cast<const uint64_t*>(memory.data()),
              memory.size_bytes() / sizeof(uint64_t));
    const double middle = thread_seconds();
    product();
    read_seconds = std::min(read_seconds, middle - begin);
    product_seconds = std::min(product_seconds, thread_seconds() - middle);
  }
  return read_seconds / product_seconds;
}

void run_product(benchmark::State& state, const ProductVariant& variant, size_t m) {
  const size_t blocks = block_count(kColumns);
  const size_t panel_bytes = blocks * packed_format_info(variant.format).block_bytes();
  const size_t panels = m <= 2 ? kStreamBytes / panel_bytes : kBatchRows / kPanelRows;
  auto memory = AlignedMemory::allocate(panels * panel_bytes);
  auto x = Activations::create(m, kColumns, variant.form, variant.isa);
  if (!memory || !x) return state.SkipWithError("no memory");
  // 0x2B: scales near 0.05 as binary16 and codes that are no special numbers in any format.
  std::fill_n(memory->data(), memory->size_bytes(), std::byte{0x2B});
  const std::vector<float> values(m * kColumns, 0.5F);
  x->set(values.data(), kColumns, 0, m);
  const size_t rows = panels * kPanelRows;
  std::vector<float> y(m * rows);
  const bool is_int8 = variant.form == ActivationForms::int8;
  // As PackedMatrix::multiply() does: rows of x in blocks that stay in the cache.
  const size_t step = m <= 2 ? m : 64;
  const auto product = [&] {
    for (size_t first = 0; first < m; first += step) {
      ProductArguments arguments;
      arguments.panel = memory->data();
      arguments.panel_bytes = panel_bytes;
      arguments.panel_count = panels;
      arguments.blocks = blocks;
      if (is_int8) arguments.int8 = x->int8_tile(first / kTokenTile, blocks);
      if (!is_int8) arguments.f32 = x->f32_tile(first / kTokenTile, blocks);
      arguments.m = std::min(step, m - first);
      arguments.y = y.data() + first * rows;
      arguments.y_stride = rows;
      arguments.rows = rows;
      variant.function(arguments);
    }
    benchmark::ClobberMemory();
  };
  for (auto _ : state) product();
  const auto runs = static_cast<double>(state.iterations());
  const auto bytes = static_cast<double>(memory->size_bytes());
  const auto rate = [](double amount) {
    return benchmark::Counter(amount, benchmark::Counter::kIsRate);
  };
  state.counters["GB/s"] = rate(runs * bytes * 1e-9);
  if (m <= 2) state.counters["of_read"] = share_of_reading(*memory, product);
  state.counters["GMAC/s"] = rate(runs * static_cast<double>(m * rows * kColumns) * 1e-9);
}

// Registered before main(): only variants that this processor runs.
[[maybe_unused]] const bool kProductsRegistered = [] {
  const std::vector<Isa> isas = allowed_isas(detect_cpu_features());
  for (const ProductVariant& variant : product_variants()) {
    if (std::find(isas.begin(), isas.end(), variant.isa) == isas.end()) continue;
    const std::string name = std::string(packed_format_info(variant.format).name) +
                             (variant.form == ActivationForms::int8 ? "/int8/" : "/f32/") +
                             std::string(isa_name(variant.isa));
    for (const size_t m : {size_t{1}, size_t{2}, size_t{4}, size_t{8}, size_t{512}}) {
      benchmark::RegisterBenchmark(
          (name + "/m:" + std::to_string(m)).c_str(),
          [&variant, m](benchmark::State& state) { run_product(state, variant, m); });
    }
  }
  return true;
}();

}  // namespace
}  // namespace qualia::lanes::cpu
