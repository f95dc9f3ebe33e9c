// Included: reads the planes of lanes/planes.h, which the including shader binds as
//   codes [rows][groups] vec4<u32>s, scales u32 words, factors [rows] f32.
override CODE: u32 = 0u;  // CodeKind: 0 int4, 1 int8, 2 f16, 3 bf16, 4 f32
override SCALES: u32 = 1u;  // a group
override HAS_MIN: bool = false;
override IS_WIDE: bool = false;  // scales are float32
override HAS_FACTORS: bool = false;

const NIBBLES = 0x0f0f0f0fu;

fn scale_values() -> u32 {
  return select(SCALES, 2u * SCALES, HAS_MIN);
}

// 32-bit words of a row's scales.
fn scale_words(groups: u32) -> u32 {
  return select((groups * scale_values() + 1u) / 2u, groups * scale_values(), IS_WIDE);
}

fn scale_value(row_words: u32, index: u32) -> f32 {
  if (IS_WIDE) {
    return bitcast<f32>(scales[row_words + index]);
  }
  let pair = unpack2x16float(scales[row_words + (index >> 1u)]);
  return select(pair.x, pair.y, (index & 1u) == 1u);
}

// s0, m0, s1, m1 of a group; mins that the format lacks are 0, and s1 is s0 without a second.
fn group_scales(row_words: u32, group: u32) -> vec4<f32> {
  let first = group * scale_values();
  var s = vec4<f32>(scale_value(row_words, first), 0.0, 0.0, 0.0);
  if (HAS_MIN) {
    s.y = scale_value(row_words, first + 1u);
  }
  s.z = s.x;
  s.w = s.y;
  if (SCALES == 2u) {
    if (HAS_MIN) {
      s.z = scale_value(row_words, first + 2u);
      s.w = scale_value(row_words, first + 3u);
    } else {
      s.z = scale_value(row_words, first + 1u);
    }
  }
  return s;
}

// Values 4 quad .. 4 quad + 3 of a group (quad < 8). `place`: row * groups + group.
fn group_quad(place: u32, quad: u32, s: vec4<f32>) -> vec4<f32> {
  if (CODE == 4u) {
    return bitcast<vec4<f32>>(codes[place * 8u + quad]);
  }
  if (CODE == 2u || CODE == 3u) {
    let four = codes[place * 4u + (quad >> 1u)];
    let pair = select(four.xy, four.zw, (quad & 1u) == 1u);
    if (CODE == 2u) {
      return vec4<f32>(unpack2x16float(pair.x), unpack2x16float(pair.y));
    }
    return bitcast<vec4<f32>>(vec4<u32>(pair.x << 16u, pair.x & 0xffff0000u, pair.y << 16u,
                                        pair.y & 0xffff0000u));
  }
  let is_second = quad >= 4u;
  let scale = select(s.x, s.z, is_second);
  let low = select(s.y, s.w, is_second);
  if (CODE == 1u) {
    let word = codes[place * 2u + (quad >> 2u)][quad & 3u];
    return vec4<f32>(unpack4xI8(word)) * scale + low;
  }
  let both = codes[place][quad & 3u];
  let nibbles = select(both, both >> 4u, is_second) & NIBBLES;
  let centre = select(8.0, 0.0, HAS_MIN);
  return (vec4<f32>(unpack4xU8(nibbles)) - centre) * scale + low;
}
