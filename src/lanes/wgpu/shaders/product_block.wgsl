// A decode product that also makes its results ready for the next one: a workgroup computes OUTPUTS
// values of y, a group or half of one, for a few rows of x, and writes them in the forms that
// products read. block_epilogue says how: `residual` adds to the residual stream and scales by the gain of the
// next norm; `activate` makes silu(gate) * up of rows of W that lie in turns.
// Teams of 32 threads take ROWS rows of W at a time, a thread a group of 32 k in turns.
// include: planes
// include: forms
override OUTPUTS: u32 = 16u;  // 16 or 32
override TEAMS: u32 = 16u;  // THREADS / 32
override ROWS: u32 = 2u;    // of W that a team takes at a time
override M: u32 = 1u;       // rows of x
override UNROLL: u32 = 2u;
override IS_INT8: bool = true;
override HAS_NORM: bool = false;  // as in product.wgsl
override EPILOGUE: u32 = 1u;      // 1 residual, 2 activate
override IN_PARTS: u32 = 1u;      // of the INT8 forms of x
override WIDTH: u32 = 1u;         // of the norm

struct Immediates {
  rows: u32,       // of W
  first_out: u32,  // row 0 of W gives this column (a multiple of OUTPUTS)
  width: u32,      // columns of y
  groups: u32,     // of x
  m: u32,          // rows of x there are
  first_x: u32,
  epsilon: f32,
}
var<immediate> p: Immediates;

@group(0) @binding(0) var<storage, read> codes: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> factors: array<f32>;
@group(0) @binding(3) var<storage, read> in_codes: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> in_meta: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> in_floats: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> in_squares: array<f32>;  // [m][groups * 2]
@group(0) @binding(7) var<storage, read_write> q_codes: array<u32>;
@group(0) @binding(8) var<storage, read_write> q_meta: array<vec2<f32>>;
@group(0) @binding(9) var<storage, read_write> floats: array<vec4<f32>>;

const LANES = 32u;  // of a team
const QUADS = OUTPUTS / 4u;
const BLOCK_ROWS = OUTPUTS * EPILOGUE;  // of W
const PASS_ROWS = TEAMS * ROWS;
const PASSES = BLOCK_ROWS / PASS_ROWS;
var<workgroup> block: array<f32, BLOCK_ROWS * M>;  // [m][rows of W]
// include: team_sum
// include: product_terms
// include: block_epilogue

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let team = lane / 32u;
  let own = lane % 32u;
  let first_of_block = group_id.x * BLOCK_ROWS;
  let words = scale_words(p.groups);
  // QUADS threads a row of x finish the block; what they need is on its way from the beginning.
  let x_row = lane / QUADS;
  let is_there = x_row < M && x_row < p.m;
  let quad = lane % QUADS;
  let column = p.first_out + group_id.x * OUTPUTS + quad * 4u;
  let operands = block_operands(select(0u, x_row, is_there), column, is_there);
  var square: array<f32, M>;
  if (HAS_NORM) {
    for (var m = 0u; m < M; m++) {  // unroll
      for (var half = own; half < p.groups * 2u; half += 32u) {
        square[m] += in_squares[(p.first_x + m) * p.groups * 2u + half];
      }
    }
  }
  for (var pass_index = 0u; pass_index < PASSES; pass_index++) {  // unroll
    let local_row = pass_index * PASS_ROWS + team * ROWS;
    let first = first_of_block + local_row;
    var sums: array<f32, ROWS * M>;
    for (var i = 0u; i < ROWS * M; i++) {
      sums[i] = 0.0;
    }
    // include: product_groups
    for (var m = 0u; m < M; m++) {  // unroll
      var scale = 1.0;
      if (HAS_NORM) {
        scale = 1.0 / sqrt(team_sum(square[m], lane) / f32(WIDTH) + p.epsilon);
      }
      for (var r = 0u; r < ROWS; r++) {  // unroll
        var sum = team_sum(sums[m * ROWS + r], lane) * scale;
        let row = first + r;
        if (HAS_FACTORS && row < p.rows) {
          sum *= factors[row];
        }
        if (own == 0u) {
          block[m * BLOCK_ROWS + local_row + r] = select(0.0, sum, row < p.rows);
        }
      }
    }
  }
  workgroupBarrier();
  let v = block_values(select(0u, x_row, is_there), quad, column, is_there, operands);
  write_forms(p.first_x + x_row, (p.width + 31u) / 32u, column / 4u, lane, is_there, v);
  finish_block(x_row, quad, column, lane, is_there);
}
