// Reads a buffer once, 16 bytes a thread at a time: how fast memory gives them.
override THREADS: u32 = 256u;
override READS: u32 = 16u;

struct Immediates {
  groups: u32,
}
var<immediate> p: Immediates;

@group(0) @binding(0) var<storage, read> data: array<vec4<u32>>;       // [groups][READS][THREADS]
@group(0) @binding(1) var<storage, read_write> sums: array<u32>;       // [groups]

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let group = group_id.x + group_id.y * 32768u;
  if (group >= p.groups) {
    return;
  }
  var sum = vec4<u32>(0u);
  for (var i = 0u; i < READS; i++) {  // unroll
    sum ^= data[(group * READS + i) * THREADS + lane];
  }
  // Never true of zeros, and no compiler knows that they are.
  if ((sum.x ^ sum.y ^ sum.z ^ sum.w) == 0xffffffffu) {
    sums[group] = sum.x;
  }
}
