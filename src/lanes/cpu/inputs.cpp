// Making the inputs of matrices: norms and quantisation.
#include "lanes/cpu/step.h"

namespace qualia::lanes::cpu {
namespace {

bool is_redundant(size_t row_count, size_t k) {
  return row_count <= kRedundantRows && row_count * k <= kRedundantValues;
}

}  // namespace

const Activations& prepare_normed(Step& step, size_t thread, const std::vector<float>& gain,
                                  size_t row_count, const uint32_t* indexes) {
  const size_t width = step.spec.width;
  const bool redundant = is_redundant(row_count, width);
  ThreadSpace& space = step.work.threads[thread];
  Activations& input = redundant ? *space.input : *step.work.input;
  float* const normed = redundant ? space.rows.data() : step.work.normed.data();
  const Range rows = redundant ? Range{0, row_count} : step.my_part(row_count, thread);
  for (size_t i = rows.begin; i < rows.end; ++i) {
    const size_t row = indexes == nullptr ? i : indexes[i];
    step.kernels.rms_norm(step.work.x.data() + row * width, gain.data(), normed + i * width, width,
                          step.spec.norm_epsilon);
    input.set(normed, width, i, i + 1);
  }
  if (!redundant) step.team.barrier();
  return input;
}

const Activations& prepare_rows(Step& step, size_t thread, const float* rows, size_t k) {
  const bool redundant = is_redundant(step.row_count(), k);
  Activations& input = redundant ? *step.work.threads[thread].input : *step.work.input;
  const Range mine =
      redundant ? Range{0, step.row_count()} : step.my_part(step.row_count(), thread);
  input.set(rows, k, mine.begin, mine.end);
  if (!redundant) step.team.barrier();
  return input;
}

}  // namespace qualia::lanes::cpu
