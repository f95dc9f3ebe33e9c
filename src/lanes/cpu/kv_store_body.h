// Bodies of the kernels that write keys and values into pages. Included inside an anonymous
// namespace, and inside a target region where Simd needs one (kernels_body.h).
// Thread-safety: pure.
#pragma once

// 32 values as INT8 with one scale; a value that is not finite makes the scale NaN, and with it
// everything that reads the group. The scale is rounded to binary16 first, the values against it.
inline uint16_t quantize_group(const float* x, int8_t* out) noexcept {
  Simd::F largest = Simd::set(0.0F);
  Simd::F zeros = Simd::set(0.0F);
  for (size_t i = 0; i < kKvGroup; i += Simd::kWidth) {
    const Simd::F value = Simd::load(x + i);
    largest = Simd::max(Simd::max(value, Simd::sub(Simd::set(0.0F), value)), largest);
    zeros = Simd::fma(value, Simd::set(0.0F), zeros);
  }
  const uint16_t half = f32_to_f16(Simd::largest(largest) / 127.0F + Simd::sum(zeros));
  const float scale = f16_to_f32(half);
  const Simd::F inverse = Simd::set(scale > 0.0F ? 1.0F / scale : 0.0F);
  for (size_t i = 0; i < kKvGroup; i += Simd::kWidth) {
    const Simd::F code = Simd::mul(Simd::load(x + i), inverse);
    Simd::store_i8(out + i, Simd::max(Simd::min(code, Simd::set(127.0F)), Simd::set(-127.0F)));
  }
  return half;
}

inline void store_kv_i8(const KvLayout& layout, const float* key, const float* value, size_t at,
                        std::byte* head) noexcept {
  auto* const keys = reinterpret_cast<int8_t*>(head);
  auto* const values = reinterpret_cast<int8_t*>(head + layout.values_offset);
  auto* const key_scales = reinterpret_cast<uint16_t*>(head + layout.key_scales_offset);
  auto* const value_scales = reinterpret_cast<uint16_t*>(head + layout.value_scales_offset);
  for (size_t begin = 0; begin < layout.head_dim; begin += kKvGroup) {
    const size_t count = std::min(kKvGroup, layout.head_dim - begin);
    const size_t scale_at = begin / kKvGroup * kPagePositions + at;
    float group[kKvGroup] = {};
    int8_t codes[kKvGroup];
    std::copy_n(key + begin, count, group);
    key_scales[scale_at] = quantize_group(group, codes);
    for (size_t i = 0; i < count; ++i) keys[layout.key_index(at, begin + i)] = codes[i];
    std::fill(std::copy_n(value + begin, count, group), group + kKvGroup, 0.0F);
    value_scales[scale_at] = quantize_group(group, codes);
    for (size_t i = 0; i < kKvGroup; ++i) values[layout.value_index(at, begin + i)] = codes[i];
  }
}

inline void store_kv_f16(const KvLayout& layout, const float* key, const float* value, size_t at,
                         std::byte* head) noexcept {
  auto* const keys = reinterpret_cast<uint16_t*>(head);
  auto* const values = reinterpret_cast<uint16_t*>(head + layout.values_offset);
  for (size_t begin = 0; begin < layout.head_dim; begin += kKvGroup) {
    const size_t count = std::min(kKvGroup, layout.head_dim - begin);
    float group[kKvGroup] = {};
    uint16_t halves[kKvGroup];
    std::copy_n(key + begin, count, group);
    for (size_t i = 0; i < kKvGroup; i += Simd::kWidth) {
      Simd::store_f16(halves + i, Simd::load(group + i));
    }
    for (size_t i = 0; i < count; ++i) keys[layout.key_index(at, begin + i)] = halves[i];
    std::copy_n(value + begin, count, group);
    for (size_t i = 0; i < kKvGroup; i += Simd::kWidth) {
      Simd::store_f16(values + layout.value_index(at, begin) + i, Simd::load(group + i));
    }
  }
}

inline void store_kv_f32(const KvLayout& layout, const float* key, const float* value, size_t at,
                         std::byte* head) noexcept {
  auto* const keys = reinterpret_cast<float*>(head);
  auto* const values =
      reinterpret_cast<float*>(head + layout.values_offset) + layout.value_index(at, 0);
  for (size_t d = 0; d < layout.head_dim; ++d) keys[layout.key_index(at, d)] = key[d];
  std::copy_n(value, layout.head_dim, values);
  std::fill(values + layout.head_dim, values + layout.padded_dim, 0.0F);
}

void store_kv(const KvLayout& layout, const float* key, const float* value, size_t at,
              std::byte* head) noexcept {
  switch (layout.type) {
    case KvType::int8:
      return store_kv_i8(layout, key, value, at, head);
    case KvType::f16:
      return store_kv_f16(layout, key, value, at, head);
    default:
      return store_kv_f32(layout, key, value, at, head);
  }
}
