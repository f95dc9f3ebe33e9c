// top_k: the indices of the k largest logits, best first.
// Thread-safety: pure; distinct outputs may run in parallel.
// Shapes: logits [count] f32, finite; out [min(k, count)] indices.
// Ties: the lower index first, so that top_k with k = 1 equals argmax.
// Cost: O(count + k log count) once the best are found, O(count log k) on ascending logits.
// Errors: none; callers check finiteness with argmax_f32 first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qualia::ops {

// Returns how many indices were written: min(k, count).
size_t top_k_f32(const float* logits, size_t count, size_t k, uint32_t* out) noexcept;

}  // namespace qualia::ops
