#include "lanes/cpu/packed_format.h"

namespace qualia::lanes::cpu {

std::optional<PackedFormat> packed_format_of(DType dtype, Precision precision) {
  // Scales of the K types are products of a binary16 and an integer: exact only as float32.
  const bool is_exact = precision == Precision::exact;
  switch (dtype) {
    case DType::q4_0:
      return PackedFormat::q4;
    case DType::q4_1:
      return PackedFormat::q4_min;
    case DType::q4_k:
      return is_exact ? PackedFormat::q4_min_wide : PackedFormat::q4_min;
    case DType::q5_0:
    case DType::q8_0:
      return PackedFormat::q8;
    case DType::q5_1:
      return PackedFormat::q8_min;
    case DType::q5_k:
      return is_exact ? PackedFormat::q8_min_wide : PackedFormat::q8_min;
    case DType::q3_k:
    case DType::q6_k:
      return is_exact ? PackedFormat::q8_g16_wide : PackedFormat::q8_g16;
    case DType::q2_k:
      return is_exact ? PackedFormat::q8_g16_min_wide : PackedFormat::q8_g16_min;
    case DType::f16:
      return PackedFormat::f16;
    case DType::bf16:
      return PackedFormat::bf16;
    case DType::f32:
      return PackedFormat::f32;
    default:
      return std::nullopt;
  }
}

}  // namespace qualia::lanes::cpu
