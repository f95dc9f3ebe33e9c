// x[row] = the embedding of the row's token, or of the token that an earlier step chose.
// One workgroup a row, one call a part of the table.
// include: planes
override THREADS: u32 = 64u;

struct Immediates {
  groups: u32,
  width: u32,
  first_token: u32,  // of the rows of W here
  token_count: u32,
}
var<immediate> p: Immediates;

@group(0) @binding(0) var<storage, read> codes: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> factors: array<f32>;
@group(0) @binding(3) var<storage, read> step: array<u32>;     // [rows][8]
@group(0) @binding(4) var<storage, read> results: array<u32>;  // [outputs][4]: id, is_finite
@group(0) @binding(5) var<storage, read_write> x: array<f32>;  // [rows][width]

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group_id.x;
  let entry = row * 8u;
  let feedback = step[entry + 1u];
  var token = step[entry];
  if (feedback != 0xffffffffu) {
    token = results[feedback * 4u];
  }
  // Another part of the table has it. (An id below first_token wraps.)
  token -= p.first_token;
  if (token >= p.token_count) {
    return;
  }
  let row_words = token * scale_words(p.groups);
  var factor = 1.0;
  if (HAS_FACTORS) {
    factor = factors[token];
  }
  for (var quad = lane; quad < p.groups * 8u; quad += THREADS) {
    let group = quad >> 3u;
    var s = vec4<f32>(0.0);
    if (CODE < 2u) {
      s = group_scales(row_words, group);
    }
    let v = group_quad(token * p.groups + group, quad & 7u, s) * factor;
    for (var i = 0u; i < 4u; i++) {  // unroll
      if (quad * 4u + i < p.width) {
        x[row * p.width + quad * 4u + i] = v[i];
      }
    }
  }
}
