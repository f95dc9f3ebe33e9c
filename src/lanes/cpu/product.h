// Products of packed panels with activations: what one kernel variant computes.
// Thread-safety: pure; distinct outputs may be computed in parallel.
// y[t, r] = row_factors[r] * sum over blocks b of the block's product, r over the rows of the
// panels, t over m rows of x. INT8 form, per block (per half in the g16 formats):
//   y += (weight scale * activation scale) * integer dot + min * activation scale * activation sum
// Float form: each block's 32 products are summed in float32, then added to y.
// Paired: rows 2i and 2i + 1 of x are the two halves of row i (activations.h), whose products are
// added when they are stored.
// Order: blocks ascending, so that a result depends neither on m nor on the panel range.
// Bounds, per output, eps = 2^-24: INT8 form within (k / 16 + 8) eps * sum |terms| of that formula;
// float form within (k / 32 + 40) eps * sum |x w|, w the weights that the panel stands for.
// Errors: none; callers prove shapes.
#pragma once

#include <cstddef>

#include "lanes/cpu/activations.h"
#include "lanes/cpu/cpu_features.h"
#include "lanes/cpu/packed_format.h"

namespace qualia::lanes::cpu {

struct ProductArguments {
  const std::byte* panel = nullptr;  // the first of panel_count adjacent ones
  size_t panel_bytes = 0;
  size_t panel_count = 0;
  size_t blocks = 0;                   // of 32 k
  const float* row_factors = nullptr;  // [panel_count][16], or none
  const ActivationBlock* int8 =
      nullptr;  // tile of the first row of x, in the form the variant reads
  const float* f32 = nullptr;
  size_t m = 0;  // rows of x: two for a row of y where they are paired
  bool is_paired = false;
  float* y = nullptr;  // row 0 of x, row 0 of the first panel
  size_t y_stride = 0;
  size_t rows = 0;  // of y: the last panel may have fewer than 16
};

using ProductFunction = void (*)(const ProductArguments& arguments) noexcept;

struct ProductVariant {
  PackedFormat format;
  ActivationForms form;  // int8 or f32
  Isa isa;
  ProductFunction function;
};

}  // namespace qualia::lanes::cpu
