// The end of a step: logits for the rows that want an output, in the form each asked for.
#include <algorithm>
#include <chrono>
#include <limits>

#include "lanes/cpu/step.h"
#include "ops/top_k.h"

namespace qualia::lanes::cpu {
namespace {

// 16 panels are 256 logits a row: the largest is looked for while they are in the L1 cache.
constexpr size_t kStripPanels = 16;

// Logits of `count` rows and, per row, the best of this thread's part of the vocabulary.
void compute_logits(Step& step, size_t thread, const Activations& input, size_t count) {
  const PackedMatrix& weight = step.weights.output;
  ThreadSpace& space = step.work.threads[thread];
  const Range mine = step.work.shares.part(weight.panel_count(), thread);
  const auto start = std::chrono::steady_clock::now();
  const size_t vocabulary = step.spec.vocabulary_size;
  for (size_t row = 0; row < count; ++row) {
    space.best[row] = {-std::numeric_limits<float>::infinity(), 0, true};
  }
  for (size_t panel = mine.begin; panel < mine.end; panel += kStripPanels) {
    const Range strip{panel, std::min(mine.end, panel + kStripPanels)};
    weight.multiply(input, count, step.work.logits.data(), vocabulary, strip.begin, strip.end);
    const Range columns = columns_of(weight, strip);
    for (size_t row = 0; row < count; ++row) {
      const float* const logits = step.work.logits.data() + row * vocabulary + columns.begin;
      const ops::ArgmaxResult found = step.kernels.argmax(logits, columns.size());
      Best& best = space.best[row];
      best.is_finite = best.is_finite && found.is_finite;
      if (!(logits[found.index] > best.logit)) continue;
      best.logit = logits[found.index];
      best.index = static_cast<uint32_t>(columns.begin + found.index);
    }
  }
  // The largest product of a step tells how fast a thread is.
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  step.work.shares.record(thread, static_cast<double>(mine.size() * count), seconds.count());
}

// Threads hold ascending parts of the vocabulary: the first of equals has the lowest id.
Best best_of_threads(const Step& step, size_t row) {
  Best best = step.work.threads[0].best[row];
  for (size_t thread = 1; thread < step.team.size(); ++thread) {
    const Best& other = step.work.threads[thread].best[row];
    const bool is_finite = best.is_finite && other.is_finite;
    if (other.logit > best.logit) best = other;
    best.is_finite = is_finite;
  }
  return best;
}

// `output` and `ids` have room for what the row asked for: threads allocate nothing.
void fill_row_output(const float* logits, size_t vocabulary, const Best& best, uint32_t* ids,
                     RowOutput& output) {
  output.argmax = static_cast<TokenId>(best.index);
  output.is_finite = best.is_finite;
  if (!output.logits.empty()) std::copy_n(logits, vocabulary, output.logits.begin());
  if (!best.is_finite) return output.top.clear();  // NaN has no order
  const size_t count = ops::top_k_f32(logits, vocabulary, output.top.size(), ids);
  for (size_t i = 0; i < count; ++i) {
    output.top[i] = {static_cast<TokenId>(ids[i]), logits[ids[i]]};
  }
}

}  // namespace

void compute_outputs(Step& step, size_t thread) {
  const std::vector<uint32_t>& rows = step.work.output_rows;
  const size_t vocabulary = step.spec.vocabulary_size;
  for (size_t first = 0; first < rows.size(); first += kOutputRowsAtOnce) {
    const size_t count = std::min(kOutputRowsAtOnce, rows.size() - first);
    const Activations& input =
        prepare_normed(step, thread, step.weights.output_norm, count, rows.data() + first);
    compute_logits(step, thread, input, count);
    step.team.barrier();
    const Range mine = step.my_part(count, thread);
    for (size_t i = mine.begin; i < mine.end; ++i) {
      fill_row_output(step.work.logits.data() + i * vocabulary, vocabulary,
                      best_of_threads(step, i), step.work.threads[thread].top_ids.data(),
                      step.output.rows[first + i]);
    }
    step.team.barrier();  // the next rows' logits take the same place
    step.end_stage(thread, Stage::output, first / kOutputRowsAtOnce);
  }
}

}  // namespace qualia::lanes::cpu
