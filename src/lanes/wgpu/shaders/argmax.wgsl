// The largest logit of each row, the lowest id among equals, and whether all logits are finite.
// Run twice: over slices of the logits, then (IS_MERGE) over what the slices gave.
override THREADS: u32 = 128u;
override IS_MERGE: bool = false;

struct Immediates {
  count: u32,      // logits of a row, or slices
  slice: u32,      // logits a workgroup takes
  slices: u32,     // of a row
  first_out: u32,  // result that row 0 gives
}
var<immediate> p: Immediates;

@group(0) @binding(0) var<storage, read> logits: array<f32>;           // [rows][count]
@group(0) @binding(1) var<storage, read_write> slices: array<vec4<u32>>;  // [rows][slices]: key, id, finite
@group(0) @binding(2) var<storage, read_write> results: array<vec4<u32>>;  // [outputs]: id, finite, key

var<workgroup> keys: array<u32, THREADS>;
var<workgroup> ids: array<u32, THREADS>;
var<workgroup> finite: array<u32, THREADS>;

// include: logit_key

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group_id.y;
  let begin = group_id.x * p.slice;
  let end = min(begin + p.slice, p.count);
  var best_key = 0u;
  var best_id = 0xffffffffu;
  var all_finite = 1u;
  for (var i = begin + lane; i < end; i += THREADS) {
    var key = 0u;
    var id = i;
    if (IS_MERGE) {
      let slice = slices[row * p.slices + i];
      key = slice.x;
      id = slice.y;
      all_finite = min(all_finite, slice.z);
    } else {
      let value = logits[row * p.count + i];
      key = key_of(value);
      if ((bitcast<u32>(value) & 0x7f800000u) == 0x7f800000u) {
        all_finite = 0u;
      }
    }
    if (key > best_key || (key == best_key && id < best_id)) {
      best_key = key;
      best_id = id;
    }
  }
  keys[lane] = best_key;
  ids[lane] = best_id;
  finite[lane] = all_finite;
  workgroupBarrier();
  for (var stride = THREADS / 2u; stride > 0u; stride = stride / 2u) {
    if (lane < stride) {
      let key = keys[lane + stride];
      let id = ids[lane + stride];
      if (key > keys[lane] || (key == keys[lane] && id < ids[lane])) {
        keys[lane] = key;
        ids[lane] = id;
      }
      finite[lane] = min(finite[lane], finite[lane + stride]);
    }
    workgroupBarrier();
  }
  if (lane == 0u) {
    if (IS_MERGE) {
      // An id of no logit (all NaN) becomes 0: whoever reads it sees that it isn't finite.
      results[p.first_out + row] =
          vec4<u32>(select(ids[0], 0u, ids[0] == 0xffffffffu), finite[0], keys[0], 0u);
    } else {
      slices[row * p.slices + group_id.x] = vec4<u32>(keys[0], ids[0], finite[0], 0u);
    }
  }
}
