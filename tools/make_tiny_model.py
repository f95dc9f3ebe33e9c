#!/usr/bin/env python3
"""Writes tiny llama-architecture GGUF models with float reference logits, and quant-block fixtures.

    python3 -m pip install gguf==0.19.0 numpy
    python3 tools/make_tiny_model.py tests/data/tiny        # what the C++ tests need, committed
    python3 tools/make_tiny_model.py --all build/tiny       # that and the larger shapes, 30 MB
    python3 tools/make_tiny_model.py --only f32 build/tiny  # one model

Beside each NAME.gguf stands NAME.json with a fixed token sequence and the logits at every position,
from an independent forward pass in numpy (float64 arithmetic on the float32 weights that
gguf.quants.dequantize gives, printed with 7 digits). blocks_TYPE.raw and blocks_TYPE.f32 are random
blocks of one weight type and the float32 values that gguf.quants.dequantize gives for them.

Every number comes from a seeded generator, so the same versions write the same bytes. Formats:
tests/data/tiny/README.md.
"""
import argparse
import dataclasses
import json
import pathlib
import zlib

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import quants

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content']"
    " + '<|im_end|>' + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
CONTROLS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
# Each merge's parts are single bytes or results of earlier merges.
MERGES = [
    "Ġ t", "h e", "i n", "Ġt he", "Ġ a", "e r", "o n", "r e", "Ġ s", "a t", "e n", "Ġ o", "o r",
    "Ġ c", "i s", "Ġ w", "o u", "l l", "a n", "Ġo f", "in g", "e d", "Ġ f", "Ġ p", "Ġ b", "Ġ m",
    "a l", "Ġa n", "Ġan d", "i t", "Ġ in", "H e", "He ll", "Hell o", "w or", "wor l", "worl d",
    "Ġwor ld", "l d",
]
TOKEN_COUNT = 10


@dataclasses.dataclass(frozen=True)
class Spec:
    """One model. `types` maps a tensor's short name to its type; "*" is the rest, norms are F32."""

    name: str
    types: dict
    width: int
    heads: int
    kv_heads: int
    head_size: int
    feed_forward: int
    layers: int = 1
    vocabulary: int = 263
    tied: bool = True
    rope_base: float = 10000.0
    rope_factors: bool = False  # Llama 3.1's rope_freqs.weight
    epsilon: float = 1e-5
    committed: bool = True


def one(kind, **others):
    return {"*": kind, **others}


def k_model(kind, **others):
    """A K-quant model; blocks of 256 fit its width, feed-forward and heads."""
    shape = dict(width=256, heads=4, kv_heads=1, head_size=64, feed_forward=256, committed=False)
    return Spec(kind.name.lower(), one(kind), **{**shape, **others})


MIX_K = dict(embed=Type.Q6_K, q=Type.Q2_K, k=Type.Q3_K, v=Type.Q4_K, o=Type.Q5_K, gate=Type.Q6_K,
             up=Type.Q4_K, down=Type.Q3_K)

SPECS = [
    # Committed: every type, every head ratio (1, 3, 4, 7), every head size, tied and untied.
    Spec("f32", one(Type.F32), 36, 1, 1, 64, 84, vocabulary=257, tied=False),
    Spec("f16", one(Type.F16), 40, 4, 1, 80, 56, rope_base=500000.0),
    Spec("bf16", one(Type.BF16), 40, 2, 2, 96, 56, tied=False, epsilon=1e-6),
    Spec("q4_0", one(Type.Q4_0), 96, 3, 1, 64, 160, layers=2, rope_base=100000.0),
    Spec("q4_1", one(Type.Q4_1), 64, 7, 1, 64, 96, vocabulary=267),
    Spec("q5_0", one(Type.Q5_0), 64, 4, 1, 80, 160, vocabulary=271),
    Spec("q5_1", one(Type.Q5_1), 96, 3, 1, 96, 64, tied=False, vocabulary=289),
    Spec("q8_0", one(Type.Q8_0), 64, 2, 2, 128, 96, epsilon=1e-6),
    Spec("mix_k", MIX_K, 256, 4, 1, 64, 256, tied=True),
    # With --all: each K type alone and the shapes that are too large to commit.
    *[k_model(t) for t in (Type.Q2_K, Type.Q3_K, Type.Q4_K, Type.Q5_K, Type.Q6_K)],
    Spec("q4_k_wide", one(Type.Q4_K, embed=Type.Q6_K), 768, 6, 2, 128, 1280, layers=2, tied=True,
         vocabulary=298, committed=False),
    Spec("q4_0_ratio7", one(Type.Q4_0, output=Type.Q6_K), 256, 14, 2, 128, 352, layers=2,
         tied=False, committed=False),
    Spec("q8_0_576", one(Type.Q8_0), 576, 9, 3, 64, 1536, layers=2, committed=False),
    Spec("f16_vocab49153", one(Type.F16), 64, 3, 1, 80, 160, vocabulary=49153, committed=False),
    Spec("q8_0_vocab32001", one(Type.Q8_0), 64, 4, 4, 96, 96, vocabulary=32001, tied=False,
         committed=False),
    Spec("f32_rope_factors", one(Type.F32), 48, 4, 2, 64, 80, rope_factors=True,
         rope_base=500000.0, committed=False),
]

