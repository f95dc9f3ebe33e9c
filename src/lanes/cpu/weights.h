// The weights of a model in the CPU lane's own forms: matrices repacked in one block of memory,
// norms as float32. Only the token embedding's rows are read from the mapped file.
// Thread-safety: immutable after load.
// Memory: source pages are given back as they are consumed, so that the peak is the packed form, a
// piece of a matrix a thread, and the embedding rows in use. A tied embedding is packed once, as
// the output matrix. Errors: see lanes/weight_source.h; out_of_memory for the packed form.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/file_map.h"
#include "lanes/cpu/packed_matrix.h"
#include "lanes/cpu/team.h"
#include "lanes/lane.h"
#include "ops/embedding.h"

namespace qualia::lanes::cpu {

// Rows of a matrix, columns of its output, that panels stand for.
inline Range columns_of(const PackedMatrix& weight, const Range& panels) {
  return {panels.begin * kPanelRows, std::min(panels.end * kPanelRows, weight.rows())};
}

struct LayerWeights {
  std::vector<float> attention_norm;
  PackedMatrix query;
  PackedMatrix key;
  PackedMatrix value;
  PackedMatrix attention_output;
  std::vector<float> feed_forward_norm;
  PackedMatrix gate;
  PackedMatrix up;
  PackedMatrix down;
};

struct Weights {
  std::vector<FileMap> files;  // own the embedding's bytes
  AlignedMemory packed;        // owns what all matrices point into
  ops::EmbeddingTable embedding;
  std::vector<LayerWeights> layers;
  std::vector<float> output_norm;
  PackedMatrix output;
  ActivationForms forms = ActivationForms::f32;  // that the matrices read, all together
  uint64_t held_bytes = 0;
  uint64_t step_bytes = 0;          // read by a step of one row
  uint64_t step_multiply_adds = 0;  // of a row without an output
};

Result<Weights> load_weights(const ops::DecoderSpec& spec, const ops::WeightMap& map,
                             Precision precision, Isa isa, Team& team, const Progress& progress);

}  // namespace qualia::lanes::cpu
