// Included as `product_sums` without subgroups: SUMS sums over the workgroup at once, as trees in
// workgroup memory.
var<workgroup> sum_parts: array<f32, SUMS * THREADS>;

fn put_sum(index: u32, value: f32, lane: u32) {
  sum_parts[index * THREADS + lane] = value;
}

fn finish_sums(lane: u32) {
  workgroupBarrier();
  for (var stride = THREADS / 2u; stride > 0u; stride = stride / 2u) {
    if (lane < stride) {
      for (var i = 0u; i < SUMS; i++) {
        sum_parts[i * THREADS + lane] += sum_parts[i * THREADS + lane + stride];
      }
    }
    workgroupBarrier();
  }
}

fn get_sum(index: u32) -> f32 {
  return sum_parts[index * THREADS];
}
