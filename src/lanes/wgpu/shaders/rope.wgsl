// Included: a query's or key's value after RoPE. The including shader binds qkv and step, and has
// the immediate `angles`, where in `step` the angles of row 0 begin: [rows][ROPE_DIMS / 2] cos, sin.
override ROPE_DIMS: u32 = 64u;
override IS_INTERLEAVED: bool = true;  // pairs (2i, 2i + 1), else (i, i + ROPE_DIMS / 2)

fn turned(base: u32, row: u32, d: u32) -> f32 {
  if (d >= HEAD_DIM) {
    return 0.0;
  }
  let own = qkv[base + d];
  if (d >= ROPE_DIMS) {
    return own;
  }
  var pair = d >> 1u;
  var other = d ^ 1u;
  var is_second = (d & 1u) == 1u;
  if (!IS_INTERLEAVED) {
    let half = ROPE_DIMS / 2u;
    is_second = d >= half;
    pair = select(d, d - half, is_second);
    other = select(d + half, d - half, is_second);
  }
  let place = p.angles + (row * (ROPE_DIMS / 2u) + pair) * 2u;
  let partner = qkv[base + other];
  return own * bitcast<f32>(step[place]) +
         select(-partner, partner, is_second) * bitcast<f32>(step[place + 1u]);
}
