// Activations: rows of x made ready for products: INT8 per 32 values, pairs of INT8, float32, or
// float32 with either.
// Thread-safety: set() on distinct rows may run in parallel; products read them afterwards.
// Layout: tiles of kTokenTile rows; within a tile block by block of 32 k, within a block row by
// row, so that a product of a tile reads one contiguous range. A row of INT8 is one cache line a
// block. INT8: scale = max|x| / 127, value = x / scale rounded to even, in [-127, 127]; a block
// without a value above 2^-100 is zero; a block that holds NaN or infinity has a scale that is not
// finite. A pair takes two neighbouring rows: the first as above, the second the INT8 form of what
// the first lost; together they hold 15 bits, and integer kernels serve them as two rows.
// Columns beyond k (up to the block's end) are zero. Errors: out_of_memory at creation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lanes/cpu/aligned_memory.h"
#include "lanes/cpu/cpu_features.h"
#include "lanes/cpu/packed_format.h"
#include "qualia/lane.h"

namespace qualia::lanes::cpu {

// 4 rows: enough for AVX2's sixteen registers (8 sums), and a lone row still spreads over a quarter
// of the L1 cache's sets.
inline constexpr size_t kTokenTile = 4;

// 32 values of a row and what products need of them beside.
struct alignas(64) ActivationBlock {
  int8_t values[kBlockColumns];
  float scale;
  float scaled_sum;             // scale * sum of values: multiplies a weight's min
  int32_t sum_times_minus_8;    // takes the offset out of unsigned 4-bit codes
  int32_t sum_times_minus_128;  // and out of 8-bit codes that were made unsigned
  int32_t half_sums_times_minus_128[2];
  float half_scaled_sums[2];
};
static_assert(sizeof(ActivationBlock) == 64);

// A set: one or the other INT8 form, with or without float32.
enum class ActivationForms : uint8_t { int8 = 1, f32 = 2, int8_pair = 4 };

constexpr ActivationForms operator|(ActivationForms a, ActivationForms b) {
  return static_cast<ActivationForms>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

constexpr bool has_form(ActivationForms forms, ActivationForms form) {
  return (static_cast<unsigned>(forms) & static_cast<unsigned>(form)) != 0;
}

constexpr size_t block_count(size_t k) { return (k + kBlockColumns - 1) / kBlockColumns; }

class Activations {
 public:
  // Room for m_max rows of up to k_max values. Which forms a matrix reads: PackedMatrix::reads().
  static Result<Activations> create(size_t m_max, size_t k_max, ActivationForms forms, Isa isa);

  // Takes over rows [m_begin, m_end) of x [.., k], packed. k may differ from call to call, but not
  // among the rows of one product.
  void set(const float* x, size_t k, size_t m_begin, size_t m_end) noexcept;

  // INT8 rows that a row of x takes: two where they are paired.
  size_t int8_rows() const { return is_paired_ ? 2 : 1; }

  // First block of a tile of INT8 or float32 rows that have `blocks` blocks each.
  const ActivationBlock* int8_tile(size_t tile, size_t blocks) const {
    return int8() + tile * blocks * kTokenTile;
  }
  const float* f32_tile(size_t tile, size_t blocks) const {
    return f32() + tile * blocks * kTokenTile * kBlockColumns;
  }

 private:
  void set_int8(const float* values, size_t row, size_t block, size_t blocks) noexcept;
  ActivationBlock* int8() const { return reinterpret_cast<ActivationBlock*>(int8_.data()); }
  float* f32() const { return reinterpret_cast<float*>(f32_.data()); }

  // Turns 32 values into a block.
  using Quantize = void (*)(const float* values, ActivationBlock& block) noexcept;

  AlignedMemory int8_;
  AlignedMemory f32_;
  Quantize quantize_ = nullptr;
  bool is_paired_ = false;
};

}  // namespace qualia::lanes::cpu
