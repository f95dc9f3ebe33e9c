// What of a batch goes to the GPU: the words of the step buffer, for rows [begin, end) of the
// batch. Thread-safety: pure. Layout in 32-bit words: rows [rows][8] {token, feedback, position,
// where its page table begins, 0...}, the rows that want outputs, the page tables, then per
// distinct RoPE the angles [rows][dims / 2] {cosine, sine} as float32.
#pragma once

#include <cstdint>
#include <vector>

#include "lanes/lane.h"
#include "lanes/wgpu/layers.h"

namespace qualia::lanes::wgpu {

struct StepInput {
  std::vector<uint32_t> words;
  StepShape shape;
  std::vector<uint32_t> output_rows;  // of the batch
};

// Rows that one submission takes of a batch: kRowsMax, fewer where their page tables are long.
// Errors: unsupported where not even one row's table fits.
Result<StepInput> make_step_input(const Batch& batch, size_t begin, size_t end,
                                  const ops::DecoderSpec& spec);

}  // namespace qualia::lanes::wgpu
