// Puts the chunks of attend.wgsl together, in the forms that the output projection reads.
// Each 8 threads take a group of 32 of a row's heads side by side.
// include: forms
// include: chunks
override HEADS: u32 = 1u;
override HEAD_DIM: u32 = 64u;
override PADDED_DIM: u32 = 64u;

struct Immediates {
  first_row: u32,  // of the step
  first_out: u32,  // of this call's rows in the forms
  chunks: u32,     // that a row has room for in `partials`
  groups: u32,
}
var<immediate> p: Immediates;

@group(0) @binding(0) var<storage, read> partials: array<f32>;     // see attend_output_partial.wgsl
@group(0) @binding(1) var<storage, read> stats: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read> step: array<u32>;
@group(0) @binding(3) var<storage, read_write> q_codes: array<u32>;
@group(0) @binding(4) var<storage, read_write> q_meta: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read_write> floats: array<vec4<f32>>;

// Values 4 quad .. of the heads side by side. Where heads are whole quads, all four are one head's.
fn merged(row: u32, chunk_count: u32, quad: u32) -> vec4<f32> {
  var head: array<u32, 4>;
  var place: array<u32, 4>;
  for (var i = 0u; i < 4u; i++) {  // unroll
    let column = min(quad * 4u + i, HEADS * HEAD_DIM - 1u);
    head[i] = row * p.chunks * HEADS + column / HEAD_DIM;
    place[i] = head[i] * PADDED_DIM + column % HEAD_DIM;
  }
  var top = vec4<f32>(-3.0e38);
  var sum = vec4<f32>(0.0);
  var total = vec4<f32>(0.0);
  // Chunks are loaded four at a time; those beyond the last count as nothing.
  for (var first = 0u; first < chunk_count; first += 4u) {
    var highest: array<vec4<f32>, 4>;
    var weight: array<vec4<f32>, 4>;
    var value: array<vec4<f32>, 4>;
    for (var c = 0u; c < 4u; c++) {  // unroll
      let own = min(first + c, chunk_count - 1u) * HEADS;
      for (var i = 0u; i < 4u; i++) {  // unroll
        let pair = stats[head[i] + own];
        highest[c][i] = pair.x;
        weight[c][i] = pair.y;
        value[c][i] = partials[place[i] + own * PADDED_DIM];
      }
    }
    let next = max(max(max(highest[0], highest[1]), max(highest[2], highest[3])), top);
    let shrink = exp(top - next);
    sum = sum * shrink;
    total = total * shrink;
    for (var c = 0u; c < 4u; c++) {  // unroll
      let grow = select(vec4<f32>(0.0), exp(highest[c] - next), first + c < chunk_count);
      sum += value[c] * grow;
      total += weight[c] * grow;
    }
    top = next;
  }
  return sum / total;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group_id.y;
  let quad = group_id.x * THREADS + lane;
  let page_count = (step[(p.first_row + row) * 8u + 2u] + 64u) / 64u;
  let chunk_pages = chunk_pages_of(page_count);
  let chunk_count = (page_count + chunk_pages - 1u) / chunk_pages;
  var v = merged(row, chunk_count, quad);
  for (var i = 0u; i < 4u; i++) {  // unroll
    if (quad * 4u + i >= HEADS * HEAD_DIM) {
      v[i] = 0.0;
    }
  }
  write_forms(p.first_out + row, p.groups, quad, lane, quad < p.groups * 8u, v);
}
