#include "lanes/cpu/packed_matrix.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "lanes/cpu/pack_panel.h"
#include "lanes/cpu/product_variants.h"

namespace qualia::lanes::cpu {
namespace {

// Activations of a block of rows stay in the L2 cache while panels stream past: half of the 512 KiB
// of Zen 2 and later (Intel's are larger).
constexpr size_t kActivationBytesMax = size_t{256} << 10;
// Rows that kernels take at once: AMX, and AVX-512 (sixteen sums).
constexpr size_t kTileRowsAtOnce = 32;
constexpr size_t kRowsAtOnce = 16;

PackedFormat format_of(DType dtype, Precision precision) {
  const auto format = packed_format_of(dtype, precision);
  QUALIA_CHECK(format.has_value());
  return *format;
}

}  // namespace

bool PackedMatrix::can_pack(DType dtype) {
  return packed_format_of(dtype, Precision::fast).has_value();
}

ActivationForms PackedMatrix::reads(DType dtype, Precision precision) {
  const bool is_integer = packed_format_info(format_of(dtype, precision)).is_integer();
  if (!is_integer || precision == Precision::exact) return ActivationForms::f32;
  return precision == Precision::fast ? ActivationForms::int8 : ActivationForms::int8_pair;
}

Result<size_t> PackedMatrix::packed_bytes(DType dtype, size_t n, size_t k, Precision precision) {
  const PackedFormat format = format_of(dtype, precision);
  const size_t panels = n / kPanelRows + (n % kPanelRows != 0 ? 1 : 0);
  const auto panel = checked_mul(packed_format_info(format).block_bytes(), block_count(k));
  const auto bytes = checked_mul(panel.value_or(SIZE_MAX), panels);
  const size_t factors = has_row_factors(dtype, format) ? panels * kPanelRows * sizeof(float) : 0;
  const auto total = checked_add(bytes.value_or(SIZE_MAX), factors);
  if (!bytes || !total) return out_of_memory("A weight of {} x {} values has no size.", n, k);
  return *total;
}

Result<PackedMatrix> PackedMatrix::create(DType dtype, size_t n, size_t k, Precision precision,
                                          Isa isa) {
  QUALIA_ASSIGN(const size_t size_bytes, packed_bytes(dtype, n, k, precision));
  QUALIA_ASSIGN(AlignedMemory memory, AlignedMemory::allocate(size_bytes));
  QUALIA_ASSIGN(PackedMatrix matrix, create_in(memory.data(), dtype, n, k, precision, isa));
  matrix.own_ = std::move(memory);
  return matrix;
}

Result<PackedMatrix> PackedMatrix::create_in(std::byte* memory, DType dtype, size_t n, size_t k,
                                             Precision precision, Isa isa) {
  PackedMatrix matrix;
  QUALIA_ASSIGN(matrix.size_bytes_, packed_bytes(dtype, n, k, precision));
  matrix.data_ = memory;
  matrix.format_ = format_of(dtype, precision);
  matrix.form_ = reads(dtype, precision);
  const bool is_float = matrix.form_ == ActivationForms::f32;
  matrix.product_ =
      find_product(matrix.format_, is_float ? ActivationForms::f32 : ActivationForms::int8, isa);
  matrix.n_ = n;
  matrix.k_ = k;
  matrix.panel_bytes_ = packed_format_info(matrix.format_).block_bytes() * block_count(k);
  matrix.panels_bytes_ = matrix.panel_bytes_ * matrix.panel_count();
  matrix.has_row_factors_ = has_row_factors(dtype, matrix.format_);
  return matrix;
}

void PackedMatrix::pack(const TensorView& source, size_t panel_begin, size_t panel_end) noexcept {
  for (size_t p = panel_begin; p < panel_end; ++p) {
    const size_t first_row = p * kPanelRows;
    pack_panel(source, format_, first_row, data_ + p * panel_bytes_,
               has_row_factors_ ? row_factors() + first_row : nullptr);
  }
}

// Rows of x whose activations fit the cache, a multiple of what kernels take at once.
size_t PackedMatrix::token_block() const {
  const size_t unit =
      form_ == ActivationForms::f32 ? kBlockColumns * sizeof(float) : sizeof(ActivationBlock);
  const size_t rows = kActivationBytesMax / (block_count(k_) * unit);
  return rows < kTileRowsAtOnce ? kRowsAtOnce : rows / kTileRowsAtOnce * kTileRowsAtOnce;
}

void PackedMatrix::multiply(const Activations& x, size_t m, float* y, size_t y_stride,
                            size_t panel_begin, size_t panel_end) const noexcept {
  const size_t blocks = block_count(k_);
  const size_t first_row = panel_begin * kPanelRows;
  const size_t step = token_block();
  ProductArguments arguments;
  arguments.panel = data_ + panel_begin * panel_bytes_;
  arguments.panel_bytes = panel_bytes_;
  arguments.panel_count = panel_end - panel_begin;
  arguments.blocks = blocks;
  arguments.row_factors = has_row_factors_ ? row_factors() + first_row : nullptr;
  arguments.y_stride = y_stride;
  arguments.rows = std::min(n_, panel_end * kPanelRows) - first_row;
  arguments.is_paired = form_ == ActivationForms::int8_pair;
  const size_t x_rows = arguments.is_paired ? 2 : 1;  // of a row of y
  for (size_t first = 0; first < m * x_rows; first += step) {
    if (form_ == ActivationForms::f32) {
      arguments.f32 = x.f32_tile(first / kTokenTile, blocks);
    } else {
      arguments.int8 = x.int8_tile(first / kTokenTile, blocks);
    }
    arguments.m = std::min(step, m * x_rows - first);
    arguments.y = y + first / x_rows * y_stride + first_row;
    product_(arguments);
  }
}

}  // namespace qualia::lanes::cpu