READ_TYPES = [Type.F32, Type.F16, Type.BF16, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0,
              Type.Q2_K, Type.Q3_K, Type.Q4_K, Type.Q5_K, Type.Q6_K]

# Byte offset of the f16 scale and min in a block, and how far the min has to exceed the scale for
# values around zero (half of scale * code at mid-range against min * min code).
K_LAYOUT = {Type.Q2_K: (80, 82, 1.5), Type.Q3_K: (108, None, 0), Type.Q4_K: (0, 2, 7.5),
            Type.Q5_K: (0, 2, 15.5), Type.Q6_K: (208, None, 0)}


def rng_for(*words):
    """A generator per purpose, so that adding one thing changes no other."""
    return np.random.default_rng(zlib.crc32("/".join(map(str, words)).encode()))


def put_f16(blocks, offset, values):
    blocks[:, offset:offset + 2] = values.astype("<f2").view(np.uint8).reshape(-1, 2)


def random_k_blocks(rng, kind, count, scale):
    """Valid random blocks; `scale` is the mean of the f16 scale (log-uniform within 4x)."""
    blocks = rng.integers(0, 256, (count, gguf.GGML_QUANT_SIZES[kind][1]), dtype=np.uint8)
    d_offset, min_offset, min_ratio = K_LAYOUT[kind]
    d = scale * np.exp2(rng.uniform(-1, 1, count))
    put_f16(blocks, d_offset, d)
    if min_offset is not None:
        put_f16(blocks, min_offset, d * min_ratio)
    return blocks


def make_matrix(rng, kind, rows, columns, deviation):
    """Raw array for the writer and its float32 values [rows, columns]."""
    if kind in K_LAYOUT:
        count = rows * columns // 256
        unit = quants.dequantize(random_k_blocks(rng_for("unit", kind), kind, 256, 0.01), kind)
        raw = random_k_blocks(rng, kind, count, 0.01 * deviation / unit.std()).reshape(rows, -1)
        return raw, quants.dequantize(raw, kind)
    values = (rng.standard_normal((rows, columns)) * deviation).astype(np.float32)
    if kind == Type.F32:
        return values, values
    if kind == Type.F16:
        return values.astype(np.float16), values.astype(np.float16).astype(np.float32)
    raw = quants.quantize(values, kind)
    return raw, quants.dequantize(raw, kind)


def shapes_of(spec):
    """Short name -> (full name, rows, columns) of the matrices of one layer."""
    q, kv = spec.heads * spec.head_size, spec.kv_heads * spec.head_size
    return {
        "q": ("attn_q", q, spec.width), "k": ("attn_k", kv, spec.width),
        "v": ("attn_v", kv, spec.width), "o": ("attn_output", spec.width, q),
        "gate": ("ffn_gate", spec.feed_forward, spec.width),
        "up": ("ffn_up", spec.feed_forward, spec.width),
        "down": ("ffn_down", spec.width, spec.feed_forward),
    }


