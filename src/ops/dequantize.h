// dequantize: stored weights to float32, the meaning of every weight type.
// Thread-safety: pure; distinct outputs may run in parallel.
// Shapes: `source` holds count / block_size whole blocks (any alignment); `out` [count] f32.
// Bound: exact, bit for bit what PyPI's gguf 0.19 (quants.dequantize) gives, NaN payloads apart.
// Formulas, q the unsigned code: Q4_0 d (q - 8); Q4_1, Q5_1 d q + m; Q5_0 d (q - 16); Q8_0 d q
// (signed); Q2_K, Q4_K, Q5_K (d s) q - (dmin t) with a scale s and minimum t per 16 or 32 values;
// Q3_K (d (s - 32)) (q - 4); Q6_K (d s) (q - 32). Products in brackets are rounded to float32
// first. Errors: none; find_dequantize gives nullptr for a type that is not listed here. Source:
// ggml's format description; block layouts in tensor/quant_blocks.h.
#pragma once

#include <cstddef>

#include "tensor/dtype.h"

namespace qualia::ops {

// REQUIRES: count is a multiple of the type's block size.
using DequantizeFunction = void (*)(const std::byte* source, float* out, size_t count) noexcept;

DequantizeFunction find_dequantize(DType dtype) noexcept;

void dequantize_f32(const std::byte* source, float* out, size_t count) noexcept;
void dequantize_f16(const std::byte* source, float* out, size_t count) noexcept;
void dequantize_bf16(const std::byte* source, float* out, size_t count) noexcept;
void dequantize_q4_0(const std::byte* source, float* out, size_t count) noexcept;
void dequantize_q4_1(const std::byte* source, float* out, size_t count) noexcept;
void dequantize_q5_0(const std::byte* source, float* out, size_t count) noexcept;
void dequantize_q5_1(const std::byte* source, float* out, size_t count) noexcept;
void dequantize_q8_0(const std::byte* source, float* out, size_t count) noexcept;
void dequantize_q2_k(const std::byte* source, float* out, size_t count) noexcept;
void dequantize_q3_k(const std::byte* source, float* out, size_t count) noexcept;
void dequantize_q4_k(const std::byte* source, float* out, size_t count) noexcept;
void dequantize_q5_k(const std::byte* source, float* out, size_t count) noexcept;
void dequantize_q6_k(const std::byte* source, float* out, size_t count) noexcept;

}  // namespace qualia::ops
