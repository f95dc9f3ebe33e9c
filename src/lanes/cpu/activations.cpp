#include "lanes/cpu/activations.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/error.h"
#include "lanes/cpu/quantize_activations.h"

namespace qualia::lanes::cpu {
namespace {

// Whole blocks pass through at once; the last one of a ragged row is padded here.
const float* padded(const float* source, size_t count, float (&room)[kBlockColumns]) {
  if (count >= kBlockColumns) return source;
  std::copy_n(source, count, room);
  std::fill(room + count, room + kBlockColumns, 0.0F);
  return room;
}

// What a block of INT8 lost. NaN stays NaN; the largest is half of the block's scale.
void residual_of(const float* values, const ActivationBlock& block, float (&out)[kBlockColumns]) {
  for (size_t i = 0; i < kBlockColumns; ++i) {
    out[i] = values[i] - block.scale * static_cast<float>(block.values[i]);
  }
}

size_t index_of(size_t row, size_t block, size_t blocks) {
  return (row / kTokenTile * blocks + block) * kTokenTile + row % kTokenTile;
}

}  // namespace

Result<Activations> Activations::create(size_t m_max, size_t k_max, ActivationForms forms,
                                        Isa isa) {
  Activations activations;
  activations.is_paired_ = has_form(forms, ActivationForms::int8_pair);
  QUALIA_CHECK(!(activations.is_paired_ && has_form(forms, ActivationForms::int8)));
  const size_t rows = (m_max + kTokenTile - 1) / kTokenTile * kTokenTile;
  const auto blocks = checked_mul(rows, block_count(k_max));
  const auto int8_bytes =
      checked_mul(blocks.value_or(SIZE_MAX), activations.int8_rows() * sizeof(ActivationBlock));
  const auto f32_bytes = checked_mul(blocks.value_or(SIZE_MAX), kBlockColumns * sizeof(float));
  if (!int8_bytes || !f32_bytes) {
    return out_of_memory("Activations of {} rows of {} values have no size.", m_max, k_max);
  }
  if (has_form(forms, ActivationForms::int8) || activations.is_paired_) {
    QUALIA_ASSIGN(activations.int8_, AlignedMemory::allocate(*int8_bytes));
  }
  if (has_form(forms, ActivationForms::f32)) {
    QUALIA_ASSIGN(activations.f32_, AlignedMemory::allocate(*f32_bytes));
  }
  activations.quantize_ = find_quantize(isa);
  return activations;
}

void Activations::set(const float* x, size_t k, size_t m_begin, size_t m_end) noexcept {
  const size_t blocks = block_count(k);
  float room[kBlockColumns];
  for (size_t row = m_begin; row < m_end; ++row) {
    for (size_t b = 0; b < blocks; ++b) {
      const size_t column = b * kBlockColumns;
      const float* values = padded(x + row * k + column, k - column, room);
      if (int8_.data() != nullptr) set_int8(values, row, b, blocks);
      if (f32_.data() != nullptr) {
        std::memcpy(f32() + index_of(row, b, blocks) * kBlockColumns, values,
                    kBlockColumns * sizeof(float));
      }
    }
  }
}

void Activations::set_int8(const float* values, size_t row, size_t block, size_t blocks) noexcept {
  ActivationBlock& first = int8()[index_of(row * int8_rows(), block, blocks)];
  quantize_(values, first);
  if (!is_paired_) return;
  float residual[kBlockColumns];
  residual_of(values, first, residual);
  quantize_(residual, int8()[index_of(row * 2 + 1, block, blocks)]);
}

}  // namespace qualia::lanes::cpu
