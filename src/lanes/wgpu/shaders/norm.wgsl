// RMS norm of a row, in the forms that the next product reads: y = x * gain / sqrt(mean(x^2) + e).
// One workgroup a row, which keeps the row in registers. Bound: see ops/rms_norm.h.
// include: forms
// include: reduce
override HAS_SUBGROUPS: bool = true;
override QUADS: u32 = 1u;  // a thread holds: ceil(groups * 8 / THREADS)

struct Immediates {
  groups: u32,
  width: u32,
  map: u32,  // where in `step` the rows to take are listed; 0xffffffff: all, in order
  epsilon: f32,
}
var<immediate> p: Immediates;

@group(0) @binding(0) var<storage, read> x: array<f32>;     // [rows][width]
@group(0) @binding(1) var<storage, read> gain: array<f32>;  // [width]
@group(0) @binding(2) var<storage, read> step: array<u32>;
@group(0) @binding(3) var<storage, read_write> q_codes: array<u32>;
@group(0) @binding(4) var<storage, read_write> q_meta: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read_write> floats: array<vec4<f32>>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group_id.x;
  var source = row;
  if (p.map != 0xffffffffu) {
    source = step[p.map + row];
  }
  var held: array<vec4<f32>, QUADS>;
  var squares = 0.0;
  for (var q = 0u; q < QUADS; q++) {  // unroll
    var v = vec4<f32>(0.0);
    let first = (q * THREADS + lane) * 4u;
    for (var i = 0u; i < 4u; i++) {  // unroll
      if (first + i < p.width) {
        v[i] = x[source * p.width + first + i];
      }
    }
    held[q] = v;
    squares += dot(v, v);
  }
  let scale = 1.0 / sqrt(workgroup_sum(squares, lane) / f32(p.width) + p.epsilon);
  for (var q = 0u; q < QUADS; q++) {  // unroll
    let quad = q * THREADS + lane;
    var v = held[q] * scale;
    for (var i = 0u; i < 4u; i++) {  // unroll
      if (quad * 4u + i < p.width) {
        v[i] *= gain[quad * 4u + i];
      }
    }
    write_forms(row, p.groups, quad, lane, quad < p.groups * 8u, v);
  }
}
