// PackedMatrix: a weight matrix W [n, k] repacked for SIMD products, and the products y = x W^T.
// Thread-safety: immutable once packed; multiply() on distinct panel ranges may run in parallel,
// and so may pack() on distinct panel ranges. The thread that packs a panel touches its pages
// first. Layout: panels of kPanelRows rows; within a panel, blocks of 32 k, so that a product
// streams one panel from its beginning to its end. Rows beyond n are zero. The formats and their
// bytes are described in packed_format.h and docs/formats/packed_matrix.md; error bounds stand in
// product.h. Errors: out_of_memory at creation; callers prove shapes at load.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lanes/cpu/activations.h"
#include "lanes/cpu/aligned_memory.h"
#include "lanes/cpu/cpu_features.h"
#include "lanes/cpu/packed_format.h"
#include "lanes/cpu/product.h"
#include "qualia/lane.h"
#include "tensor/tensor_view.h"

namespace qualia::lanes::cpu {

class PackedMatrix {
 public:
  static bool can_pack(DType dtype);

  // Which form of activations products of this type read in this precision: for quantised types
  // INT8 in fast precision and pairs of INT8 in precise; float32 for all else.
  static ActivationForms reads(DType dtype, Precision precision);

  // Bytes that create_in() needs. REQUIRES: can_pack(dtype).
  static Result<size_t> packed_bytes(DType dtype, size_t n, size_t k, Precision precision);

  // Allocates (huge pages where it is large enough); nothing is packed yet. REQUIRES:
  // can_pack(dtype); n, k > 0; k a multiple of the type's block.
  static Result<PackedMatrix> create(DType dtype, size_t n, size_t k, Precision precision, Isa isa);
  // The same in memory of the caller's: zeroed, aligned to 64 bytes, packed_bytes() long, and
  // outliving the matrix (an arena of all weights has huge pages for small matrices too).
  static Result<PackedMatrix> create_in(std::byte* memory, DType dtype, size_t n, size_t k,
                                        Precision precision, Isa isa);

  // Repacks panels [begin, end) from `source` [n, k].
  void pack(const TensorView& source, size_t panel_begin, size_t panel_end) noexcept;

  size_t rows() const { return n_; }     // n
  size_t columns() const { return k_; }  // k
  size_t panel_count() const { return (n_ + kPanelRows - 1) / kPanelRows; }
  size_t size_bytes() const { return size_bytes_; }  // packed
  PackedFormat format() const { return format_; }
  ActivationForms form() const { return form_; }  // that multiply() reads

  // y[row * y_stride + j] = sum_k x[row, k] W[j, k] for rows [0, m) of x and j of the panels
  // [panel_begin, panel_end), j < n. m = 1 is a GEMV, larger m read the weights once per block of
  // rows. An output's bits depend neither on m nor on the range.
  void multiply(const Activations& x, size_t m, float* y, size_t y_stride, size_t panel_begin,
                size_t panel_end) const noexcept;

 private:
  float* row_factors() const { return reinterpret_cast<float*>(data_ + panels_bytes_); }
  size_t token_block() const;

  AlignedMemory own_;          // empty after create_in()
  std::byte* data_ = nullptr;  // panels, then row factors where the form has them
  PackedFormat format_ = PackedFormat::f32;
  ActivationForms form_ = ActivationForms::f32;
  ProductFunction product_ = nullptr;
  size_t n_ = 0;
  size_t k_ = 0;
  size_t panel_bytes_ = 0;
  size_t panels_bytes_ = 0;
  size_t size_bytes_ = 0;
  bool has_row_factors_ = false;
};

}  // namespace qualia::lanes::cpu
