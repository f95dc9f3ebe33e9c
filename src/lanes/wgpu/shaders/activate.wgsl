// The input of the down projection, in the forms that it reads: silu(gate) * up, or what a fused
// gate/up product has made of them already.
// Each 8 threads take a group of 32. Bound: see ops/swiglu.h.
// include: forms
override IS_FUSED: bool = false;

struct Immediates {
  groups: u32,
  width: u32,
}
var<immediate> p: Immediates;

// IS_FUSED: [rows][width]; else [rows][width][2]: gate and up side by side
@group(0) @binding(0) var<storage, read> hidden: array<f32>;
@group(0) @binding(1) var<storage, read_write> q_codes: array<u32>;
@group(0) @binding(2) var<storage, read_write> q_meta: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> floats: array<vec4<f32>>;

fn activated(row: u32, column: u32) -> f32 {
  let place = row * p.width + column;
  if (IS_FUSED) {
    return hidden[place];
  }
  let gate = hidden[place * 2u];
  return gate / (1.0 + exp(-gate)) * hidden[place * 2u + 1u];
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group_id.y;
  let quad = group_id.x * THREADS + lane;
  var v = vec4<f32>(0.0);
  for (var i = 0u; i < 4u; i++) {  // unroll
    if (quad * 4u + i < p.width) {
      v[i] = activated(row, quad * 4u + i);
    }
  }
  write_forms(row, p.groups, quad, lane, quad < p.groups * 8u, v);
}
