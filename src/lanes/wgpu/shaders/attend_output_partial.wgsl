// Included as `attend_output`: a chunk's share, for attend_merge.wgsl.
@group(0) @binding(1) var<storage, read_write> partials: array<f32>;  // [rows][chunks][HEADS][PADDED_DIM]
@group(0) @binding(2) var<storage, read_write> stats: array<vec2<f32>>;  // [rows][chunks][HEADS] maximum, sum

fn write_output(row: u32, chunk: u32, first_head: u32, lane: u32) {
  let place = (row * p.chunks + chunk) * HEADS + first_head;
  for (var i = lane; i < TILE_VALUES; i += THREADS) {
    var sum = 0.0;
    for (var h = 0u; h < SPLITS; h++) {  // unroll
      sum += shares[h * TILE_VALUES + i];
    }
    partials[place * PADDED_DIM + i] = sum;
  }
  if (lane < TILE_HEADS) {
    stats[place + lane] = vec2<f32>(tops[lane], sums[lane]);
  }
}
