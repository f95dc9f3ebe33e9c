// Packing 16 rows of a source tensor into one panel.
// Thread-safety: pure; distinct panels may be packed in parallel.
// Types whose scales are products (the K types) get a power-of-two factor per row, so that binary16
// holds every scale that matters with 11 bits: the largest scale or min of a row becomes
// 2^14 .. 2^15, and one 2^28 times smaller is still normal. The product multiplies it back at the
// end, exactly. Other types keep the source's binary16 bits, and wide formats float32.
#pragma once

#include <cstddef>

#include "lanes/cpu/packed_format.h"
#include "tensor/tensor_view.h"

namespace qualia::lanes::cpu {

// Whether packing this type needs row factors.
bool has_row_factors(DType dtype, PackedFormat format);

// Rows [first_row, first_row + 16) of `source`, those beyond its end as zeros, into `panel`
// (block_count(k) blocks; zeroed memory). row_factors [16], or nullptr where the form has none.
void pack_panel(const TensorView& source, PackedFormat format, size_t first_row, std::byte* panel,
                float* row_factors) noexcept;

}  // namespace qualia::lanes::cpu
