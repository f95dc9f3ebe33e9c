// Included as `block_epilogue` where EPILOGUE is 1: the residual stream takes the results, and the
// next product reads it times the gain of the norm between.
@group(0) @binding(10) var<storage, read_write> x: array<f32>;        // [rows][width]
@group(0) @binding(11) var<storage, read> gain: array<f32>;           // [width]
@group(0) @binding(12) var<storage, read_write> squares: array<f32>;  // [rows][groups * 2]

var<workgroup> quad_squares: array<f32, THREADS>;

struct Operands {
  x: vec4<f32>,
  gain: vec4<f32>,
}

fn block_operands(x_row: u32, column: u32, is_there: bool) -> Operands {
  var operands: Operands;
  if (is_there) {
    for (var i = 0u; i < 4u; i++) {  // unroll
      if (column + i < p.width) {
        operands.x[i] = x[(p.first_x + x_row) * p.width + column + i];
        operands.gain[i] = gain[column + i];
      }
    }
  }
  return operands;
}

fn block_values(x_row: u32, quad: u32, column: u32, is_there: bool,
                operands: Operands) -> vec4<f32> {
  var v = vec4<f32>(0.0);
  var square = 0.0;
  if (is_there) {
    for (var i = 0u; i < 4u; i++) {  // unroll
      if (column + i < p.width) {
        let place = (p.first_x + x_row) * p.width + column + i;
        let sum = operands.x[i] + block[x_row * BLOCK_ROWS + quad * 4u + i];
        x[place] = sum;
        v[i] = sum * operands.gain[i];
        square += sum * sum;
      }
    }
    quad_squares[x_row * QUADS + quad] = square;
  }
  return v;
}

fn finish_block(x_row: u32, quad: u32, column: u32, lane: u32, is_there: bool) {
  workgroupBarrier();
  if (is_there && (quad & 3u) == 0u) {
    var sum = 0.0;
    for (var i = 0u; i < 4u; i++) {  // unroll
      sum += quad_squares[x_row * QUADS + quad + i];
    }
    squares[(p.first_x + x_row) * ((p.width + 31u) / 32u) * 2u + column / 16u] = sum;
  }
}
