// The weights of a model as the ops read them: in place, in the mapped files. Only the norms, which
// are small, are copied out as float32.
// Thread-safety: immutable after load.
// Errors: corrupt_file for a weight that is missing, of another shape or outside its file;
// unsupported for a type that ops/dequantize.h lacks; io, not_found from opening the files.
#pragma once

#include <cstdint>
#include <vector>

#include "base/file_map.h"
#include "lanes/lane.h"
#include "ops/embedding.h"
#include "ops/matmul.h"

namespace qualia::lanes::reference {

struct LayerWeights {
  std::vector<float> attention_norm;
  ops::MatmulWeight query;
  ops::MatmulWeight key;
  ops::MatmulWeight value;
  ops::MatmulWeight attention_output;
  std::vector<float> feed_forward_norm;
  ops::MatmulWeight gate;
  ops::MatmulWeight up;
  ops::MatmulWeight down;
};

struct Weights {
  std::vector<FileMap> files;  // own the bytes that everything below points into
  ops::EmbeddingTable embedding;
  std::vector<LayerWeights> layers;
  std::vector<float> output_norm;
  ops::MatmulWeight output;
  uint64_t held_bytes = 0;  // copies: the norms, and files that could not be mapped
  uint64_t step_bytes = 0;  // read by a step of one row
};

Result<Weights> load_weights(const ops::DecoderSpec& spec, const ops::WeightMap& map,
                             const Progress& progress);

}  // namespace qualia::lanes::reference
