#include "lanes/cpu/workspace.h"

#include <algorithm>

#include "base/error.h"
#include "lanes/cpu/kernels.h"

namespace qualia::lanes::cpu {
namespace {

bool same_angles(const ops::RopeSpec& a, const ops::RopeSpec& b) {
  return a.dims == b.dims && a.frequency_base == b.frequency_base &&
         a.position_scale == b.position_scale;
}

}  // namespace

Widths widths_of(const ops::DecoderSpec& spec) {
  Widths widths;
  widths.kv_heads_min = spec.layers.front().attention.kv_head_count;
  for (const ops::LayerSpec& layer : spec.layers) {
    const ops::AttentionSpec& attention = layer.attention;
    const size_t head_dim = attention.head_dim;
    const size_t kv_heads = attention.kv_head_count;
    widths.query = std::max(widths.query, attention.head_count * head_dim);
    widths.kv = std::max(widths.kv, kv_heads * head_dim);
    widths.feed_forward = std::max<size_t>(widths.feed_forward, layer.feed_forward.width);
    widths.group = std::max(widths.group, attention.head_count / kv_heads);
    widths.kv_heads_min = std::min(widths.kv_heads_min, kv_heads);
    widths.kv_heads_max = std::max(widths.kv_heads_max, kv_heads);
    widths.padded_head = std::max(widths.padded_head, round_up(head_dim, kKvGroup));
  }
  widths.input = std::max({size_t{spec.width}, widths.query, widths.feed_forward});
  return widths;
}

Workspace::Workspace(const ops::DecoderSpec& spec_, ActivationForms forms_, Isa isa_,
                     size_t thread_count)
    : spec(spec_),
      widths(widths_of(spec_)),
      forms(forms_),
      isa(isa_),
      threads(thread_count),
      shares(thread_count) {
  for (const ops::LayerSpec& layer : spec.layers) {
    const ops::RopeSpec& rope = layer.attention.rope;
    const auto known = std::find_if(ropes.begin(), ropes.end(),
                                    [&](const ops::RopeSpec& r) { return same_angles(r, rope); });
    layer_rope.push_back(static_cast<size_t>(known - ropes.begin()));
    if (known == ropes.end()) ropes.push_back(rope);
  }
  angles.resize(ropes.size());
}

void Workspace::fit_threads(size_t top_k) {
  const size_t queries = std::max(kTileQueries, widths.group);
  for (ThreadSpace& space : threads) {
    space.rows.grow(kRedundantRows * widths.input);
    space.queries.grow(queries * widths.padded_head);
    space.parts.grow(2 * partial_floats(queries, widths.padded_head));
    space.scratch.grow(attention_scratch_count(queries, widths.padded_head));
    space.key.grow(widths.padded_head);
    space.visible.resize(queries);
    space.top_ids.resize(std::min<size_t>(top_k, spec.vocabulary_size));
  }
}

Result<void> Workspace::fit_inputs(size_t rows) {
  for (ThreadSpace& space : threads) {
    if (space.input) continue;
    QUALIA_ASSIGN(space.input, Activations::create(kRedundantRows, widths.input, forms, isa));
  }
  const size_t shared_rows = std::max(rows, kOutputRowsAtOnce);
  if (shared_rows <= input_rows_) return {};
  QUALIA_ASSIGN(input, Activations::create(shared_rows, widths.input, forms, isa));
  input_rows_ = shared_rows;
  return {};
}

Result<void> Workspace::fit(const Batch& batch, size_t output_count) {
  const size_t rows = batch.rows.size();
  plan.make(batch, widths.group, widths.kv_heads_min, threads.size());
  QUALIA_TRY(fit_inputs(rows));
  fit_threads(batch.top_k);
  tokens.resize(rows);
  const size_t normed_rows = std::max(rows, std::min(output_count, kOutputRowsAtOnce));
  normed.grow(normed_rows * spec.width);
  for (FloatBuffer* buffer : {&x, &projected}) buffer->grow(rows * spec.width);
  for (FloatBuffer* buffer : {&query, &attended}) buffer->grow(rows * widths.query);
  for (FloatBuffer* buffer : {&key, &value}) buffer->grow(rows * widths.kv);
  for (FloatBuffer* buffer : {&gate, &up}) buffer->grow(rows * widths.feed_forward);
  logits.grow(std::min(output_count, kOutputRowsAtOnce) * spec.vocabulary_size);
  if (plan.is_split) {
    const size_t queries = std::max(kTileQueries, widths.group);
    const size_t rows_max = std::min(rows, std::max<size_t>(1, queries / widths.group));
    partial_stride = partial_floats(rows_max * widths.group, widths.padded_head);
    partials.grow(plan.unit_tiles.size() * widths.kv_heads_max * partial_stride);
  }
  for (size_t i = 0; i < ropes.size(); ++i) angles[i].grow(rows * ropes[i].dims);
  const size_t products = kProductsPerLayer * spec.layers.size();
  if (tickets == nullptr) tickets = std::make_unique<std::atomic<uint32_t>[]>(products);
  for (size_t i = 0; i < products; ++i) tickets[i].store(0, std::memory_order_relaxed);
  for (ThreadSpace& space : threads) space.phase = 0;
  shares.update();
  return {};
}

}  // namespace qualia::lanes::cpu
