// matmul by weight type and batch: weight bytes per second and multiply-adds per second, one
// thread. Shape: 1536 x 768, near the default model's feed-forward (SmolLM2-135M has 1536 x 576).
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <vector>

#include "ops/matmul.h"

namespace qualia::ops {
namespace {

constexpr size_t kOutputs = 1536;
constexpr size_t kInputs = 768;  // a multiple of 256, so that every type fits

void run_matmul(benchmark::State& state, DType dtype) {
  const auto m = static_cast<size_t>(state.range(0));
  const DTypeInfo& info = dtype_info(dtype);
  const size_t row_bytes = kInputs / info.block_size * info.block_bytes;
  std::mt19937 random(1);
  std::uniform_real_distribution<float> value(-1.0F, 1.0F);
  // 0x2B: scales near 0.05 as f16 and codes that are no special numbers in any type.
  const std::vector<std::byte> weights(kOutputs * row_bytes, std::byte{0x2B});
  std::vector<float> x(m * kInputs);
  for (float& entry : x) entry = value(random);
  std::vector<float> y(m * kOutputs);
  std::vector<float> scratch(matmul_scratch_count(kInputs));
  const MatmulWeight weight{weights.data(), dtype, kOutputs, kInputs, row_bytes};
  for (auto _ : state) {
    matmul_f32(weight, x.data(), m, y.data(), 0, kOutputs, scratch.data());
    benchmark::DoNotOptimize(y.data());
    benchmark::ClobberMemory();
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["GB/s"] = benchmark::Counter(runs * static_cast<double>(weights.size()) * 1e-9,
                                              benchmark::Counter::kIsRate);
  state.counters["GMAC/s"] = benchmark::Counter(
      runs * static_cast<double>(m * kOutputs * kInputs) * 1e-9, benchmark::Counter::kIsRate);
}

#define QUALIA_MATMUL_BENCH(dtype) \
  BENCHMARK_CAPTURE(run_matmul, dtype, DType::dtype)->Arg(1)->Arg(8)->Arg(64)->Arg(512)
QUALIA_MATMUL_BENCH(f32);
QUALIA_MATMUL_BENCH(f16);
QUALIA_MATMUL_BENCH(bf16);
QUALIA_MATMUL_BENCH(q4_0);
QUALIA_MATMUL_BENCH(q4_1);
QUALIA_MATMUL_BENCH(q5_0);
QUALIA_MATMUL_BENCH(q5_1);
QUALIA_MATMUL_BENCH(q8_0);
QUALIA_MATMUL_BENCH(q2_k);
QUALIA_MATMUL_BENCH(q3_k);
QUALIA_MATMUL_BENCH(q4_k);
QUALIA_MATMUL_BENCH(q5_k);
QUALIA_MATMUL_BENCH(q6_k);
#undef QUALIA_MATMUL_BENCH

}  // namespace
}  // namespace qualia::ops
