// One step: what all its phases share.
// Thread-safety: one owner; phases share work among the pool's threads and return when it is done.
#pragma once

#include <span>

#include "base/thread_pool.h"
#include "lanes/lane.h"
#include "lanes/reference/kv_pages.h"
#include "lanes/reference/weights.h"
#include "lanes/reference/workspace.h"

namespace qualia::lanes::reference {

struct Step {
  const ops::DecoderSpec& spec;
  const Weights& weights;
  KvPages& pages;
  ThreadPool& pool;
  Workspace& work;
  const Batch& batch;

  size_t row_count() const { return batch.rows.size(); }
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

}  // namespace qualia::lanes::reference
