// y[row, j] = sum over k of x[row, k] W[j, k] for a few rows of x: the decode product (GEMV).
// A workgroup takes ROWS rows of W; its threads take groups of 32 k in turns, all loads of weights
// before the first use. Integer weights meet INT8 codes by packed dot products; exact sums within a
// group, float32 between groups. Bound: lanes/wgpu/product_test.cpp.
// include: planes
override THREADS: u32 = 32u;
override ROWS: u32 = 2u;   // of W, even where EPILOGUE is 2
override M: u32 = 1u;      // rows of x
override PARTS: u32 = 1u;  // of an INT8 activation (forms.wgsl)
override UNROLL: u32 = 2u;
override IS_INT8: bool = true;  // activations: codes, or float32
// 0 stores, 1 adds to y, 2 stores silu(even row) * odd row
override EPILOGUE: u32 = 0u;
override HAS_SUBGROUPS: bool = true;
// x holds rows before their RMS norm (times its gain): results are divided by the row's root mean
// square here, from sums of squares that lie beside x.
override HAS_NORM: bool = false;
override WIDTH: u32 = 1u;  // of the norm

struct Immediates {
  rows: u32,        // of W here
  first_out: u32,   // column of y that row 0 of W gives
  out_stride: u32,  // columns of y
  groups: u32,
  m: u32,         // rows of x there are
  out_step: u32,  // columns of y from one row of W to the next
  first_x: u32,   // row of x and y that this call begins with
  epsilon: f32,   // of the norm
}
var<immediate> p: Immediates;

@group(0) @binding(0) var<storage, read> codes: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> factors: array<f32>;
@group(0) @binding(3) var<storage, read> q_codes: array<vec4<u32>>;  // [m][PARTS][groups][2]
@group(0) @binding(4) var<storage, read> q_meta: array<vec4<f32>>;   // [m][PARTS][groups]
@group(0) @binding(5) var<storage, read> floats: array<vec4<f32>>;   // [m][groups][8]
@group(0) @binding(6) var<storage, read_write> y: array<f32>;        // [m][out_stride]

@group(0) @binding(7) var<storage, read> squares: array<f32>;        // [m][groups * 2]

const RESULTS = ROWS * M;
const SUMS = RESULTS + select(0u, M, HAS_NORM);
// include: product_sums


fn x_quad(place: u32) -> vec4<f32> {
  return floats[place];
}
// include: product_terms
fn epilogue(row: u32, x_row: u32, sum: f32, next: f32) {
  if (row >= p.rows || x_row >= p.m) {
    return;
  }
  var value = sum;
  if (HAS_FACTORS) {
    value *= factors[row];
  }
  if (EPILOGUE == 2u) {
    var up = next;
    if (HAS_FACTORS) {
      up *= factors[row + 1u];
    }
    y[(p.first_x + x_row) * p.out_stride + (p.first_out + row) / 2u] = value / (1.0 + exp(-value)) * up;
    return;
  }
  let place = (p.first_x + x_row) * p.out_stride + p.first_out + row * p.out_step;
  if (EPILOGUE == 1u) {
    value += y[place];
  }
  y[place] = value;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let first = (group_id.x + group_id.y * 32768u) * ROWS;
  if (first >= p.rows) {
    return;
  }
  let words = scale_words(p.groups);
  var square: array<f32, M>;
  if (HAS_NORM) {
    for (var m = 0u; m < M; m++) {  // unroll
      for (var half = lane; half < p.groups * 2u; half += THREADS) {
        square[m] += squares[(p.first_x + m) * p.groups * 2u + half];
      }
    }
  }
  var sums: array<f32, RESULTS>;
  for (var base = lane; base < p.groups; base += THREADS * UNROLL) {
    var w: array<vec4<u32>, ROWS * UNROLL * 2u>;
    var s: array<vec4<f32>, ROWS * UNROLL>;
    for (var u = 0u; u < UNROLL; u++) {  // unroll
      let group = min(base + u * THREADS, p.groups - 1u);
      for (var r = 0u; r < ROWS; r++) {  // unroll
        let row = min(first + r, p.rows - 1u);
        let place = row * p.groups + group;
        if (IS_INT8) {
          if (CODE == 0u) {
            w[(u * ROWS + r) * 2u] = codes[place];
          } else {
            w[(u * ROWS + r) * 2u] = codes[place * 2u];
            w[(u * ROWS + r) * 2u + 1u] = codes[place * 2u + 1u];
          }
        }
        if (CODE < 2u) {
          s[u * ROWS + r] = group_scales(row * words, group);
        }
      }
    }
    // Groups beyond the row count as zero steps: no branch keeps the loads from each other.
    for (var u = 0u; u < UNROLL; u++) {  // unroll
      let group = min(base + u * THREADS, p.groups - 1u);
      let is_inside = base + u * THREADS < p.groups;
      for (var m = 0u; m < M; m++) {  // unroll
        if (IS_INT8) {
          for (var part = 0u; part < PARTS; part++) {  // unroll
            let x_place = ((p.first_x + m) * PARTS + part) * p.groups + group;
            let a0 = q_codes[x_place * 2u];
            let a1 = q_codes[x_place * 2u + 1u];
            let x_meta = select(vec4<f32>(0.0), q_meta[x_place], is_inside);
            for (var r = 0u; r < ROWS; r++) {  // unroll
              sums[m * ROWS + r] += int8_term(w[(u * ROWS + r) * 2u], w[(u * ROWS + r) * 2u + 1u],
                                              s[u * ROWS + r], a0, a1, x_meta);
            }
          }
        } else if (is_inside) {
          for (var r = 0u; r < ROWS; r++) {  // unroll
            let row = min(first + r, p.rows - 1u);
            sums[m * ROWS + r] += float_term(row * p.groups + group, s[u * ROWS + r],
                                             ((p.first_x + m) * p.groups + group) * 8u);
          }
        }
      }
    }
  }
  for (var i = 0u; i < RESULTS; i++) {  // unroll
    put_sum(i, sums[i], lane);
  }
  if (HAS_NORM) {
    for (var m = 0u; m < M; m++) {  // unroll
      put_sum(RESULTS + m, square[m], lane);
    }
  }
  finish_sums(lane);
  for (var i = lane; i < RESULTS; i += THREADS) {
    let r = i % ROWS;
    let m = i / ROWS;
    var scale = 1.0;
    if (HAS_NORM) {
      scale = 1.0 / sqrt(get_sum(RESULTS + m) / f32(WIDTH) + p.epsilon);
    }
    if (EPILOGUE == 2u) {
      if ((r & 1u) == 0u) {
        epilogue(first + r, m, get_sum(i) * scale, get_sum(i + 1u) * scale);
      }
    } else {
      epilogue(first + r, m, get_sum(i) * scale, 0.0);
    }
  }
}
