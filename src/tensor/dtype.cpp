#include "tensor/dtype.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace qualia {
namespace {

constexpr std::array kTypes{
    DTypeInfo{DType::f32, "F32", 1, 4},
    DTypeInfo{DType::f16, "F16", 1, 2},
    DTypeInfo{DType::q4_0, "Q4_0", 32, 18},
    DTypeInfo{DType::q4_1, "Q4_1", 32, 20},
    DTypeInfo{DType::q5_0, "Q5_0", 32, 22},
    DTypeInfo{DType::q5_1, "Q5_1", 32, 24},
    DTypeInfo{DType::q8_0, "Q8_0", 32, 34},
    DTypeInfo{DType::q8_1, "Q8_1", 32, 36},
    DTypeInfo{DType::q2_k, "Q2_K", 256, 84},
    DTypeInfo{DType::q3_k, "Q3_K", 256, 110},
    DTypeInfo{DType::q4_k, "Q4_K", 256, 144},
    DTypeInfo{DType::q5_k, "Q5_K", 256, 176},
    DTypeInfo{DType::q6_k, "Q6_K", 256, 210},
    DTypeInfo{DType::q8_k, "Q8_K", 256, 292},
    DTypeInfo{DType::iq2_xxs, "IQ2_XXS", 256, 66},
    DTypeInfo{DType::iq2_xs, "IQ2_XS", 256, 74},
    DTypeInfo{DType::iq3_xxs, "IQ3_XXS", 256, 98},
    DTypeInfo{DType::iq1_s, "IQ1_S", 256, 50},
    DTypeInfo{DType::iq4_nl, "IQ4_NL", 32, 18},
    DTypeInfo{DType::iq3_s, "IQ3_S", 256, 110},
    DTypeInfo{DType::iq2_s, "IQ2_S", 256, 82},
    DTypeInfo{DType::iq4_xs, "IQ4_XS", 256, 136},
    DTypeInfo{DType::i8, "I8", 1, 1},
    DTypeInfo{DType::i16, "I16", 1, 2},
    DTypeInfo{DType::i32, "I32", 1, 4},
    DTypeInfo{DType::i64, "I64", 1, 8},
    DTypeInfo{DType::f64, "F64", 1, 8},
    DTypeInfo{DType::iq1_m, "IQ1_M", 256, 56},
    DTypeInfo{DType::bf16, "BF16", 1, 2},
    DTypeInfo{DType::tq1_0, "TQ1_0", 256, 54},
    DTypeInfo{DType::tq2_0, "TQ2_0", 256, 66},
    DTypeInfo{DType::mxfp4, "MXFP4", 32, 17},
    DTypeInfo{DType::nvfp4, "NVFP4", 64, 36},
    DTypeInfo{DType::q1_0, "Q1_0", 128, 18},
};

}  // namespace

std::optional<DTypeInfo> find_dtype(uint32_t ggml_type_id) {
  const auto found = std::ranges::find(kTypes, static_cast<DType>(ggml_type_id), &DTypeInfo::dtype);
  if (found == kTypes.end()) return std::nullopt;
  return *found;
}

const DTypeInfo& dtype_info(DType dtype) {
  const auto found = std::ranges::find(kTypes, dtype, &DTypeInfo::dtype);
  QUALIA_CHECK(found != kTypes.end());
  return *found;
}

}  // namespace qualia
