// Portable products: the scalar reference of the packed forms, and what runs where no instruction
// set is known. Codes are spread as [32 k][16 rows] first, so that the inner loops run over rows
// and compilers vectorise them.
#include <algorithm>
#include <cstring>

#include "lanes/cpu/product_variants.h"
#include "tensor/float16.h"

namespace qualia::lanes::cpu {
namespace {

// One row of codes, scales or sums: a value for each row of the panel.
template <typename T>
using Lanes = T[kPanelRows];

template <PackedFormat kFormat>
void spread_codes(const std::byte* block, Lanes<int8_t>* codes) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(block);
  for (size_t k = 0; k < kBlockColumns; ++k) {
    for (size_t row = 0; row < kPanelRows; ++row) {
      const uint8_t byte = bytes[code_index(kFormat, row, k)];
      if constexpr (packed_format_info(kFormat).code_bits == 4) {
        codes[k][row] = static_cast<int8_t>(k < 16 ? byte & 0x0F : byte >> 4);
      } else {
        codes[k][row] = static_cast<int8_t>(byte);
      }
    }
  }
}

template <size_t kScaleBytes>
void load_scales(const std::byte* source, Lanes<float>& out) {
  if constexpr (kScaleBytes == sizeof(float)) {
    std::memcpy(out, source, sizeof(out));
  } else {
    uint16_t halves[kPanelRows];
    std::memcpy(halves, source, sizeof(halves));
    for (size_t row = 0; row < kPanelRows; ++row) out[row] = f16_to_f32(halves[row]);
  }
}

struct Scales {
  Lanes<float> scale[2];
  Lanes<float> min[2];
};

template <PackedFormat kFormat>
void load_block_scales(const std::byte* block, Scales& out) {
  constexpr PackedFormatInfo kInfo = packed_format_info(kFormat);
  constexpr size_t kStride = kPanelRows * kInfo.scale_bytes;
  for (size_t s = 0; s < kInfo.scale_count; ++s) {
    load_scales<kInfo.scale_bytes>(block + kInfo.scales_offset() + s * kStride, out.scale[s]);
    if constexpr (kInfo.has_min) {
      load_scales<kInfo.scale_bytes>(block + kInfo.mins_offset() + s * kStride, out.min[s]);
    }
  }
}

// sums += the product of a block with the activations of a row.
template <PackedFormat kFormat>
void add_block_int8(const Lanes<int8_t>* codes, const Scales& scales, const ActivationBlock& x,
                    Lanes<float>& sums) {
  constexpr PackedFormatInfo kInfo = packed_format_info(kFormat);
  for (size_t s = 0; s < kInfo.scale_count; ++s) {
    Lanes<int32_t> dot;
    std::fill_n(dot, kPanelRows, kFormat == PackedFormat::q4 ? x.sum_times_minus_8 : 0);
    const size_t first = s * kInfo.group_columns();
    for (size_t k = first; k < first + kInfo.group_columns(); ++k) {
      for (size_t row = 0; row < kPanelRows; ++row) dot[row] += codes[k][row] * x.values[k];
    }
    for (size_t row = 0; row < kPanelRows; ++row) {
      sums[row] += scales.scale[s][row] * x.scale * static_cast<float>(dot[row]);
    }
    if constexpr (kInfo.has_min) {
      const float scaled_sum = kInfo.scale_count == 2 ? x.half_scaled_sums[s] : x.scaled_sum;
      for (size_t row = 0; row < kPanelRows; ++row) sums[row] += scales.min[s][row] * scaled_sum;
    }
  }
}

template <PackedFormat kFormat>
void dequantize_block(const std::byte* block, Lanes<float>* weights) {
  Lanes<int8_t> codes[kBlockColumns];
  Scales scales;
  spread_codes<kFormat>(block, codes);
  load_block_scales<kFormat>(block, scales);
  for (size_t k = 0; k < kBlockColumns; ++k) {
    const size_t s = k / packed_format_info(kFormat).group_columns();
    for (size_t row = 0; row < kPanelRows; ++row) {
      const int32_t code = codes[k][row] - (kFormat == PackedFormat::q4 ? 8 : 0);
      const float scaled = scales.scale[s][row] * static_cast<float>(code);
      weights[k][row] = packed_format_info(kFormat).has_min ? scaled + scales.min[s][row] : scaled;
    }
  }
}

// 16- and 32-bit elements.
template <PackedFormat kFormat>
void widen_block(const std::byte* block, Lanes<float>* weights) {
  if constexpr (kFormat == PackedFormat::f32) {
    std::memcpy(weights, block, packed_format_info(kFormat).block_bytes());
  } else {
    for (size_t k = 0; k < kBlockColumns; ++k) {
      for (size_t row = 0; row < kPanelRows; ++row) {
        uint16_t half = 0;
        std::memcpy(&half, block + code_index(kFormat, row, k) * sizeof(half), sizeof(half));
        weights[k][row] = kFormat == PackedFormat::f16 ? f16_to_f32(half) : bf16_to_f32(half);
      }
    }
  }
}

void add_block_f32(const Lanes<float>* weights, const float* x, Lanes<float>& sums) {
  Lanes<float> block_sums = {};
  for (size_t k = 0; k < kBlockColumns; ++k) {
    for (size_t row = 0; row < kPanelRows; ++row) block_sums[row] += weights[k][row] * x[k];
  }
  for (size_t row = 0; row < kPanelRows; ++row) sums[row] += block_sums[row];
}

// A tile of up to four rows of x with one panel.
template <PackedFormat kFormat>
void add_tile_int8(const ProductArguments& a, const std::byte* panel, size_t tile, size_t tokens,
                   Lanes<float>* sums) {
  Lanes<int8_t> codes[kBlockColumns];
  Scales scales;
  const ActivationBlock* x = a.int8 + tile * a.blocks * kTokenTile;
  for (size_t b = 0; b < a.blocks; ++b, x += kTokenTile) {
    const std::byte* block = panel + b * packed_format_info(kFormat).block_bytes();
    spread_codes<kFormat>(block, codes);
    load_block_scales<kFormat>(block, scales);
    for (size_t t = 0; t < tokens; ++t) add_block_int8<kFormat>(codes, scales, x[t], sums[t]);
  }
}

template <PackedFormat kFormat>
void add_tile_f32(const ProductArguments& a, const std::byte* panel, size_t tile, size_t tokens,
                  Lanes<float>* sums) {
  Lanes<float> weights[kBlockColumns];
  const float* x = a.f32 + tile * a.blocks * kTokenTile * kBlockColumns;
  for (size_t b = 0; b < a.blocks; ++b, x += kTokenTile * kBlockColumns) {
    const std::byte* block = panel + b * packed_format_info(kFormat).block_bytes();
    if constexpr (packed_format_info(kFormat).is_integer()) {
      dequantize_block<kFormat>(block, weights);
    } else {
      widen_block<kFormat>(block, weights);
    }
    for (size_t t = 0; t < tokens; ++t) add_block_f32(weights, x + t * kBlockColumns, sums[t]);
  }
}

// Puts the sums of neighbours in front; returns how many there are.
size_t add_pairs(Lanes<float>* sums, size_t count) {
  for (size_t t = 0; t < count; t += 2) {
    for (size_t row = 0; row < kPanelRows; ++row)
      sums[t / 2][row] = sums[t][row] + sums[t + 1][row];
  }
  return count / 2;
}

template <PackedFormat kFormat, ActivationForms kForm>
void multiply(const ProductArguments& a) {
  for (size_t p = 0; p < a.panel_count; ++p) {
    const std::byte* panel = a.panel + p * a.panel_bytes;
    const size_t rows = std::min(kPanelRows, a.rows - p * kPanelRows);
    const float* factors = a.row_factors == nullptr ? nullptr : a.row_factors + p * kPanelRows;
    for (size_t first = 0; first < a.m; first += kTokenTile) {
      size_t tokens = std::min(kTokenTile, a.m - first);
      Lanes<float> sums[kTokenTile] = {};
      if constexpr (kForm == ActivationForms::int8) {
        add_tile_int8<kFormat>(a, panel, first / kTokenTile, tokens, sums);
      } else {
        add_tile_f32<kFormat>(a, panel, first / kTokenTile, tokens, sums);
      }
      if (a.is_paired) tokens = add_pairs(sums, tokens);
      for (size_t t = 0; t < tokens; ++t) {
        const size_t row = first / (a.is_paired ? 2 : 1) + t;
        float* y = a.y + row * a.y_stride + p * kPanelRows;
        for (size_t r = 0; r < rows; ++r) y[r] = factors ? sums[t][r] * factors[r] : sums[t][r];
      }
    }
  }
}

}  // namespace

#define QUALIA_PRODUCT(format, form, isa)                                              \
  void product_##format##_##form##_##isa(const ProductArguments& arguments) noexcept { \
    multiply<PackedFormat::format, ActivationForms::form>(arguments);                  \
  }
QUALIA_INT8_PRODUCTS(QUALIA_PRODUCT, portable)
QUALIA_F32_PRODUCTS(QUALIA_PRODUCT, portable)
#undef QUALIA_PRODUCT

}  // namespace qualia::lanes::cpu
