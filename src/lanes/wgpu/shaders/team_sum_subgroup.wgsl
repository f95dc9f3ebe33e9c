// Included as `team_sum` with subgroups: a sum over the 32 threads of a team, for each of them.
var<workgroup> team_parts: array<f32, THREADS>;

fn team_sum(value: f32, lane: u32) -> f32 {
  let size = subgroupAdd(1u);
  if (size == 32u) {
    return subgroupAdd(value);
  }
  if (size > 32u) {
    var sum = value;
    sum += subgroupShuffleXor(sum, 16u);
    sum += subgroupShuffleXor(sum, 8u);
    sum += subgroupShuffleXor(sum, 4u);
    sum += subgroupShuffleXor(sum, 2u);
    sum += subgroupShuffleXor(sum, 1u);
    return sum;
  }
  let part = subgroupAdd(value);
  team_parts[lane] = part;
  workgroupBarrier();
  var sum = 0.0;
  for (var i = lane & 0xffffffe0u; i < (lane & 0xffffffe0u) + 32u; i += size) {
    sum += team_parts[i];
  }
  workgroupBarrier();
  return sum;
}
