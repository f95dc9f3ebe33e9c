// Attention of rows over their KV pages, one chunk of pages at a time: a workgroup per chunk, kv
// head (or part of its query heads) and row. Gives, per query head, the weighted sum of values and
// the maximum and sum of its weights, which attend_merge.wgsl puts together; or, where each row has
// one chunk alone (attend_output `direct`), the result in the forms that products read.
// FUSED, for steps in which each sequence has one row: also turns the row's queries and key by their
// position and writes key and value into their page, as rope_store.wgsl does for many rows.
// A row's chunks depend on its position alone, so that a batch changes no bit.
// Loads are issued many at a time: a page costs two round trips to memory.
// Source: online softmax (Milakov and Gimelshein 2018), split over positions (Flash-Decoding).
// include: kv_page
// include: chunks
override THREADS: u32 = 128u;
override HEADS: u32 = 1u;
override TILE_HEADS: u32 = 1u;  // query heads a workgroup takes, of one kv head; at most 8
override FUSED: bool = false;
override IS_DIRECT: bool = false;

struct Immediates {
  first_row: u32,    // of the step, for the page tables
  first_query: u32,  // of this call's rows in `queries` and in the forms
  chunks: u32,       // chunks a row has room for in `partials`
  angles: u32,       // FUSED: see rope.wgsl
  score_scale: f32,  // FUSED
  groups: u32,       // direct: of a row of the forms
  length: u32,       // of the only row, and where its page table begins; 0: `step` knows
  table: u32,
}
var<immediate> p: Immediates;

@group(0) @binding(0) var<storage, read> step: array<u32>;
// include: attend_input
// include: attend_output

const TILES = HEADS / KV_HEADS / TILE_HEADS;
const TILE_VALUES = TILE_HEADS * PADDED_DIM;
const SPLITS = max(THREADS / VALUE_WORDS, 1u);  // threads' shares of positions
const THREAD_WORDS = (VALUE_WORDS + THREADS - 1u) / THREADS;
const HALVES = THREADS / 64u;
const THREAD_VECTORS = (VECTORS + HALVES - 1u) / HALVES;
const THREAD_QUERIES = (TILE_VALUES / 4u + THREADS - 1u) / THREADS;
const BATCH = 8u;  // positions whose values a thread loads at a time
const NONE = -3.0e38;

var<workgroup> q: array<vec4<f32>, TILE_VALUES / 4u>;
var<workgroup> scores: array<f32, HALVES * TILE_HEADS * 64u>;
var<workgroup> weights: array<f32, TILE_HEADS * 64u>;
var<workgroup> tops: array<f32, TILE_HEADS * 16u>;
var<workgroup> sums: array<f32, TILE_HEADS * 16u>;
var<workgroup> shares: array<f32, SPLITS * TILE_VALUES>;

// Four values of a word for 8 bits, two for 16, one for 32.
fn word_values(word: u32) -> vec4<f32> {
  if (KV_BITS == 32u) {
    return vec4<f32>(bitcast<f32>(word), 0.0, 0.0, 0.0);
  }
  if (KV_BITS == 16u) {
    return vec4<f32>(unpack2x16float(word), 0.0, 0.0);
  }
  return vec4<f32>(unpack4xI8(word));
}

fn scale_word(base: u32, group: u32, position: u32) -> u32 {
  if (KV_BITS != 8u) {
    return 0u;
  }
  return page_word(base + SCALES_AT + group * 64u + position);
}

