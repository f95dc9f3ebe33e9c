// One layer of a step: attention over the KV pages, then the feed-forward.
#include <cstring>

#include "lanes/reference/step.h"
#include "ops/attention.h"
#include "ops/residual_add.h"
#include "ops/rms_norm.h"
#include "ops/rope.h"
#include "ops/swiglu.h"

namespace qualia::lanes::reference {
namespace {

void norm_rows(Step& step, const std::vector<float>& gain) {
  const size_t width = step.spec.width;
  for_each_row(step, step.row_count(), [&](size_t row) {
    ops::rms_norm_f32(step.work.x.data() + row * width, gain.data(),
                      step.work.normed.data() + row * width, width, step.spec.norm_epsilon);
  });
}

void add_projected(Step& step) {
  const size_t width = step.spec.width;
  for_each_row(step, step.row_count(), [&](size_t row) {
    ops::residual_add_f32(step.work.x.data() + row * width,
                          step.work.projected.data() + row * width, width);
  });
}

bool same_angles(const ops::RopeSpec& a, const ops::RopeSpec& b) {
  return a.dims == b.dims && a.frequency_base == b.frequency_base &&
         a.position_scale == b.position_scale;
}

// The angles of every row, unless the previous layer left the same ones.
void compute_angles(Step& step, size_t layer) {
  const ops::RopeSpec& rope = step.spec.layers[layer].attention.rope;
  if (layer > 0 && same_angles(rope, step.spec.layers[layer - 1].attention.rope)) return;
  const size_t pairs = rope.dims / 2;
  for_each_row(step, step.row_count(), [&](size_t row) {
    ops::rope_angles_f32(rope, step.batch.rows[row].position,
                         step.work.cosines.data() + row * pairs,
                         step.work.sines.data() + row * pairs);
  });
}

// Puts a row's rotated keys and its values into the page that holds its position.
void store_kv(Step& step, size_t layer, size_t row_index) {
  const Row& row = step.batch.rows[row_index];
  const ops::AttentionSpec& attention = step.spec.layers[layer].attention;
  const size_t head_dim = attention.head_dim;
  const size_t in_page = row.position % kPagePositions * head_dim;
  float* page =
      step.pages.page(step.batch.sequences[row.sequence].pages[row.position / kPagePositions]);
  const size_t first = row_index * attention.kv_head_count * head_dim;
  for (size_t head = 0; head < attention.kv_head_count; ++head) {
    const size_t source = first + head * head_dim;
    std::memcpy(page + step.pages.key_offset(layer, head) + in_page, step.work.key.data() + source,
                head_dim * sizeof(float));
    std::memcpy(page + step.pages.value_offset(layer, head) + in_page,
                step.work.value.data() + source, head_dim * sizeof(float));
  }
}

void rotate_and_store(Step& step, size_t layer) {
  const ops::AttentionSpec& attention = step.spec.layers[layer].attention;
  const size_t head_dim = attention.head_dim;
  const size_t pairs = attention.rope.dims / 2;
  for_each_row(step, step.row_count(), [&](size_t row) {
    const float* cosines = step.work.cosines.data() + row * pairs;
    const float* sines = step.work.sines.data() + row * pairs;
    ops::rope_f32(attention.rope, cosines, sines,
                  step.work.query.data() + row * attention.head_count * head_dim,
                  attention.head_count, head_dim);
    ops::rope_f32(attention.rope, cosines, sines,
                  step.work.key.data() + row * attention.kv_head_count * head_dim,
                  attention.kv_head_count, head_dim);
    store_kv(step, layer, row);
  });
}

// REQUIRES: all rows of the step have stored their keys and values of this layer.
void attend(Step& step, size_t layer) {
  const ops::AttentionSpec& attention = step.spec.layers[layer].attention;
  const size_t heads = attention.head_count;
  const size_t head_dim = attention.head_dim;
  const size_t group = heads / attention.kv_head_count;
  step.pool.parallel_for(step.row_count() * heads, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const Row& row = step.batch.rows[i / heads];
      const size_t kv_head = i % heads / group;
      const ops::PagedKv kv{step.work.pages.data() + step.work.first_page[row.sequence],
                            kPagePositions, step.pages.key_offset(layer, kv_head),
                            step.pages.value_offset(layer, kv_head)};
      ops::attention_f32(step.work.query.data() + i * head_dim, kv, size_t{row.position} + 1,
                         head_dim, attention.score_scale, step.work.attended.data() + i * head_dim);
    }
  });
}

void add_attention(Step& step, size_t layer) {
  const LayerWeights& weights = step.weights.layers[layer];
  Workspace& work = step.work;
  norm_rows(step, weights.attention_norm);
  const Product inputs[] = {{&weights.query, work.normed.data(), work.query.data()},
                            {&weights.key, work.normed.data(), work.key.data()},
                            {&weights.value, work.normed.data(), work.value.data()}};
  multiply(step, inputs, step.row_count());
  step.end_stage(Stage::qkv, layer);
  compute_angles(step, layer);
  rotate_and_store(step, layer);
  attend(step, layer);
  step.end_stage(Stage::attend, layer);
  const Product output[] = {
      {&weights.attention_output, work.attended.data(), work.projected.data()}};
  multiply(step, output, step.row_count());
  add_projected(step);
  step.end_stage(Stage::attention_output, layer);
}

void add_feed_forward(Step& step, size_t layer) {
  const LayerWeights& weights = step.weights.layers[layer];
  Workspace& work = step.work;
  norm_rows(step, weights.feed_forward_norm);
  const Product inputs[] = {{&weights.gate, work.normed.data(), work.gate.data()},
                            {&weights.up, work.normed.data(), work.up.data()}};
  multiply(step, inputs, step.row_count());
  const size_t width = step.spec.layers[layer].feed_forward.width;
  for_each_row(step, step.row_count(), [&](size_t row) {
    float* gate = work.gate.data() + row * width;
    ops::swiglu_f32(gate, work.up.data() + row * width, gate, width);
  });
  step.end_stage(Stage::gate_up, layer);
  const Product output[] = {{&weights.down, work.gate.data(), work.projected.data()}};
  multiply(step, output, step.row_count());
  add_projected(step);
  step.end_stage(Stage::down, layer);
}

}  // namespace

void run_layer(Step& step, size_t layer) {
  add_attention(step, layer);
  add_feed_forward(step, layer);
}

}  // namespace qualia::lanes::reference
