// The end of a step: logits for the rows that want an output, in the form each asked for.
#include <algorithm>

#include "lanes/reference/step.h"
#include "ops/argmax.h"
#include "ops/rms_norm.h"
#include "ops/top_k.h"

namespace qualia::lanes::reference {
namespace {

// The rows that want an output, by index.
std::vector<size_t> output_rows(const Batch& batch) {
  std::vector<size_t> rows;
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    if (batch.rows[i].output != RowOutputKind::none) rows.push_back(i);
  }
  return rows;
}

// Makes room in advance, so that the threads that fill it allocate nothing.
RowOutput make_row_output(RowOutputKind kind, size_t vocabulary, size_t top_k) {
  RowOutput output;
  if (kind == RowOutputKind::logits) output.logits.resize(vocabulary);
  if (kind == RowOutputKind::top_k) output.top.resize(std::min(top_k, vocabulary));
  return output;
}

void fill_top(const float* logits, size_t vocabulary, std::vector<uint32_t>& ids,
              RowOutput& output) {
  const size_t count = ops::top_k_f32(logits, vocabulary, output.top.size(), ids.data());
  for (size_t i = 0; i < count; ++i) {
    output.top[i] = {static_cast<TokenId>(ids[i]), logits[ids[i]]};
  }
}

void fill_row_output(const float* logits, size_t vocabulary, std::vector<uint32_t>& ids,
                     RowOutput& output) {
  const ops::ArgmaxResult best = ops::argmax_f32(logits, vocabulary);
  output.argmax = static_cast<TokenId>(best.index);
  output.is_finite = best.is_finite;
  if (!output.logits.empty()) std::copy_n(logits, vocabulary, output.logits.begin());
  if (best.is_finite) {
    fill_top(logits, vocabulary, ids, output);
  } else {
    output.top.clear();  // NaN has no order
  }
}

// Logits of the given rows of the step into work.logits.
void compute_logits(Step& step, std::span<const size_t> rows) {
  const size_t width = step.spec.width;
  for_each_row(step, rows.size(), [&](size_t i) {
    ops::rms_norm_f32(step.work.x.data() + rows[i] * width, step.weights.output_norm.data(),
                      step.work.normed.data() + i * width, width, step.spec.norm_epsilon);
  });
  const Product product[] = {
      {&step.weights.output, step.work.normed.data(), step.work.logits.data()}};
  multiply(step, product, rows.size());
}

}  // namespace

StepOutput compute_outputs(Step& step) {
  const size_t vocabulary = step.spec.vocabulary_size;
  const std::vector<size_t> rows = output_rows(step.batch);
  StepOutput output;
  output.rows.reserve(rows.size());
  std::vector<std::vector<uint32_t>> ids(std::min(rows.size(), kOutputRowsAtOnce));
  for (size_t first = 0; first < rows.size(); first += kOutputRowsAtOnce) {
    const size_t count = std::min(kOutputRowsAtOnce, rows.size() - first);
    const std::span<const size_t> chunk = std::span(rows).subspan(first, count);
    compute_logits(step, chunk);
    for (size_t i = 0; i < count; ++i) {
      const RowOutputKind kind = step.batch.rows[chunk[i]].output;
      output.rows.push_back(make_row_output(kind, vocabulary, step.batch.top_k));
      ids[i].resize(output.rows.back().top.size());
    }
    step.pool.parallel_for(count, 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        fill_row_output(step.work.logits.data() + i * vocabulary, vocabulary, ids[i],
                        output.rows[first + i]);
      }
    });
    step.end_stage(Stage::output, first / kOutputRowsAtOnce);
  }
  return output;
}

}  // namespace qualia::lanes::reference
