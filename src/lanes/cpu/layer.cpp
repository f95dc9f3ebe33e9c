// One layer of a step, and the step as a whole.
#include "lanes/cpu/multiply.h"
#include "lanes/cpu/step.h"
#include "ops/embedding.h"
#include "ops/rope.h"

namespace qualia::lanes::cpu {
namespace {

// x += y for the columns of some panels.
void add_columns(Step& step, const Product& product, const Range& panels) {
  const size_t width = step.spec.width;
  const Range columns = columns_of(*product.weight, panels);
  for (size_t row = 0; row < step.row_count(); ++row) {
    const size_t at = row * width + columns.begin;
    step.kernels.residual_add(step.work.x.data() + at, product.y + at, columns.size());
  }
}

void add_attention(Step& step, size_t thread, size_t layer) {
  const LayerWeights& weights = step.weights.layers[layer];
  Workspace& work = step.work;
  const Activations& normed =
      prepare_normed(step, thread, weights.attention_norm, step.row_count());
  const Product inputs[] = {{&weights.query, work.query.data()},
                            {&weights.key, work.key.data()},
                            {&weights.value, work.value.data()}};
  multiply(step, thread, normed, inputs, [](const Product&, const Range&) {});
  step.team.barrier();
  step.end_stage(thread, Stage::qkv, layer);
  attend_rows(step, thread, layer);
  step.end_stage(thread, Stage::attend, layer);
  const Activations& attended =
      prepare_rows(step, thread, work.attended.data(), weights.attention_output.columns());
  const Product output[] = {{&weights.attention_output, work.projected.data()}};
  multiply(step, thread, attended, output, [&](const Product& product, const Range& panels) {
    add_columns(step, product, panels);
  });
  step.team.barrier();
  step.end_stage(thread, Stage::attention_output, layer);
}

void activate_columns(Step& step, size_t width, const Range& columns) {
  for (size_t row = 0; row < step.row_count(); ++row) {
    float* const gate = step.work.gate.data() + row * width + columns.begin;
    step.kernels.swiglu(gate, step.work.up.data() + row * width + columns.begin, gate,
                        columns.size());
  }
}

void add_feed_forward(Step& step, size_t thread, size_t layer) {
  const LayerWeights& weights = step.weights.layers[layer];
  Workspace& work = step.work;
  const Activations& normed =
      prepare_normed(step, thread, weights.feed_forward_norm, step.row_count());
  const size_t width = weights.gate.rows();
  share_units(step, thread, weights.gate.panel_count(), [&](const Range& panels) {
    weights.gate.multiply(normed, step.row_count(), work.gate.data(), width, panels.begin,
                          panels.end);
    weights.up.multiply(normed, step.row_count(), work.up.data(), width, panels.begin, panels.end);
    activate_columns(step, width, columns_of(weights.gate, panels));
  });
  step.team.barrier();
  step.end_stage(thread, Stage::gate_up, layer);
  const Activations& activated = prepare_rows(step, thread, work.gate.data(), width);
  const Product output[] = {{&weights.down, work.projected.data()}};
  multiply(step, thread, activated, output, [&](const Product& product, const Range& panels) {
    add_columns(step, product, panels);
  });
  step.team.barrier();
  step.end_stage(thread, Stage::down, layer);
}

// Threads take rows from opposite ends, so that one row's lookup and angles are made at once.
void begin_rows(Step& step, size_t thread) {
  Workspace& work = step.work;
  const Range looked_up = step.my_part(step.row_count(), thread);
  const size_t width = step.spec.width;
  ops::embedding_f32(step.weights.embedding, work.tokens.data() + looked_up.begin, looked_up.size(),
                     work.x.data() + looked_up.begin * width);
  const Range rotated = step.my_part(step.row_count(), step.team.size() - 1 - thread);
  for (size_t i = 0; i < work.ropes.size(); ++i) {
    const ops::RopeSpec& rope = work.ropes[i];
    for (size_t row = rotated.begin; row < rotated.end; ++row) {
      float* const angles = work.angles[i].data() + row * rope.dims;
      ops::rope_angles_f32(rope, step.batch.rows[row].position, angles, angles + rope.dims / 2);
    }
  }
  step.team.barrier();
  step.end_stage(thread, Stage::embedding, 0);
}

}  // namespace

void run_layer(Step& step, size_t thread, size_t layer) {
  add_attention(step, thread, layer);
  add_feed_forward(step, thread, layer);
}

void run_step(Step& step, size_t thread) {
  begin_rows(step, thread);
  for (size_t layer = 0; layer < step.spec.layers.size(); ++layer) run_layer(step, thread, layer);
  compute_outputs(step, thread);
}

}  // namespace qualia::lanes::cpu