def make_tensors(spec):
    """Name -> (raw array, type, float32 values), in the order in which converters write them."""
    tensors = {}

    def matrix(short, name, rows, columns, deviation):
        kind = spec.types.get(short, spec.types.get("*"))
        rng = rng_for(spec.name, name)
        raw, values = make_matrix(rng, kind, rows, columns, deviation)
        tensors[name] = (raw, kind, values)

    def norm(name):
        values = (1 + 0.1 * rng_for(spec.name, name).standard_normal(spec.width)).astype(np.float32)
        tensors[name] = (values, Type.F32, values)

    # Logits get a deviation of about 3, so that the argmax has a margin.
    head_deviation = 3 / spec.width ** 0.5
    matrix("embed", "token_embd.weight", spec.vocabulary, spec.width,
           head_deviation if spec.tied else 1.0)
    for layer in range(spec.layers):
        norm(f"blk.{layer}.attn_norm.weight")
        for short, (name, rows, columns) in shapes_of(spec).items():
            if short == "gate":
                norm(f"blk.{layer}.ffn_norm.weight")
            matrix(short, f"blk.{layer}.{name}.weight", rows, columns, columns ** -0.5)
    norm("output_norm.weight")
    if not spec.tied:
        matrix("output", "output.weight", spec.vocabulary, spec.width, head_deviation)
    if spec.rope_factors:
        factors = np.linspace(1, 8, spec.head_size // 2).astype(np.float32)
        tensors["rope_freqs.weight"] = (factors, Type.F32, factors)
    return tensors


def byte_letters():
    """GPT-2's printable letter for each byte."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, extra = {b: chr(b) for b in kept}, 0
    for byte in range(256):
        if byte not in letters:
            letters[byte], extra = chr(256 + extra), extra + 1
    return [letters[b] for b in range(256)]


def make_vocabulary(size):
    """Control tokens, 256 bytes, merged tokens, then unused ones up to `size`."""
    controls = CONTROLS if size >= 259 else CONTROLS[:1]
    tokens = [*controls, *byte_letters()]
    merges = MERGES[:max(0, size - len(tokens))]
    merges = [m for m in merges if m != "Ġwor ld"]
    tokens += [m.replace(" ", "") for m in merges]
    kinds = [gguf.TokenType.CONTROL] * len(controls)
    kinds += [gguf.TokenType.NORMAL] * (len(tokens) - len(kinds))
    unused = [f"[unused{i}]" for i in range(size - len(tokens))]
    return tokens + unused, kinds + [gguf.TokenType.UNUSED] * len(unused), merges


def write_model(spec, tensors, path):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(f"qualia tiny {spec.name}")
    writer.add_block_count(spec.layers)
    writer.add_context_length(256)
    writer.add_embedding_length(spec.width)
    writer.add_feed_forward_length(spec.feed_forward)
    writer.add_head_count(spec.heads)
    writer.add_head_count_kv(spec.kv_heads)
    writer.add_key_length(spec.head_size)
    writer.add_value_length(spec.head_size)
    writer.add_layer_norm_rms_eps(spec.epsilon)
    writer.add_rope_freq_base(spec.rope_base)
    writer.add_rope_dimension_count(spec.head_size)
    writer.add_vocab_size(spec.vocabulary)
    tokens, kinds, merges = make_vocabulary(spec.vocabulary)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    if merges:
        writer.add_token_merges(merges)
    chat = "<|im_end|>" in tokens
    writer.add_bos_token_id(1 if chat else 0)
    writer.add_eos_token_id(2 if chat else 0)
    writer.add_add_bos_token(False)
    if chat:
        writer.add_chat_template(CHATML)
    for name, (raw, kind, _) in tensors.items():
        writer.add_tensor(name, raw, raw_dtype=None if raw.dtype != np.uint8 else kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def rms_norm(x, gain, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * gain


def rope(x, base, factors):
    """x [positions, heads, head size]; rotates the pairs (0, 1), (2, 3), ... (llama's order)."""
    half = x.shape[-1] // 2
    angle = np.arange(x.shape[0])[:, None] * base ** (-np.arange(half) / half) / factors
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    even, odd = x[..., 0::2], x[..., 1::2]
    out = np.empty_like(x)
    out[..., 0::2], out[..., 1::2] = even * cos - odd * sin, even * sin + odd * cos
    return out


def attention(q, k, v):
    """Causal; q [n, heads, size], k and v [n, kv heads, size] -> [n, heads * size]."""
    count, heads, size = q.shape
    k, v = (np.repeat(a, heads // a.shape[1], axis=1) for a in (k, v))
    scores = np.einsum("ihd,jhd->hij", q, k) / size ** 0.5
    scores[:, np.triu(np.ones((count, count), bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("hij,jhd->ihd", weights, v).reshape(count, -1)


def forward(spec, tensors, tokens):
    weight = {name: values.astype(np.float64) for name, (_, _, values) in tensors.items()}
    factors = weight.get("rope_freqs.weight", 1.0)
    x = weight["token_embd.weight"][tokens]
    for layer in range(spec.layers):
        w = {short: weight[f"blk.{layer}.{name}.weight"].T
             for short, (name, _, _) in shapes_of(spec).items()}
        h = rms_norm(x, weight[f"blk.{layer}.attn_norm.weight"], spec.epsilon)
        q, k, v = ((h @ w[s]).reshape(len(tokens), -1, spec.head_size) for s in "qkv")
        q, k = rope(q, spec.rope_base, factors), rope(k, spec.rope_base, factors)
        x = x + attention(q, k, v) @ w["o"]
        h = rms_norm(x, weight[f"blk.{layer}.ffn_norm.weight"], spec.epsilon)
        gate = h @ w["gate"]
        x = x + (gate / (1 + np.exp(-gate)) * (h @ w["up"])) @ w["down"]
    x = rms_norm(x, weight["output_norm.weight"], spec.epsilon)
    return x @ weight.get("output.weight", weight["token_embd.weight"]).T


def reference_of(spec, tensors):
    # The first and the last id are edges of the embedding and always fed.
    middle = rng_for(spec.name, "tokens").integers(0, spec.vocabulary, TOKEN_COUNT - 2).tolist()
    tokens = [0, *middle, spec.vocabulary - 1]
    logits = forward(spec, tensors, tokens)
    top = np.sort(logits, axis=-1)
    # A large vocabulary's logits are thinned out, the file stays small: every stride-th id is kept.
    stride = max(1, spec.vocabulary // 1000)
    return {
        "model": f"{spec.name}.gguf",
        "width": spec.width, "heads": spec.heads, "kv_heads": spec.kv_heads,
        "head_size": spec.head_size, "feed_forward": spec.feed_forward, "layers": spec.layers,
        "vocabulary": spec.vocabulary, "tied": spec.tied,
        "tokens": tokens,
        "argmax": logits.argmax(-1).tolist(),
        "margin": [float(f"{m:.7g}") for m in top[:, -1] - top[:, -2]],
        "logit_stride": stride,
        "logits": [[float(f"{v:.7g}") for v in row[::stride]] for row in logits],
    }


def write_json(path, document):
    """One logits row a line."""
    rows = document.pop("logits")
    head = json.dumps(document, indent=None)[:-1]
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    path.write_text(f'{head},\n"logits": [\n{lines}\n]}}\n')


def write_model_files(folder, spec):
    tensors = make_tensors(spec)
    write_model(spec, tensors, folder / f"{spec.name}.gguf")
    write_json(folder / f"{spec.name}.json", reference_of(spec, tensors))


def fixture_blocks(kind):
    """Random raw blocks of a type, with every byte value allowed but NaN and infinity."""
    rng = rng_for("blocks", kind.name)
    if kind == Type.F32:
        values = rng.standard_normal((4, 64)) * np.exp2(rng.integers(-30, 30, (4, 64)))
        return values.astype("<f4")
    if kind in (Type.F16, Type.BF16):
        bits = rng.integers(0, 1 << 16, 256, dtype=np.uint16)
        bits[:6] = [0, 0x8000, 1, 0x8001, 0x03FF, 0x0400]  # zeros, subnormals, the least normal
        exponent = 0x7C00 if kind == Type.F16 else 0x7F80
        bits[(bits & exponent) == exponent] &= np.uint16(0x807F)
        bits = bits.astype("<u2")
        return bits.view("<f2") if kind == Type.F16 else bits.view(np.uint8).reshape(1, -1)
    size_bytes = gguf.GGML_QUANT_SIZES[kind][1]
    count = 16 if kind not in K_LAYOUT else 6
    blocks = rng.integers(0, 256, (count, size_bytes), dtype=np.uint8)
    scale_offsets = [o for o in K_LAYOUT[kind][:2] if o is not None] if kind in K_LAYOUT else (
        [0, 2] if kind in (Type.Q4_1, Type.Q5_1) else [0])
    for offset in scale_offsets:
        sign = rng.choice([-1.0, 1.0], count)
        put_f16(blocks, offset, sign * np.exp2(rng.uniform(-14, 4, count)))
    return blocks


def write_fixture(folder, kind):
    raw = fixture_blocks(kind)
    values = quants.dequantize(raw, kind).astype("<f4")
    name = f"blocks_{kind.name.lower()}"
    (folder / f"{name}.raw").write_bytes(raw.tobytes())
    (folder / f"{name}.f32").write_bytes(values.tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--all", action="store_true", help="the larger models too")
    parser.add_argument("--only", metavar="NAME", help="one model, no fixtures")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    specs = [s for s in SPECS if (options.only == s.name if options.only else
                                  options.all or s.committed)]
    if not specs:
        parser.error(f"no model '{options.only}': {', '.join(s.name for s in SPECS)}")
    for spec in specs:
        write_model_files(options.folder, spec)
    if not options.only:
        for kind in READ_TYPES:
            write_fixture(options.folder, kind)


if __name__ == "__main__":
    main()
