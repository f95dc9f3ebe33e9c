// Included: writes a row's key (after RoPE) and value of one head into their page. The including
// shader includes kv_page and rope, and has put_page_word(index, word).
const SIZE = PADDED_DIM * 2u;
var<workgroup> held: array<f32, SIZE>;           // key, value
var<workgroup> bits: array<atomic<u32>, GROUPS * 2u>;
// What the page got: words of the key, of the value, steps.
var<workgroup> stored: array<u32, VALUE_WORDS * 2u + GROUPS>;

fn step_of(kind: u32, group: u32) -> f32 {
  let largest = atomicLoad(&bits[kind * GROUPS + group]);
  return select(bitcast<f32>(0x7fc00000u), bitcast<f32>(largest) / 127.0, largest < 0x7f800000u);
}

// Binary16 of a step; NaN stays NaN.
fn half_bits(value: f32) -> u32 {
  if ((bitcast<u32>(value) & 0x7fffffffu) > 0x7f800000u) {
    return 0x7e00u;
  }
  return pack2x16float(vec2<f32>(value, 0.0)) & 0xffffu;
}

fn code(kind: u32, d: u32) -> i32 {
  let group = d / 32u;
  // The step as it is read back.
  let step_size = unpack2x16float(half_bits(step_of(kind, min(group, GROUPS - 1u)))).x;
  let v = held[kind * PADDED_DIM + d];
  if (!(step_size > 0.0)) {
    return 0;
  }
  return clamp(i32(round(v / step_size)), -127, 127);
}

// Values first .. of a key (kind 0) or value (kind 1), as one word.
fn word_of(kind: u32, first: u32) -> u32 {
  if (KV_BITS == 32u) {
    return bitcast<u32>(held[kind * PADDED_DIM + first]);
  }
  if (KV_BITS == 16u) {
    return pack2x16float(vec2<f32>(held[kind * PADDED_DIM + first],
                                   held[kind * PADDED_DIM + first + 1u]));
  }
  return pack4xI8(vec4<i32>(code(kind, first), code(kind, first + 1u), code(kind, first + 2u),
                            code(kind, first + 3u)));
}

// `base`: first word of the head in its page; `at`: the position there; `key`, `value`: where they
// begin in qkv. For all threads at once; `row` counts from the first row of qkv.
fn store_kv(row: u32, key: u32, value: u32, base: u32, at: u32, lane: u32) {
  for (var i = lane; i < GROUPS * 2u; i += THREADS) {
    atomicStore(&bits[i], 0u);
  }
  workgroupBarrier();
  for (var d = lane; d < PADDED_DIM; d += THREADS) {
    held[d] = turned(key, row, d);
    var v = 0.0;
    if (d < HEAD_DIM) {
      v = qkv[value + d];
    }
    held[PADDED_DIM + d] = v;
    if (KV_BITS == 8u && d < HEAD_DIM) {
      atomicMax(&bits[d / 32u], bitcast<u32>(held[d]) & 0x7fffffffu);
      atomicMax(&bits[GROUPS + d / 32u], bitcast<u32>(v) & 0x7fffffffu);
    }
  }
  workgroupBarrier();
  for (var i = lane; i < VALUE_WORDS; i += THREADS) {
    let key_word = word_of(0u, i * PER_WORD);
    let value_word = word_of(1u, i * PER_WORD);
    stored[i] = key_word;
    stored[VALUE_WORDS + i] = value_word;
    put_page_word(base + ((i / 4u) * 64u + at) * 4u + i % 4u, key_word);
    put_page_word(base + VALUES_AT + at * VALUE_WORDS + i, value_word);
  }
  if (KV_BITS == 8u) {
    for (var i = lane; i < GROUPS; i += THREADS) {
      let steps = half_bits(step_of(0u, i)) | (half_bits(step_of(1u, i)) << 16u);
      stored[VALUE_WORDS * 2u + i] = steps;
      put_page_word(base + SCALES_AT + i * 64u + at, steps);
    }
  }
  workgroupBarrier();
}
