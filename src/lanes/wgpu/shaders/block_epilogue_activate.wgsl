// Included as `block_epilogue` where EPILOGUE is 2: rows of W are gate and up in turns.
fn block_operands(x_row: u32, column: u32, is_there: bool) -> u32 {
  return 0u;
}

fn block_values(x_row: u32, quad: u32, column: u32, is_there: bool, operands: u32) -> vec4<f32> {
  var v = vec4<f32>(0.0);
  if (is_there) {
    for (var i = 0u; i < 4u; i++) {  // unroll
      if (column + i < p.width) {
        let place = x_row * BLOCK_ROWS + (quad * 4u + i) * 2u;
        let gate = block[place];
        v[i] = gate / (1.0 + exp(-gate)) * block[place + 1u];
      }
    }
  }
  return v;
}

fn finish_block(x_row: u32, quad: u32, column: u32, lane: u32, is_there: bool) {
}
