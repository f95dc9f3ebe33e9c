// rope: rotary position embedding, in both orders of pairs.
// Thread-safety: pure; distinct outputs may run in parallel.
// Formula: pair i of dims / 2 turns by a = position * position_scale * frequency_base^(-2 i /
// dims): (u, v) -> (u cos a - v sin a, u sin a + v cos a). RopeKind::interleaved pairs (2 i, 2 i +
// 1), halves pairs (i, i + dims / 2). Values from dims on stay. Shapes: cosines, sines [dims / 2]
// f32; x [heads, head_dim] f32, rotated in place. Bound: |x' - exact| <= 4 * eps(f32) * max(|u|,
// |v|): angles are double, their cosines rounded once. Errors: none; callers prove that dims is
// even and at most head_dim. Source: Su et al. 2021, eq. 34; linear scaling: Chen et al. 2023
// (position interpolation).
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/decoder_spec.h"

namespace qualia::ops {

// The angles of one position, for all heads.
void rope_angles_f32(const RopeSpec& rope, uint32_t position, float* cosines,
                     float* sines) noexcept;

void rope_f32(const RopeSpec& rope, const float* cosines, const float* sines, float* x,
              size_t head_count, size_t head_dim) noexcept;

}  // namespace qualia::ops