fn scale_of(word: u32, is_value: bool) -> f32 {
  if (KV_BITS != 8u) {
    return 1.0;
  }
  let pair = unpack2x16float(word);
  return select(pair.x, pair.y, is_value);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group_id.z;
  let kv_head = group_id.y / TILES;
  let first_head = kv_head * (HEADS / KV_HEADS) + (group_id.y % TILES) * TILE_HEADS;
  var length = p.length;
  var table = p.table;
  if (length == 0u) {
    let entry = (p.first_row + row) * 8u;
    length = step[entry + 2u] + 1u;
    table = step[entry + 3u];
  }
  let page_count = (length + 63u) / 64u;
  let chunk_pages = chunk_pages_of(page_count);
  let first_page = group_id.x * chunk_pages;
  if (first_page >= page_count) {
    return;
  }
  let newest = (length - 1u) % 64u;
  let at = lane % 64u;
  let half = lane / 64u;
  // The first page's keys are on their way while queries and the newest key are turned.
  var keys: array<vec4<u32>, THREAD_VECTORS>;
  var key_scales: array<u32, THREAD_VECTORS>;
  let first_base = step[table + first_page] * PAGE_WORDS + kv_head * HEAD_WORDS;
  for (var i = 0u; i < THREAD_VECTORS; i++) {  // unroll
    let vector = min(half + i * HALVES, VECTORS - 1u);
    keys[i] = page_vector(first_base / 4u + vector * 64u + at);
    key_scales[i] = scale_word(first_base, vector * 4u * PER_WORD / 32u, at);
  }
  for (var i = 0u; i < THREAD_QUERIES; i++) {  // unroll
    let at_q = i * THREADS + lane;
    if (at_q < TILE_VALUES / 4u) {
      let head = first_head + at_q / (PADDED_DIM / 4u);
      let d = at_q % (PADDED_DIM / 4u) * 4u;
      var four = vec4<f32>(0.0);
      for (var c = 0u; c < 4u; c++) {  // unroll
        four[c] = query_value(p.first_query + row, head, d + c);
      }
      q[at_q] = four;
    }
  }
  if (FUSED && first_page + chunk_pages >= page_count) {
    let last = step[table + page_count - 1u] * PAGE_WORDS + kv_head * HEAD_WORDS;
    store_newest(p.first_query + row, kv_head, last, newest, lane);
  }
  var top: array<f32, TILE_HEADS>;
  var total: array<f32, TILE_HEADS>;
  var acc: array<vec4<f32>, TILE_HEADS * THREAD_WORDS>;
  for (var g = 0u; g < TILE_HEADS; g++) {  // unroll
    top[g] = NONE;
  }
  let split = select(lane / VALUE_WORDS, 0u, VALUE_WORDS >= THREADS);
  let word = lane % VALUE_WORDS;
  workgroupBarrier();
  for (var page = first_page; page < min(first_page + chunk_pages, page_count); page++) {
    let base = step[table + page] * PAGE_WORDS + kv_head * HEAD_WORDS;
    let count = min(64u, length - page * 64u);
    let has_newest = FUSED && page + 1u == page_count;
    // Scores: a thread takes one position and its share of the vectors.
    if (page != first_page) {
      for (var i = 0u; i < THREAD_VECTORS; i++) {  // unroll
        let vector = min(half + i * HALVES, VECTORS - 1u);
        keys[i] = page_vector(base / 4u + vector * 64u + at);
        key_scales[i] = scale_word(base, vector * 4u * PER_WORD / 32u, at);
      }
    }
    if (has_newest && at == newest) {
      for (var i = 0u; i < THREAD_VECTORS; i++) {  // unroll
        let vector = min(half + i * HALVES, VECTORS - 1u);
        keys[i] = vec4<u32>(newest_word(vector * 4u), newest_word(vector * 4u + 1u),
                            newest_word(vector * 4u + 2u), newest_word(vector * 4u + 3u));
        key_scales[i] = newest_word(VALUE_WORDS * 2u + vector * 4u * PER_WORD / 32u);
      }
    }
    var s: array<f32, TILE_HEADS>;
    for (var g = 0u; g < TILE_HEADS; g++) {  // unroll
      s[g] = 0.0;
    }
    for (var i = 0u; i < THREAD_VECTORS; i++) {  // unroll
      let vector = half + i * HALVES;
      if (vector < VECTORS) {
        let scale = scale_of(key_scales[i], false);
        for (var c = 0u; c < 4u; c++) {  // unroll
          let d = (vector * 4u + c) * PER_WORD;
          let k = word_values(keys[i][c]) * scale;
          for (var g = 0u; g < TILE_HEADS; g++) {  // unroll
            let four = q[(g * PADDED_DIM + d) / 4u];
            if (KV_BITS == 8u) {
              s[g] += dot(k, four);
            } else if (KV_BITS == 16u) {
              s[g] += dot(k.xy, select(four.xy, four.zw, (c & 1u) == 1u));
            } else {
              s[g] += k.x * four[c];
            }
          }
        }
      }
    }
    for (var g = 0u; g < TILE_HEADS; g++) {  // unroll
      scores[(half * TILE_HEADS + g) * 64u + at] = s[g];
    }
    workgroupBarrier();
    // Weights: 16 threads a head, four positions each.
    let mine = lane / 16u;
    let part = lane % 16u;
    var four_scores = vec4<f32>(NONE);
    if (mine < TILE_HEADS) {
      for (var i = 0u; i < 4u; i++) {  // unroll
        let position = part * 4u + i;
        var score = 0.0;
        for (var h = 0u; h < HALVES; h++) {  // unroll
          score += scores[(h * TILE_HEADS + mine) * 64u + position];
        }
        four_scores[i] = select(NONE, score, position < count);
      }
      tops[mine * 16u + part] =
          max(max(four_scores.x, four_scores.y), max(four_scores.z, four_scores.w));
    }
    workgroupBarrier();
    var shrink: array<f32, TILE_HEADS>;
    for (var g = 0u; g < TILE_HEADS; g++) {  // unroll
      var highest = top[g];
      for (var i = 0u; i < 16u; i++) {
        highest = max(highest, tops[g * 16u + i]);
      }
      shrink[g] = exp(top[g] - highest);
      top[g] = highest;
    }
    if (mine < TILE_HEADS) {
      var highest = NONE;
      for (var g = 0u; g < TILE_HEADS; g++) {  // unroll
        highest = select(highest, top[g], g == mine);
      }
      var sum = 0.0;
      for (var i = 0u; i < 4u; i++) {  // unroll
        let position = part * 4u + i;
        let weight = select(0.0, exp(four_scores[i] - highest), position < count);
        weights[mine * 64u + position] = weight;
        sum += weight;
      }
      sums[mine * 16u + part] = sum;
    }
    workgroupBarrier();
    for (var g = 0u; g < TILE_HEADS; g++) {  // unroll
      var sum = 0.0;
      for (var i = 0u; i < 16u; i++) {
        sum += sums[g * 16u + i];
      }
      total[g] = total[g] * shrink[g] + sum;
    }
    // Values: a thread takes its words of a value and its share of the positions.
    for (var t = 0u; t < THREAD_WORDS; t++) {  // unroll
      for (var g = 0u; g < TILE_HEADS; g++) {  // unroll
        acc[g * THREAD_WORDS + t] *= shrink[g];
      }
      let own = word + t * THREADS;
      if (own < VALUE_WORDS && split < SPLITS) {
        let group = own * PER_WORD / 32u;
        for (var first = split; first < count; first += SPLITS * BATCH) {
          var words: array<u32, BATCH>;
          var value_scales: array<u32, BATCH>;
          for (var b = 0u; b < BATCH; b++) {  // unroll
            let position = min(first + b * SPLITS, count - 1u);
            words[b] = page_word(base + VALUES_AT + position * VALUE_WORDS + own);
            value_scales[b] = scale_word(base, group, position);
            if (has_newest && position == newest) {
              words[b] = newest_word(VALUE_WORDS + own);
              value_scales[b] = newest_word(VALUE_WORDS * 2u + group);
            }
          }
          for (var b = 0u; b < BATCH; b++) {  // unroll
            let position = first + b * SPLITS;
            if (position < count) {
              let v = word_values(words[b]) * scale_of(value_scales[b], true);
              for (var g = 0u; g < TILE_HEADS; g++) {  // unroll
                acc[g * THREAD_WORDS + t] += v * weights[g * 64u + position];
              }
            }
          }
        }
      }
    }
  }
  for (var t = 0u; t < THREAD_WORDS; t++) {  // unroll
    let own = word + t * THREADS;
    if (own < VALUE_WORDS && split < SPLITS) {
      for (var g = 0u; g < TILE_HEADS; g++) {  // unroll
        for (var i = 0u; i < PER_WORD; i++) {  // unroll
          shares[split * TILE_VALUES + g * PADDED_DIM + own * PER_WORD + i] =
              acc[g * THREAD_WORDS + t][i];
        }
      }
    }
  }
  if (lane == 0u) {
    for (var g = 0u; g < TILE_HEADS; g++) {  // unroll
      tops[g] = top[g];
      sums[g] = total[g];
    }
  }
  workgroupBarrier();
  write_output(row, group_id.x, first_head, lane);
}
