// Random weights and activations for the tests and benchmarks of lanes.
// Thread-safety: values. Source blocks have random codes and finite scales near 0.01, so that every
// bit of a code counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "tensor/float16.h"
#include "tensor/tensor_view.h"

namespace qualia::lanes {

// A weight as a file stores it, with its bytes.
struct SourceWeight {
  std::vector<std::byte> bytes;
  DType dtype = DType::f32;
  size_t n = 0;
  size_t k = 0;
  TensorView view() const;
};

// Bytes from a block's start to its binary16 scales and mins.
inline std::vector<size_t> scale_offsets(DType dtype) {
  switch (dtype) {
    case DType::q4_0:
    case DType::q5_0:
    case DType::q8_0:
      return {0};
    case DType::q4_1:
    case DType::q5_1:
    case DType::q4_k:
    case DType::q5_k:
      return {0, 2};
    case DType::q2_k:
      return {80, 82};
    case DType::q3_k:
      return {108};
    case DType::q6_k:
      return {208};
    default:
      return {};
  }
}

inline TensorView SourceWeight::view() const {
  return {dtype, Shape{{k, n, 1, 1}, 2}, {bytes.data(), bytes.size()}};
}

// `scale`: magnitude of the block scales (or of the values of float types).
inline SourceWeight random_weight(DType dtype, size_t n, size_t k, uint32_t seed,
                                  float scale = 0.01F) {
  const DTypeInfo& info = dtype_info(dtype);
  std::mt19937 random(seed);
  std::normal_distribution<float> value(0.0F, scale);
  SourceWeight weight{std::vector<std::byte>(n * k / info.block_size * info.block_bytes), dtype, n,
                      k};
  for (std::byte& byte : weight.bytes) byte = static_cast<std::byte>(random() & 0xFFU);
  for (size_t begin = 0; begin < weight.bytes.size(); begin += info.block_bytes) {
    std::byte* block = weight.bytes.data() + begin;
    const float f = value(random);
    if (dtype == DType::f32) std::memcpy(block, &f, sizeof(f));
    const uint16_t half = dtype == DType::bf16 ? f32_to_bf16(f) : f32_to_f16(f);
    if (info.block_bytes == sizeof(half)) std::memcpy(block, &half, sizeof(half));
    for (const size_t offset : scale_offsets(dtype)) {
      const uint16_t block_scale = f32_to_f16(value(random));
      std::memcpy(block + offset, &block_scale, sizeof(block_scale));
    }
  }
  return weight;
}

// Normal values, a hundredth of them thirty times larger (outliers, as residual streams have).
inline std::vector<float> random_activations(size_t m, size_t k, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> value(0.0F, 1.0F);
  std::vector<float> x(m * k);
  for (float& entry : x) entry = value(random) * (random() % 100 == 0 ? 30.0F : 1.0F);
  return x;
}

inline std::vector<DType> packable_types() {
  return {DType::f32,  DType::f16,  DType::bf16, DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1,
          DType::q8_0, DType::q2_k, DType::q3_k, DType::q4_k, DType::q5_k, DType::q6_k};
}

// `k` rounded up to the block of the type.
inline size_t round_to_block(size_t k, DType dtype) {
  const size_t block = dtype_info(dtype).block_size;
  return (k + block - 1) / block * block;
}

}  // namespace qualia::lanes
