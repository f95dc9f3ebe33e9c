#include "ops/dequantize.h"

#include <cstring>

#include "tensor/float16.h"
#include "tensor/quant_blocks.h"

namespace qualia::ops {
namespace {

uint32_t load_word(const uint8_t (&bytes)[4]) noexcept {
  uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

}  // namespace

void dequantize_f32(const std::byte* source, float* out, size_t count) noexcept {
  std::memcpy(out, source, count * sizeof(float));
}

void dequantize_f16(const std::byte* source, float* out, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) {
    uint16_t value = 0;
    std::memcpy(&value, source + i * sizeof(value), sizeof(value));
    out[i] = f16_to_f32(value);
  }
}

void dequantize_bf16(const std::byte* source, float* out, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) {
    uint16_t value = 0;
    std::memcpy(&value, source + i * sizeof(value), sizeof(value));
    out[i] = bf16_to_f32(value);
  }
}

void dequantize_q4_0(const std::byte* source, float* out, size_t count) noexcept {
  for (size_t b = 0; b < count / kBlockValues; ++b, out += kBlockValues) {
    const auto block = load_block<BlockQ4_0>(source, b);
    const float d = f16_to_f32(block.d);
    for (size_t i = 0; i < 16; ++i) {
      out[i] = d * static_cast<float>((block.qs[i] & 0x0F) - 8);
      out[i + 16] = d * static_cast<float>((block.qs[i] >> 4) - 8);
    }
  }
}

void dequantize_q4_1(const std::byte* source, float* out, size_t count) noexcept {
  for (size_t b = 0; b < count / kBlockValues; ++b, out += kBlockValues) {
    const auto block = load_block<BlockQ4_1>(source, b);
    const float d = f16_to_f32(block.d);
    const float m = f16_to_f32(block.m);
    for (size_t i = 0; i < 16; ++i) {
      out[i] = d * static_cast<float>(block.qs[i] & 0x0F) + m;
      out[i + 16] = d * static_cast<float>(block.qs[i] >> 4) + m;
    }
  }
}

void dequantize_q5_0(const std::byte* source, float* out, size_t count) noexcept {
  for (size_t b = 0; b < count / kBlockValues; ++b, out += kBlockValues) {
    const auto block = load_block<BlockQ5_0>(source, b);
    const float d = f16_to_f32(block.d);
    const uint32_t high = load_word(block.qh);
    for (uint32_t i = 0; i < 16; ++i) {
      const uint32_t low_code = (block.qs[i] & 0x0FU) | ((high >> i & 1U) << 4U);
      const uint32_t high_code = (block.qs[i] >> 4U) | ((high >> (i + 16) & 1U) << 4U);
      out[i] = d * static_cast<float>(static_cast<int32_t>(low_code) - 16);
      out[i + 16] = d * static_cast<float>(static_cast<int32_t>(high_code) - 16);
    }
  }
}

void dequantize_q5_1(const std::byte* source, float* out, size_t count) noexcept {
  for (size_t b = 0; b < count / kBlockValues; ++b, out += kBlockValues) {
    const auto block = load_block<BlockQ5_1>(source, b);
    const float d = f16_to_f32(block.d);
    const float m = f16_to_f32(block.m);
    const uint32_t high = load_word(block.qh);
    for (uint32_t i = 0; i < 16; ++i) {
      const uint32_t low_code = (block.qs[i] & 0x0FU) | ((high >> i & 1U) << 4U);
      const uint32_t high_code = (block.qs[i] >> 4U) | ((high >> (i + 16) & 1U) << 4U);
      out[i] = d * static_cast<float>(static_cast<int32_t>(low_code)) + m;
      out[i + 16] = d * static_cast<float>(static_cast<int32_t>(high_code)) + m;
    }
  }
}

void dequantize_q8_0(const std::byte* source, float* out, size_t count) noexcept {
  for (size_t b = 0; b < count / kBlockValues; ++b, out += kBlockValues) {
    const auto block = load_block<BlockQ8_0>(source, b);
    const float d = f16_to_f32(block.d);
    for (size_t i = 0; i < kBlockValues; ++i) out[i] = d * static_cast<float>(block.qs[i]);
  }
}

DequantizeFunction find_dequantize(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
      return dequantize_f32;
    case DType::f16:
      return dequantize_f16;
    case DType::bf16:
      return dequantize_bf16;
    case DType::q4_0:
      return dequantize_q4_0;
    case DType::q4_1:
      return dequantize_q4_1;
    case DType::q5_0:
      return dequantize_q5_0;
    case DType::q5_1:
      return dequantize_q5_1;
    case DType::q8_0:
      return dequantize_q8_0;
    case DType::q2_k:
      return dequantize_q2_k;
    case DType::q3_k:
      return dequantize_q3_k;
    case DType::q4_k:
      return dequantize_q4_k;
    case DType::q5_k:
      return dequantize_q5_k;
    case DType::q6_k:
      return dequantize_q6_k;
    default:
      return nullptr;
  }
}

}  // namespace qualia::ops
