// The k largest of each block of 1024 candidates, best first, the lower id first among equals; run
// again on what it gave until one block a row is left. Blocks are sorted whole (Batcher 1968).
override THREADS: u32 = 128u;
override IS_FIRST: bool = true;  // candidates are logits; else pairs of an earlier run

struct Immediates {
  count: u32,   // candidates of a row
  k: u32,       // at most 512
  blocks: u32,  // of a row
}
var<immediate> p: Immediates;

@group(0) @binding(0) var<storage, read> logits: array<f32>;            // [rows][count]
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;       // [rows][count]: key, id
@group(0) @binding(2) var<storage, read_write> best: array<vec2<u32>>;  // [rows][blocks][k]

const BLOCK = 1024u;
var<workgroup> held: array<vec2<u32>, BLOCK>;

// include: logit_key

fn comes_first(a: vec2<u32>, b: vec2<u32>) -> bool {
  return a.x > b.x || (a.x == b.x && a.y < b.y);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group_id.y;
  let begin = group_id.x * BLOCK;
  for (var i = lane; i < BLOCK; i += THREADS) {
    var pair = vec2<u32>(0u, 0xffffffffu);  // after everything
    if (begin + i < p.count) {
      if (IS_FIRST) {
        pair = vec2<u32>(key_of(logits[row * p.count + begin + i]), begin + i);
      } else {
        pair = pairs[row * p.count + begin + i];
      }
    }
    held[i] = pair;
  }
  workgroupBarrier();
  for (var size = 2u; size <= BLOCK; size = size * 2u) {
    for (var stride = size / 2u; stride > 0u; stride = stride / 2u) {
      for (var i = lane; i < BLOCK / 2u; i += THREADS) {
        let low = (i / stride) * stride * 2u + i % stride;
        let high = low + stride;
        let a = held[low];
        let b = held[high];
        let is_descending = (low & size) == 0u;
        if (comes_first(b, a) == is_descending) {
          held[low] = b;
          held[high] = a;
        }
      }
      workgroupBarrier();
    }
  }
  for (var i = lane; i < p.k; i += THREADS) {
    best[(row * p.blocks + group_id.x) * p.k + i] = held[i];
  }
}
