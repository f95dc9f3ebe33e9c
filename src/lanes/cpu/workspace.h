// The buffers between the phases of a step, kept from step to step: decoding allocates none.
// Thread-safety: one owner; phases hand disjoint parts to threads, each thread has a space of its
// own.
// Shapes: [rows, ...] f32, packed; widths are the largest over the layers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lanes/cpu/activations.h"
#include "lanes/cpu/kv_layout.h"
#include "lanes/cpu/row_plan.h"
#include "lanes/cpu/shares.h"
#include "lanes/lane.h"

namespace qualia::lanes::cpu {

// Rows of logits that are held at once: they are handed out in the form each row asked for.
inline constexpr size_t kOutputRowsAtOnce = 32;
// Up to this many values, every thread quantises a matrix's whole input for itself: that takes less
// time than the barrier that sharing the work costs (about 1 us).
inline constexpr size_t kRedundantValues = 8192;
inline constexpr size_t kRedundantRows = 4;

struct Best {
  float logit = 0.0F;
  uint32_t index = 0;
  bool is_finite = true;
};

// Floats at a 64-byte boundary that only grow; what they held is lost when they do.
class FloatBuffer {
 public:
  // Throws std::bad_alloc.
  void grow(size_t count) {
    if (count <= count_) return;
    floats_.reset(
        static_cast<float*>(::operator new (count * sizeof(float), std::align_val_t{64})));
    count_ = count;
  }
  float* data() const { return floats_.get(); }

 private:
  struct Delete {
    void operator()(float* floats) const { ::operator delete (floats, std::align_val_t{64}); }
  };
  std::unique_ptr<float, Delete> floats_;
  size_t count_ = 0;
};

// What a thread writes for itself alone.
struct alignas(128) ThreadSpace {
  FloatBuffer rows;     // [kRedundantRows, width]
  FloatBuffer queries;  // [tile's queries, padded head size]
  FloatBuffer parts;    // two partial attentions of a tile
  FloatBuffer scratch;  // of the attention kernels
  FloatBuffer key;      // a rotated key
  std::vector<uint32_t> visible;
  std::vector<uint32_t> top_ids;
  std::optional<Activations> input;  // of matrices, redundant
  size_t phase = 0;                  // products so far in this step: the same on all threads
  Best best[kOutputRowsAtOnce];
};

// The largest of what layers need.
struct Widths {
  size_t input = 0;  // of any matrix
  size_t query = 0;
  size_t kv = 0;
  size_t feed_forward = 0;
  size_t group = 0;  // query heads of a kv head
  size_t kv_heads_min = 0;
  size_t kv_heads_max = 0;
  size_t padded_head = 0;
};
Widths widths_of(const ops::DecoderSpec& spec);

struct Workspace {
  // `forms`: what the model's matrices read.
  Workspace(const ops::DecoderSpec& spec, ActivationForms forms, Isa isa, size_t thread_count);

  // Makes room for the batch. Throws std::bad_alloc; errors: out_of_memory.
  Result<void> fit(const Batch& batch, size_t output_rows);

  const ops::DecoderSpec& spec;
  Widths widths;
  ActivationForms forms;
  Isa isa;
  std::vector<ThreadSpace> threads;
  Shares shares;  // of the products of few rows
  RowPlan plan;
  std::vector<TokenId> tokens;  // [rows]
  FloatBuffer x;                // [rows, width]: the residual stream
  FloatBuffer normed;           // [rows, width]
  FloatBuffer query;            // [rows, heads * head_dim]
  FloatBuffer key;              // [rows, kv_heads * head_dim]
  FloatBuffer value;            // [rows, kv_heads * head_dim]
  FloatBuffer attended;         // [rows, heads * head_dim]
  FloatBuffer projected;        // [rows, width]: what is added to x
  FloatBuffer gate;             // [rows, feed-forward width]
  FloatBuffer up;               // [rows, feed-forward width]
  FloatBuffer logits;           // [kOutputRowsAtOnce, vocabulary]
  FloatBuffer partials;         // [units, kv_heads, partial_stride]: partial attentions
  size_t partial_stride = 0;
  std::vector<ops::RopeSpec> ropes;     // the different ones of the layers
  std::vector<size_t> layer_rope;       // [layers]: index into ropes
  std::vector<FloatBuffer> angles;      // [ropes]: [rows, 2, dims / 2], cosines then sines
  std::vector<const std::byte*> pages;  // the page tables of all sequences, one after the other
  std::vector<size_t> first_page;       // [sequences]: where each sequence's table starts
  std::optional<Activations> input;     // of matrices, shared: [rows, input]
  std::vector<uint32_t> output_rows;    // rows with an output, by index
  // One ticket counter per product of a step, for work that threads take as they are free.
  std::unique_ptr<std::atomic<uint32_t>[]> tickets;

 private:
  Result<void> fit_inputs(size_t rows);
  void fit_threads(size_t top_k);
  size_t input_rows_ = 0;
};

// Products of a step: 4 a layer, and one per kOutputRowsAtOnce outputs.
constexpr size_t kProductsPerLayer = 4;

// Floats of the partial attention of `queries` queries.
constexpr size_t partial_floats(size_t queries, size_t padded_head) {
  return 2 * round_up(queries, 16) + queries * padded_head;
}

}  // namespace qualia::lanes::cpu
