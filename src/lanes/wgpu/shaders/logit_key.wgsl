// Included: logits as integers of the same order.

// Orders like the floats; both zeros are equal.
fn key_of(value: f32) -> u32 {
  let bits = bitcast<u32>(value);
  if (bits == 0x80000000u) {
    return 0x80000000u;
  }
  return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
}
