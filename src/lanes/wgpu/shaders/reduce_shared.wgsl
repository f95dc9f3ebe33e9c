// Included as `reduce` where the device has no subgroups: a sum over the workgroup, for all
// threads, as a tree in workgroup memory. THREADS is a power of two.
var<workgroup> reduce_parts: array<f32, THREADS>;

fn workgroup_sum(value: f32, lane: u32) -> f32 {
  reduce_parts[lane] = value;
  workgroupBarrier();
  for (var stride = THREADS / 2u; stride > 0u; stride = stride / 2u) {
    if (lane < stride) {
      reduce_parts[lane] += reduce_parts[lane + stride];
    }
    workgroupBarrier();
  }
  let sum = reduce_parts[0];
  workgroupBarrier();
  return sum;
}
