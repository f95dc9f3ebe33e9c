// Included as `attend_input`: queries are turned and the pages hold every position already.
@group(0) @binding(3) var<storage, read> queries: array<f32>;  // [rows][HEADS][PADDED_DIM]
@group(0) @binding(4) var<storage, read> page_vectors: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> page_words: array<u32>;  // the same buffer

fn query_value(row: u32, head: u32, d: u32) -> f32 {
  return queries[(row * HEADS + head) * PADDED_DIM + d];
}

fn page_vector(index: u32) -> vec4<u32> {
  return page_vectors[index];
}

fn page_word(index: u32) -> u32 {
  return page_words[index];
}

fn newest_word(index: u32) -> u32 {
  return 0u;
}

fn store_newest(row: u32, kv_head: u32, base: u32, at: u32, lane: u32) {
}
