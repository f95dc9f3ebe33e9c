// Included: writes activations in the forms that products read. The including shader binds
//   q_codes [rows][PARTS][groups][8] u32 of four signed codes,
//   q_meta [rows][PARTS][groups][2 halves] vec2 (step d, d * sum of the half's codes),
//   floats [rows][groups][8] vec4<f32>,
// and calls write_forms() from all its threads at once; 8 threads in a row hold one group of 32.
// The halves of a group share a step, or have one each (HALF_STEPS; product_tile.wgsl can't).
override THREADS: u32 = 128u;
override WANTS_INT8: bool = true;
override WANTS_F32: bool = false;
// 2: a second row of codes holds what the first left, in steps 254 times finer (15 bits in all).
override PARTS: u32 = 1u;
override HALF_STEPS: bool = false;

const INFINITY_BITS = 0x7f800000u;
const FINER = 254.0;

var<workgroup> quad_bits: array<u32, THREADS>;
var<workgroup> quad_sums: array<vec2<i32>, THREADS>;

// Bits of magnitudes order like the magnitudes; infinities and NaN come last.
fn largest_bits(v: vec4<f32>) -> u32 {
  let bits = bitcast<vec4<u32>>(v) & vec4<u32>(0x7fffffffu);
  return max(max(bits.x, bits.y), max(bits.z, bits.w));
}

fn code_sum(codes: vec4<i32>) -> i32 {
  return codes.x + codes.y + codes.z + codes.w;
}

// `is_inside`: the quad lies in the row's groups. v is zero in the padding.
fn write_forms(row: u32, groups: u32, quad: u32, lane: u32, is_inside: bool, v: vec4<f32>) {
  if (WANTS_F32 && is_inside) {
    floats[row * groups * 8u + quad] = v;
  }
  if (WANTS_INT8) {
    workgroupBarrier();
    quad_bits[lane] = largest_bits(v);
    workgroupBarrier();
    let first = select(lane & 0xfffffff8u, lane & 0xfffffffcu, HALF_STEPS);
    var bits = 0u;
    for (var i = 0u; i < 4u; i++) {  // unroll
      bits = max(bits, quad_bits[first + i]);
    }
    if (!HALF_STEPS) {
      for (var i = 4u; i < 8u; i++) {
        bits = max(bits, quad_bits[first + i]);
      }
    }
    let largest = bitcast<f32>(bits);
    let is_finite = bits < INFINITY_BITS;
    // Below 1e-35 steps would be subnormal: such a group counts as zero.
    let has_value = is_finite && largest > 1e-35;
    let d = select(bitcast<f32>(0x7fc00000u), largest / 127.0, is_finite);
    let inverse = select(0.0, 127.0 / largest, has_value);
    let safe = select(vec4<f32>(0.0), v, has_value);
    let first_codes = clamp(vec4<i32>(round(safe * inverse)), vec4<i32>(-127), vec4<i32>(127));
    let place = row * PARTS * groups + (quad >> 3u);
    var sums = vec2<i32>(code_sum(first_codes), 0);
    if (is_inside) {
      q_codes[place * 8u + (quad & 7u)] = pack4xI8(first_codes);
    }
    if (PARTS == 2u) {
      let rest = safe - vec4<f32>(first_codes) * d;
      let second_codes =
          clamp(vec4<i32>(round(rest * inverse * FINER)), vec4<i32>(-127), vec4<i32>(127));
      sums.y = code_sum(second_codes);
      if (is_inside) {
        q_codes[(place + groups) * 8u + (quad & 7u)] = pack4xI8(second_codes);
      }
    }
    quad_sums[lane] = sums;
    workgroupBarrier();
    if ((lane & 3u) == 0u && is_inside) {
      var sum = vec2<i32>(0, 0);
      for (var i = 0u; i < 4u; i++) {  // unroll
        sum += quad_sums[lane + i];
      }
      let half = (quad >> 2u) & 1u;
      q_meta[place * 2u + half] = vec2<f32>(d, d * f32(sum.x));
      if (PARTS == 2u) {
        q_meta[(place + groups) * 2u + half] = vec2<f32>(d / FINER, d / FINER * f32(sum.y));
      }
    }
  }
}
