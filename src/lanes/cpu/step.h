// One step: the program that all threads of the team run together, phase by phase.
// Thread-safety: every function here is called by all threads of a step with their own `thread`,
// and waits for the others where its comment says so ("ends with a barrier"). Sums are formed in a
// fixed order whatever the number of threads: an output of a product, a row of a norm and a chunk
// of attention are each computed by one thread. Phases of a layer for one row (5 barriers): norm +
// q, k, v | rope, KV write, attention | o + residual | norm + gate, up, silu | down + residual.
// Many rows share the norms and the quantisation (a barrier each more).
#pragma once

#include <span>

#include "lanes/cpu/kernels.h"
#include "lanes/cpu/kv_pages.h"
#include "lanes/cpu/team.h"
#include "lanes/cpu/weights.h"
#include "lanes/cpu/workspace.h"
#include "lanes/lane.h"
#include "lanes/stage_clock.h"

namespace qualia::lanes::cpu {

struct Step {
  const ops::DecoderSpec& spec;
  const Weights& weights;
  const Kernels& kernels;
  KvPages& pages;
  Team& team;
  Workspace& work;
  const Batch& batch;
  StepOutput& output;           // has a row for each of work.output_rows
  StageClock* clock = nullptr;  // nullptr: this step is not profiled

  size_t row_count() const { return batch.rows.size(); }
  Range my_part(size_t count, size_t thread) const { return part_of(count, thread, team.size()); }
  // To be called by all threads right after a barrier.
  void end_stage(size_t thread, Stage stage, size_t index) const {
    if (clock != nullptr && thread == 0) clock->end_stage(stage, index);
  }
};

// The normed rows of x as the input of matrices: row i is row `indexes[i]` of x, or row i where
// there are no indexes. Ends with a barrier where threads share the work.
const Activations& prepare_normed(Step& step, size_t thread, const std::vector<float>& gain,
                                  size_t row_count, const uint32_t* indexes = nullptr);
// The same for rows of `k` values as they are.
const Activations& prepare_rows(Step& step, size_t thread, const float* rows, size_t k);

struct Product {
  const PackedMatrix* weight;
  float* y;  // [rows, weight->rows()]
};

// Products of the same input, then for each range of panels finish(product, panels), on the thread
// that computed them. Threads take fixed parts of small batches and are fed from a counter in large
// ones. No barrier.
template <typename Finish>
void multiply(Step& step, size_t thread, const Activations& input,
              std::span<const Product> products, const Finish& finish);

// Rotates queries, writes keys and values, and attends: fills work.attended. Ends with a barrier.
void attend_rows(Step& step, size_t thread, size_t layer);

// x += attention(norm(x)); x += feed_forward(norm(x)). Ends with a barrier.
void run_layer(Step& step, size_t thread, size_t layer);

// Final norm, output matrix and the form that each row asked for.
void compute_outputs(Step& step, size_t thread);

// All of a step.
void run_step(Step& step, size_t thread);

// What a stage of the step reads and computes, by its shapes: a matrix is read once, keys and
// values once for each tile of rows.
profile::Cost cost_of(const Step& step, Stage stage, uint32_t index);

}  // namespace qualia::lanes::cpu
