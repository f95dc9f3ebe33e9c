// Turns queries and keys by their positions, and writes keys and values into their KV pages.
// A workgroup per row and head: first the query heads, then the kv heads.
// Queries are scaled by the score scale here. Bound: ops/rope.h, and the step of INT8 or f16 KV.
// include: kv_page
override THREADS: u32 = 64u;
override HEADS: u32 = 1u;

struct Immediates {
  first_row: u32,  // of the step; qkv and queries count from it
  angles: u32,     // where in `step` the angles of row 0 begin: [rows][ROPE_DIMS / 2] cos, sin
  score_scale: f32,
}
var<immediate> p: Immediates;

@group(0) @binding(0) var<storage, read> qkv: array<f32>;  // [rows][HEADS + 2 KV_HEADS][HEAD_DIM]
@group(0) @binding(1) var<storage, read> step: array<u32>;  // rows, page tables, angles
@group(0) @binding(2) var<storage, read_write> queries: array<f32>;  // [rows][HEADS][PADDED_DIM]
@group(0) @binding(3) var<storage, read_write> pages: array<u32>;

fn put_page_word(index: u32, word: u32) {
  pages[index] = word;
}
// include: rope
// include: kv_store

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let head = group_id.x;
  let row = group_id.y;
  let row_base = row * (HEADS + 2u * KV_HEADS) * HEAD_DIM;
  if (head < HEADS) {
    for (var d = lane; d < PADDED_DIM; d += THREADS) {
      queries[(row * HEADS + head) * PADDED_DIM + d] =
          turned(row_base + head * HEAD_DIM, row, d) * p.score_scale;
    }
    return;
  }
  let kv_head = head - HEADS;
  let key = row_base + (HEADS + kv_head) * HEAD_DIM;
  let value = key + KV_HEADS * HEAD_DIM;
  let entry = (p.first_row + row) * 8u;
  let position = step[entry + 2u];
  let page = step[step[entry + 3u] + position / 64u];
  store_kv(row, key, value, page * PAGE_WORDS + kv_head * HEAD_WORDS, position % 64u, lane);
}
