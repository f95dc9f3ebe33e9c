// The forms of x * gain, a norm that is not divided yet, and the sums of squares of x by halves of
// groups, from which whoever reads the forms takes the divisor.
// Each 8 threads take a group.
// include: forms

struct Immediates {
  groups: u32,
  width: u32,
}
var<immediate> p: Immediates;

@group(0) @binding(0) var<storage, read> x: array<f32>;     // [rows][width]
@group(0) @binding(1) var<storage, read> gain: array<f32>;  // [width]
@group(0) @binding(2) var<storage, read_write> q_codes: array<u32>;
@group(0) @binding(3) var<storage, read_write> q_meta: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read_write> floats: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> squares: array<f32>;  // [rows][groups * 2]

var<workgroup> quad_squares: array<f32, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group_id.y;
  let quad = group_id.x * THREADS + lane;
  let is_inside = quad < p.groups * 8u;
  var own = vec4<f32>(0.0);
  var scaled = vec4<f32>(0.0);
  for (var i = 0u; i < 4u; i++) {  // unroll
    if (quad * 4u + i < p.width) {
      own[i] = x[row * p.width + quad * 4u + i];
      scaled[i] = own[i] * gain[quad * 4u + i];
    }
  }
  quad_squares[lane] = dot(own, own);
  workgroupBarrier();
  if ((lane & 3u) == 0u && is_inside) {
    var sum = 0.0;
    for (var i = 0u; i < 4u; i++) {  // unroll
      sum += quad_squares[lane + i];
    }
    squares[row * p.groups * 2u + (quad >> 2u)] = sum;
  }
  write_forms(row, p.groups, quad, lane, is_inside, scaled);
}
