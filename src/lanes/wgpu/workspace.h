// The buffers between the kernels of a step, made once for kRowsMax rows: nothing is allocated
// while decoding. One buffer per tensor, since wgpu orders work by whole buffers.
// Thread-safety: one owner.
// Errors: out_of_memory from the device.
#pragma once

#include <cstdint>

#include "lanes/lane.h"
#include "lanes/wgpu/device.h"

namespace qualia::lanes::wgpu {

// Rows that go through the layers at a time; longer batches go in several submissions.
inline constexpr uint32_t kRowsMax = 512;
// Rows whose logits are held at a time.
inline constexpr uint32_t kOutputRowsMax = 32;
// Outputs of a step whose chosen ids stay on the device.
inline constexpr uint32_t kOutputsMax = 16384;
// Words of a step's rows, page tables and angles.
inline constexpr uint32_t kStepWords = uint32_t{1} << 19U;
// Logits that a workgroup of argmax.wgsl takes, candidates that one of top_k.wgsl sorts.
inline constexpr uint32_t kArgmaxSlice = 1024;
inline constexpr uint32_t kTopKBlock = 1024;
inline constexpr uint32_t kTopKMax = 512;

// Activations in the forms that products read; a form that nothing reads is a word.
struct Forms {
  Buffer codes;   // [rows][parts][groups][8] u32
  Buffer meta;    // [rows][parts][groups][2 halves][2] f32
  Buffer floats;  // [rows][groups][32] f32
  bool wants_int8 = false;
  bool wants_f32 = false;
  uint32_t parts = 1;

  static Result<Forms> create(Device& device, uint32_t rows, uint32_t k, bool wants_int8,
                              bool wants_f32, uint32_t parts);
};

// The largest sizes over the layers.
struct WorkspaceShape {
  uint32_t width = 0;
  uint32_t qkv_columns = 0;
  uint32_t query_floats = 0;  // heads * padded head size
  uint32_t heads = 0;
  uint32_t hidden_columns = 0;  // gate and up
  uint32_t vocabulary = 0;
};

// Chunks of attention that are held at a time, over all rows.
inline constexpr uint32_t kPartialsMax = 4096;
// Chunks that a row has at most; pages that are one chunk, since putting two chunks together takes
// longer than one page after the other.
inline constexpr uint32_t kChunksMax = 64;
inline constexpr uint32_t kDirectPages = 2;

struct Workspace {
  Buffer step;
  Buffer x;           // [rows][width]
  Buffer qkv;         // [rows][qkv_columns]
  Buffer queries;     // [rows][query_floats]
  Buffer partials;    // [kPartialsMax][query_floats]
  Buffer stats;       // [kPartialsMax][heads][2]
  Buffer hidden;      // [rows][hidden_columns]
  Buffer logits;      // [kOutputRowsMax][vocabulary]
  Buffer slices;      // [kOutputRowsMax][slices] of argmax
  Buffer best[2];     // [kOutputRowsMax][blocks][k] of top_k, by turns
  Buffer results[2];  // [kOutputsMax] vec4<u32>, by steps in turns

  static Result<Workspace> create(Device& device, const WorkspaceShape& shape);
};

}  // namespace qualia::lanes::wgpu
