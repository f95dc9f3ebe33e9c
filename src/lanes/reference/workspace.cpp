#include "lanes/reference/workspace.h"

#include <algorithm>

#include "ops/matmul.h"

namespace qualia::lanes::reference {
namespace {

struct Widths {
  size_t query = 0;
  size_t kv = 0;
  size_t feed_forward = 0;
  size_t rope_pairs = 0;
};

Widths largest_widths(const ops::DecoderSpec& spec) {
  Widths widths;
  for (const ops::LayerSpec& layer : spec.layers) {
    const ops::AttentionSpec& attention = layer.attention;
    const size_t head_dim = attention.head_dim;
    widths.query = std::max(widths.query, attention.head_count * head_dim);
    widths.kv = std::max(widths.kv, attention.kv_head_count * head_dim);
    widths.feed_forward = std::max<size_t>(widths.feed_forward, layer.feed_forward.width);
    widths.rope_pairs = std::max<size_t>(widths.rope_pairs, attention.rope.dims / 2);
  }
  return widths;
}

void grow(std::vector<float>& buffer, size_t count) {
  if (buffer.size() < count) buffer.resize(count);
}

}  // namespace

void Workspace::fit(const ops::DecoderSpec& spec, size_t rows, size_t output_rows,
                    size_t thread_count) {
  const Widths widths = largest_widths(spec);
  tokens.resize(rows);
  for (std::vector<float>* buffer : {&x, &normed, &projected}) grow(*buffer, rows * spec.width);
  for (std::vector<float>* buffer : {&query, &attended}) grow(*buffer, rows * widths.query);
  for (std::vector<float>* buffer : {&key, &value}) grow(*buffer, rows * widths.kv);
  for (std::vector<float>* buffer : {&gate, &up}) grow(*buffer, rows * widths.feed_forward);
  for (std::vector<float>* buffer : {&cosines, &sines}) grow(*buffer, rows * widths.rope_pairs);
  grow(logits, std::min(output_rows, kOutputRowsAtOnce) * spec.vocabulary_size);
  const size_t inputs = std::max({size_t{spec.width}, widths.query, widths.feed_forward});
  grow(scratch, kRangesPerThread * thread_count * ops::matmul_scratch_count(inputs));
}

}  // namespace qualia::lanes::reference
