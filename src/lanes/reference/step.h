// One step: what all its phases share.
// Thread-safety: one owner; phases share work among the pool's threads and return when it is done.
#pragma once

#include <span>

#include "base/thread_pool.h"
#include "lanes/lane.h"
#include "lanes/reference/kv_pages.h"
#include "lanes/reference/weights.h"
#include "lanes/reference/workspace.h"
#include "lanes/stage_clock.h"

namespace qualia::lanes::reference {

struct Step {
  const ops::DecoderSpec& spec;
  const Weights& weights;
  KvPages& pages;
  ThreadPool& pool;
  Workspace& work;
  const Batch& batch;
  StageClock* clock = nullptr;  // nullptr: this step is not profiled

  size_t row_count() const { return batch.rows.size(); }
  void end_stage(Stage stage, size_t index) const {
    if (clock != nullptr) clock->end_stage(stage, index);
  }
};

struct Product {
  const ops::MatmulWeight* weight;
  const float* x;
  float* y;
};

// Several matmuls of `row_count` rows each as one parallel loop: waking threads costs more than a
// small matrix.
void multiply(Step& step, std::span<const Product> products, size_t row_count);

// Calls body(row) for 0 .. row_count - 1.
template <typename Body>
void for_each_row(Step& step, size_t row_count, const Body& body) {
  // 8 rows of a small model's norm take as long as waking a thread (about 10 us).
  constexpr size_t kRowsPerRange = 8;
  step.pool.parallel_for(row_count, kRowsPerRange, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) body(row);
  });
}

// x += attention(norm(x)); x += feed_forward(norm(x)).
void run_layer(Step& step, size_t layer);

// Final norm, output matrix and the form that each row asked for. Throws std::bad_alloc.
StepOutput compute_outputs(Step& step);

// What a stage of the step reads and computes, by its shapes: a matrix is read once, keys and
// values once for each row.
profile::Cost cost_of(const Step& step, Stage stage, uint32_t index);

}  // namespace qualia::lanes::reference
