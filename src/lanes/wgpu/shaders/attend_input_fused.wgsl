// Included as `attend_input` where attention stores the row's own key and value, and sees them in
// workgroup memory.
@group(0) @binding(3) var<storage, read> qkv: array<f32>;  // [rows][HEADS + 2 KV_HEADS][HEAD_DIM]
@group(0) @binding(4) var<storage, read_write> pages: array<vec4<u32>>;

fn put_page_word(index: u32, word: u32) {
  pages[index / 4u][index % 4u] = word;
}
// include: rope
// include: kv_store

fn query_value(row: u32, head: u32, d: u32) -> f32 {
  return turned((row * (HEADS + 2u * KV_HEADS) + head) * HEAD_DIM, row, d) * p.score_scale;
}

fn page_vector(index: u32) -> vec4<u32> {
  return pages[index];
}

fn page_word(index: u32) -> u32 {
  return pages[index / 4u][index % 4u];
}

// Of the newest position: words of the key, of the value, steps.
fn newest_word(index: u32) -> u32 {
  return stored[index];
}

// Every workgroup that attends to the newest position stores it, all of them the same words.
fn store_newest(row: u32, kv_head: u32, base: u32, at: u32, lane: u32) {
  let key = (row * (HEADS + 2u * KV_HEADS) + HEADS + kv_head) * HEAD_DIM;
  store_kv(row, key, key + KV_HEADS * HEAD_DIM, base, at, lane);
}
