// The cases that every lane passes, on the CPU lane in all precisions: bit for bit, since sums have
// a fixed order in every batch and on any number of threads.
#include "lanes/batching_cases.h"
#include "lanes/cpu/test_model.h"

namespace qualia::lanes {

using BatchingModels = testing::Types<cpu::FastModel, cpu::FastQ8Model, cpu::FastQ4Model,
                                      cpu::PreciseModel, cpu::ExactModel>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, Batching, BatchingModels);

namespace {

// Long enough for chunks of attention to be spread over threads or kept together.
TEST(CpuBatching, LongContextsGiveTheSameBitsOnAnyNumberOfThreads) {
  cpu::FastQ8Model test(TestShape{32, 6, 2, 16, 64, 83, 2, true});
  const std::vector<TokenId> tokens = random_tokens(400, test.spec.vocabulary_size, 41);
  const std::vector<PageId> pages = {0, 1, 2, 3, 4, 5, 6};
  const Logits single = feed_in_chunks(*test.load(1), {pages}, tokens, 400);
  for (const size_t threads : {1U, 2U, 3U, 8U}) {
    for (const size_t chunk : {1U, 3U, 100U}) {
      const Logits other = feed_in_chunks(*test.load(threads), {pages}, tokens, chunk);
      ASSERT_EQ(other.back(), single.back()) << threads << " threads, chunks of " << chunk;
    }
  }
}

}  // namespace
}  // namespace qualia::lanes
