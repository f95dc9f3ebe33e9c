// Included as `attend_output` where every row has one chunk and heads are whole groups of 32: the
// result in the forms that products read.
@group(0) @binding(1) var<storage, read_write> q_codes: array<u32>;
@group(0) @binding(2) var<storage, read_write> q_meta: array<vec2<f32>>;
@group(0) @binding(6) var<storage, read_write> floats: array<vec4<f32>>;
// include: forms

fn write_output(row: u32, chunk: u32, first_head: u32, lane: u32) {
  for (var first = 0u; first < TILE_HEADS * HEAD_DIM; first += THREADS * 4u) {
    let column = first + lane * 4u;
    let is_inside = column < TILE_HEADS * HEAD_DIM;
    var v = vec4<f32>(0.0);
    if (is_inside) {
      let g = column / HEAD_DIM;
      for (var i = 0u; i < 4u; i++) {  // unroll
        var sum = 0.0;
        for (var h = 0u; h < SPLITS; h++) {  // unroll
          sum += shares[h * TILE_VALUES + g * PADDED_DIM + column % HEAD_DIM + i];
        }
        v[i] = sum / sums[g];
      }
    }
    write_forms(p.first_query + row, p.groups, (first_head * HEAD_DIM + column) / 4u, lane,
                is_inside, v);
  }
}
