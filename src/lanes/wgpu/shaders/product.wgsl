// y[row, j] = sum over k of x[row, k] W[j, k] for a few rows of x: the decode product (GEMV).
// A workgroup takes ROWS rows of W; its threads take groups of 32 k in turns, all loads of weights
// before the first use. Integer weights meet INT8 codes by packed dot products; exact sums within a
// group, float32 between groups. Bound: lanes/wgpu/product_test.cpp.
// include: planes
override THREADS: u32 = 32u;
override ROWS: u32 = 2u;   // of W, even where EPILOGUE is 2
override M: u32 = 1u;      // rows of x
override IN_PARTS: u32 = 1u;  // of the INT8 forms of x (forms.wgsl)
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
@group(0) @binding(3) var<storage, read> in_codes: array<vec4<u32>>;  // [m][IN_PARTS][groups][2]
@group(0) @binding(4) var<storage, read> in_meta: array<vec4<f32>>;   // [m][IN_PARTS][groups]
@group(0) @binding(5) var<storage, read> in_floats: array<vec4<f32>>;   // [m][groups][8]
@group(0) @binding(6) var<storage, read_write> y: array<f32>;        // [m][out_stride]
@group(0) @binding(7) var<storage, read> squares: array<f32>;        // [m][groups * 2]

const LANES = THREADS;
const RESULTS = ROWS * M;
const SUMS = RESULTS + select(0u, M, HAS_NORM);
// include: product_sums
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
    let column = (p.first_out + row) / 2u;
    y[(p.first_x + x_row) * p.out_stride + column] = value / (1.0 + exp(-value)) * up;
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
  let own = lane;
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
  // include: product_groups
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
