// Included: where a KV page keeps things. A page of a layer is, per kv head, keys, values and (INT8)
// scales, in 32-bit words:
//   keys    [vectors][64 positions] vec4<u32>: 16 bytes of a position's key side by side
//   values  [64 positions][words of a value]
//   scales  [groups of 32][64 positions] u32: the key's step low, the value's high, as binary16
override HEAD_DIM: u32 = 64u;
override PADDED_DIM: u32 = 64u;  // whole 16-byte vectors
override KV_BITS: u32 = 8u;      // 8, 16 or 32 a value
override KV_HEADS: u32 = 1u;

const PER_WORD = 32u / KV_BITS;
const VECTORS = PADDED_DIM / (4u * PER_WORD);
const VALUE_WORDS = PADDED_DIM / PER_WORD;
const GROUPS = (HEAD_DIM + 31u) / 32u;
const VALUES_AT = VALUE_WORDS * 64u;
const SCALES_AT = VALUES_AT * 2u;
const HEAD_WORDS = SCALES_AT + select(0u, GROUPS * 64u, KV_BITS == 8u);
const PAGE_WORDS = HEAD_WORDS * KV_HEADS;
