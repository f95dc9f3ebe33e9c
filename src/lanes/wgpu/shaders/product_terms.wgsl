// Included: what a group of a row of W and a group of a row of x give. The including shader includes
// planes and binds in_floats [m][groups][8].
fn dot16(w: vec4<u32>, a: vec4<u32>) -> i32 {
  return dot4I8Packed(w.x, a.x) + dot4I8Packed(w.y, a.y) + dot4I8Packed(w.z, a.z) +
         dot4I8Packed(w.w, a.w);
}

// One group of one row of W times the codes of one row of x. x_meta: of both halves, see forms.wgsl.
fn int8_term(w0: vec4<u32>, w1: vec4<u32>, s: vec4<f32>, a0: vec4<u32>, a1: vec4<u32>,
             x_meta: vec4<f32>) -> f32 {
  if (CODE == 0u) {
    let d = f32(dot16(w0 & vec4<u32>(NIBBLES), a0)) * x_meta.x +
            f32(dot16((w0 >> vec4<u32>(4u)) & vec4<u32>(NIBBLES), a1)) * x_meta.z;
    let sum = x_meta.y + x_meta.w;
    if (HAS_MIN) {
      return s.x * d + s.y * sum;
    }
    return s.x * (d - 8.0 * sum);
  }
  let first = f32(dot16(w0, a0)) * x_meta.x;
  let second = f32(dot16(w1, a1)) * x_meta.z;
  if (HAS_MIN) {
    return s.x * first + s.y * x_meta.y + s.z * second + s.w * x_meta.w;
  }
  return s.x * first + s.z * second;
}

fn float_term(place: u32, s: vec4<f32>, x_place: u32) -> f32 {
  var sum = 0.0;
  for (var quad = 0u; quad < 8u; quad++) {  // unroll
    sum += dot(group_quad(place, quad, s), in_floats[x_place + quad]);
  }
  return sum;
}

