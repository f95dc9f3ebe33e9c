// Included as `reduce` where the device has subgroups: a sum over the workgroup, for all threads.
var<workgroup> reduce_parts: array<f32, 64>;

fn workgroup_sum(value: f32, lane: u32) -> f32 {
  let size = subgroupAdd(1u);
  let part = subgroupAdd(value);
  if (size >= THREADS) {
    return part;
  }
  if (lane % size == 0u) {
    reduce_parts[lane / size] = part;
  }
  workgroupBarrier();
  var sum = 0.0;
  for (var i = 0u; i < THREADS / size; i++) {
    sum += reduce_parts[i];
  }
  workgroupBarrier();
  return sum;
}
