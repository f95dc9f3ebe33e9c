// The buffers between the phases of a step, kept from step to step: decoding allocates none.
// Thread-safety: one owner; phases hand disjoint parts to threads.
// Shapes: [rows, ...] f32, packed; widths are the largest over the layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lanes/lane.h"

namespace qualia::lanes::reference {

// Rows of logits that are held at once: they are handed out in the form each row asked for.
inline constexpr size_t kOutputRowsAtOnce = 32;

// Parts that a matmul is cut into per thread, so that a thread that starts late delays little.
inline constexpr size_t kRangesPerThread = 4;

struct Workspace {
  std::vector<TokenId> tokens;      // [rows]
  std::vector<float> x;             // [rows, width]: the residual stream
  std::vector<float> normed;        // [rows, width]
  std::vector<float> query;         // [rows, heads * head_dim]
  std::vector<float> key;           // [rows, kv_heads * head_dim]
  std::vector<float> value;         // [rows, kv_heads * head_dim]
  std::vector<float> attended;      // [rows, heads * head_dim]
  std::vector<float> projected;     // [rows, width]: what is added to x
  std::vector<float> gate;          // [rows, feed-forward width]
  std::vector<float> up;            // [rows, feed-forward width]
  std::vector<float> cosines;       // [rows, rope dims / 2]
  std::vector<float> sines;         // [rows, rope dims / 2]
  std::vector<float> logits;        // [kOutputRowsAtOnce, vocabulary]
  std::vector<float> scratch;       // one part per range of a matmul
  std::vector<const float*> pages;  // the page tables of all sequences, one after the other
  std::vector<size_t> first_page;   // [sequences]: where each sequence's table starts

  // Makes room for `rows` rows, of which `output_rows` want an output. Throws std::bad_alloc.
  void fit(const ops::DecoderSpec& spec, size_t rows, size_t output_rows, size_t thread_count);
};

}  // namespace qualia::lanes::reference
