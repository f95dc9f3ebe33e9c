// y[row, j] = sum over k of x[row, k] W[j, k] for many rows of x: the prefill product (GEMM) of
// integer weights and INT8 codes. A workgroup makes TILE_M x TILE_N results, a thread 4 x 8 of
// them; 64 k of both sides lie in workgroup memory at a time. Bound: lanes/wgpu/product_test.cpp.
// include: planes
override IN_PARTS: u32 = 1u;
override EPILOGUE: u32 = 0u;  // as in product.wgsl
const THREADS = 256u;
const TILE_M = 64u;
const TILE_N = 128u;
const STEP = 2u;  // groups at a time

struct Immediates {
  rows: u32,
  first_out: u32,
  out_stride: u32,
  groups: u32,
  m: u32,
  out_step: u32,
}
var<immediate> p: Immediates;

@group(0) @binding(0) var<storage, read> codes: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> factors: array<f32>;
@group(0) @binding(3) var<storage, read> q_codes: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> q_meta: array<vec4<f32>>;  // halves share their step
@group(0) @binding(5) var<storage, read> floats: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

// [STEP][2][rows]: halves of a group, row by row, so that neighbours read neighbours.
var<workgroup> w_tile: array<vec4<u32>, STEP * 2u * TILE_N>;
var<workgroup> x_tile: array<vec4<u32>, STEP * 2u * TILE_M>;
var<workgroup> w_scales: array<vec4<f32>, STEP * TILE_N>;
var<workgroup> x_meta: array<vec2<f32>, STEP * TILE_M>;

fn dot16(w: vec4<u32>, a: vec4<u32>) -> i32 {
  return dot4I8Packed(w.x, a.x) + dot4I8Packed(w.y, a.y) + dot4I8Packed(w.z, a.z) +
         dot4I8Packed(w.w, a.w);
}

fn load_w(i: u32, first_row: u32, base: u32, words: u32) {
  let row = min(first_row + i / STEP, p.rows - 1u);
  let u = i % STEP;
  let group = min(base + u, p.groups - 1u);
  let place = row * p.groups + group;
  let slot = i / STEP;
  if (CODE == 0u) {
    let four = codes[place];
    w_tile[(u * 2u) * TILE_N + slot] = four & vec4<u32>(NIBBLES);
    w_tile[(u * 2u + 1u) * TILE_N + slot] = (four >> vec4<u32>(4u)) & vec4<u32>(NIBBLES);
  } else {
    w_tile[(u * 2u) * TILE_N + slot] = codes[place * 2u];
    w_tile[(u * 2u + 1u) * TILE_N + slot] = codes[place * 2u + 1u];
  }
  var s = group_scales(row * words, group);
  if (CODE == 0u && !HAS_MIN) {
    s.y = -8.0 * s.x;
  }
  w_scales[u * TILE_N + slot] = select(vec4<f32>(0.0), s, base + u < p.groups);
}

fn load_x(i: u32, first_x: u32, base: u32, part: u32) {
  let row = min(first_x + i / (STEP * 2u), p.m - 1u);
  let u = (i / 2u) % STEP;
  let half = i % 2u;
  let group = min(base + u, p.groups - 1u);
  let place = (row * IN_PARTS + part) * p.groups + group;
  let slot = i / (STEP * 2u);
  x_tile[(u * 2u + half) * TILE_M + slot] = q_codes[place * 2u + half];
  if (half == 0u) {
    let both = q_meta[place];
    x_meta[u * TILE_M + slot] = vec2<f32>(both.x, both.y + both.w);
  }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let first_row = group_id.x * TILE_N;
  let first_x = group_id.y * TILE_M;
  let words = scale_words(p.groups);
  // Threads 16 x 16: a thread's rows of W are 16 apart, so that 16 threads read side by side.
  let n_lane = lane % 16u;
  let m_lane = lane / 16u;
  var sums: array<f32, 32>;
  for (var base = 0u; base < p.groups; base += STEP) {
    for (var part = 0u; part < IN_PARTS; part++) {  // unroll
      workgroupBarrier();
      if (part == 0u) {
        load_w(lane, first_row, base, words);
      }
      load_x(lane, first_x, base, part);
      workgroupBarrier();
      for (var u = 0u; u < STEP; u++) {  // unroll
        var dots: array<i32, 32>;
        var firsts: array<i32, 32>;
        // naga zeroes such a variable once, not in each turn of the loop.
        for (var i = 0u; i < 32u; i++) {  // unroll
          dots[i] = 0;
        }
        for (var half = 0u; half < 2u; half++) {  // unroll
          var a: array<vec4<u32>, 4>;
          for (var i = 0u; i < 4u; i++) {  // unroll
            a[i] = x_tile[(u * 2u + half) * TILE_M + m_lane + i * 16u];
          }
          for (var j = 0u; j < 8u; j++) {  // unroll
            let w = w_tile[(u * 2u + half) * TILE_N + n_lane + j * 16u];
            for (var i = 0u; i < 4u; i++) {  // unroll
              dots[j * 4u + i] += dot16(w, a[i]);
            }
          }
          if (SCALES == 2u && half == 0u) {
            for (var i = 0u; i < 32u; i++) {  // unroll
              firsts[i] = dots[i];
            }
          }
        }
        var x_part: array<vec2<f32>, 4>;
        for (var i = 0u; i < 4u; i++) {  // unroll
          x_part[i] = x_meta[u * TILE_M + m_lane + i * 16u];
        }
        for (var j = 0u; j < 8u; j++) {  // unroll
          let s = w_scales[u * TILE_N + n_lane + j * 16u];
          for (var i = 0u; i < 4u; i++) {  // unroll
            let k = j * 4u + i;
            if (SCALES == 2u) {
              let first = f32(firsts[k]);
              let second = f32(dots[k] - firsts[k]);
              sums[k] += x_part[i].x * (s.x * first + s.z * second);
            } else if (CODE == 0u || HAS_MIN) {
              sums[k] += s.x * (f32(dots[k]) * x_part[i].x) + s.y * x_part[i].y;
            } else {
              sums[k] += s.x * (f32(dots[k]) * x_part[i].x);
            }
          }
        }
      }
    }
  }
  for (var i = 0u; i < 4u; i++) {  // unroll
    let x_row = first_x + m_lane + i * 16u;
    for (var j = 0u; j < 8u; j++) {  // unroll
      let row = first_row + n_lane + j * 16u;
      if (row < p.rows && x_row < p.m) {
        var value = sums[j * 4u + i];
        if (HAS_FACTORS) {
          value *= factors[row];
        }
        let place = x_row * p.out_stride + p.first_out + row * p.out_step;
        if (EPILOGUE == 1u) {
          value += y[place];
        }
        y[place] = value;
      }
    }
  }
}
