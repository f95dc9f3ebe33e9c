// Included as `product_sums` with subgroups: SUMS sums over the workgroup at once.
var<workgroup> sum_parts: array<f32, SUMS * THREADS / 4u>;  // subgroups have 4 threads or more
var<workgroup> subgroup_threads: u32;

fn put_sum(index: u32, value: f32, lane: u32) {
  let size = min(subgroupAdd(1u), THREADS);
  let part = subgroupAdd(value);
  if (lane % size == 0u) {
    sum_parts[index * (THREADS / size) + lane / size] = part;
  }
  if (lane == 0u) {
    subgroup_threads = size;
  }
}

fn finish_sums(lane: u32) {
  workgroupBarrier();
}

fn get_sum(index: u32) -> f32 {
  let count = THREADS / subgroup_threads;
  var sum = 0.0;
  for (var i = 0u; i < count; i++) {
    sum += sum_parts[index * count + i];
  }
  return sum;
}
