// Bodies of the row kernels over Simd, and of the exponential they share with attention. Included
// inside an anonymous namespace, and inside a target region where Simd needs one (kernels_body.h).
// Thread-safety: pure.
// exp: |exp_f - exact| <= 2 eps(f32) * exact for |x| <= 87, 0 or infinity far outside; NaN stays.
// x = n ln 2 + r with |r| <= ln 2 / 2, ln 2 in two parts of which the first has 9 bits, so that
// n * part is exact; exp(r) is its Taylor polynomial of degree 7, whose rest is below 6e-9.
#pragma once

inline Simd::F exp_f(Simd::F x) noexcept {
  using F = Simd::F;
  // Beyond, the result is 0 or infinite anyway. In this order, max and min keep NaN.
  x = Simd::min(Simd::set(150.0F), Simd::max(Simd::set(-150.0F), x));
  const F n = Simd::round(Simd::mul(x, Simd::set(1.44269504F)));
  F r = Simd::fma(n, Simd::set(-0.693359375F), x);
  r = Simd::fma(n, Simd::set(2.12194440e-4F), r);
  F p = Simd::set(1.0F / 5040.0F);
  p = Simd::fma(p, r, Simd::set(1.0F / 720.0F));
  p = Simd::fma(p, r, Simd::set(1.0F / 120.0F));
  p = Simd::fma(p, r, Simd::set(1.0F / 24.0F));
  p = Simd::fma(p, r, Simd::set(1.0F / 6.0F));
  p = Simd::fma(p, r, Simd::set(0.5F));
  p = Simd::fma(p, r, Simd::set(1.0F));
  p = Simd::fma(p, r, Simd::set(1.0F));
  return Simd::scale(p, n);
}

void rms_norm(const float* x, const float* gain, float* out, size_t dim, float epsilon) noexcept {
  const double mean = Simd::sum_of_squares(x, dim) / static_cast<double>(dim);
  const auto inverse = static_cast<float>(1.0 / std::sqrt(mean + static_cast<double>(epsilon)));
  const Simd::F factor = Simd::set(inverse);
  size_t i = 0;
  for (; i + Simd::kWidth <= dim; i += Simd::kWidth) {
    const Simd::F scaled = Simd::mul(Simd::load(x + i), factor);
    Simd::store(out + i, Simd::mul(scaled, Simd::load(gain + i)));
  }
  for (; i < dim; ++i) out[i] = x[i] * inverse * gain[i];
}

inline Simd::F swiglu_f(Simd::F gate, Simd::F up) noexcept {
  const Simd::F one = Simd::set(1.0F);
  const Simd::F below = exp_f(Simd::sub(Simd::set(0.0F), gate));
  return Simd::mul(Simd::div(gate, Simd::add(one, below)), up);
}

void swiglu(const float* gate, const float* up, float* out, size_t count) noexcept {
  size_t i = 0;
  for (; i + Simd::kWidth <= count; i += Simd::kWidth) {
    Simd::store(out + i, swiglu_f(Simd::load(gate + i), Simd::load(up + i)));
  }
  if (i == count) return;
  float rest[2][Simd::kWidth] = {};
  std::copy(gate + i, gate + count, rest[0]);
  std::copy(up + i, up + count, rest[1]);
  Simd::store(rest[0], swiglu_f(Simd::load(rest[0]), Simd::load(rest[1])));
  std::copy(rest[0], rest[0] + (count - i), out + i);
}

void residual_add(float* x, const float* y, size_t count) noexcept {
  size_t i = 0;
  for (; i + Simd::kWidth <= count; i += Simd::kWidth) {
    Simd::store(x + i, Simd::add(Simd::load(x + i), Simd::load(y + i)));
  }
  for (; i < count; ++i) x[i] += y[i];
}

// The maximum of some logits; `poison` becomes NaN when one of them is not finite.
inline float largest_of(const float* logits, size_t count, float& poison) noexcept {
  Simd::F best = Simd::set(-std::numeric_limits<float>::infinity());
  Simd::F zeros = Simd::set(0.0F);
  size_t i = 0;
  for (; i + Simd::kWidth <= count; i += Simd::kWidth) {
    const Simd::F x = Simd::load(logits + i);
    best = Simd::max(x, best);
    zeros = Simd::fma(x, Simd::set(0.0F), zeros);
  }
  float largest = Simd::largest(best);
  poison += Simd::sum(zeros);
  for (; i < count; ++i) {
    largest = std::max(largest, logits[i]);
    poison += logits[i] * 0.0F;
  }
  return largest;
}

ops::ArgmaxResult argmax(const float* logits, size_t count) noexcept {
  // Looks for the index only in a strip that holds a new maximum: few do. A strip fits in L1.
  constexpr size_t kStrip = 512;
  ops::ArgmaxResult result;
  float best = -std::numeric_limits<float>::infinity();
  float poison = 0.0F;
  for (size_t begin = 0; begin < count; begin += kStrip) {
    const size_t size = std::min(kStrip, count - begin);
    const float largest = largest_of(logits + begin, size, poison);
    if (!(largest > best)) continue;
    best = largest;
    const float* const found = std::find(logits + begin, logits + begin + size, largest);
    result.index = static_cast<uint32_t>(found - logits);
  }
  result.is_finite = poison == 0.0F;
  return result;
}
