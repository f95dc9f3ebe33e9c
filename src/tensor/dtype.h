// The element types a GGUF file may store, by ggml's type ids, and their block geometry.
// Thread-safety: pure.
// Source: ggml's type table (github.com/ggml-org/ggml, docs/gguf.md); ids 4, 5 and 31-33, 36-38
// were removed there and are unknown here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace qualia {

enum class DType : uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q8_1 = 9,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  q8_k = 15,
  iq2_xxs = 16,
  iq2_xs = 17,
  iq3_xxs = 18,
  iq1_s = 19,
  iq4_nl = 20,
  iq3_s = 21,
  iq2_s = 22,
  iq4_xs = 23,
  i8 = 24,
  i16 = 25,
  i32 = 26,
  i64 = 27,
  f64 = 28,
  iq1_m = 29,
  bf16 = 30,
  tq1_0 = 34,
  tq2_0 = 35,
  mxfp4 = 39,
  nvfp4 = 40,
  q1_0 = 41,
};

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // as users write it: "Q4_0", "BF16"
  uint32_t block_size;    // elements a block
  uint32_t block_bytes;   // bytes a block
};

// nullopt: no such type (or one that ggml removed).
std::optional<DTypeInfo> find_dtype(uint32_t ggml_type_id);

// REQUIRES: `dtype` is one of the enumerators.
const DTypeInfo& dtype_info(DType dtype);

inline std::string_view dtype_name(DType dtype) { return dtype_info(dtype).name; }

}  // namespace qualia
