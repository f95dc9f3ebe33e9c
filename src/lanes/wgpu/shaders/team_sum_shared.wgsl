// Included as `team_sum` without subgroups: a sum over the 32 threads of a team, for each of them.
var<workgroup> team_parts: array<f32, THREADS>;

fn team_sum(value: f32, lane: u32) -> f32 {
  team_parts[lane] = value;
  workgroupBarrier();
  var sum = 0.0;
  for (var i = 0u; i < 32u; i++) {  // unroll
    sum += team_parts[(lane & 0xffffffe0u) + i];
  }
  workgroupBarrier();
  return sum;
}
