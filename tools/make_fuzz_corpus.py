#!/usr/bin/env python3
"""Writes the seed corpus of the GGUF fuzzer.

    python3 tools/make_fuzz_corpus.py fuzz/corpus/gguf

Small sound files that reach each part of the reader (every value type, nested arrays, alignment,
each block geometry, split keys) and some broken ones. Needs nothing but Python; the same bytes
every time.
"""
import pathlib
import struct
import sys

STRING, ARRAY = 8, 9
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q",
           11: "<q", 12: "<d"}
# Type id -> elements and bytes of a block.
BLOCKS = {0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
          10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 30: (1, 2)}


def text(value):
    return struct.pack("<Q", len(value)) + value


def value(kind, item):
    if kind == STRING:
        return text(item)
    if kind == ARRAY:
        inner, items = item
        head = struct.pack("<IQ", inner, len(items))
        return head + b"".join(value(inner, one) for one in items)
    return struct.pack(SCALARS[kind], item)


def pair(key, kind, item):
    return text(key) + struct.pack("<I", kind) + value(kind, item)


def model(pairs=(), tensors=(), version=3, alignment=32):
    """`tensors`: (name, dims, type id)."""
    directory, data = b"", b""
    for name, dims, kind in tensors:
        entry = struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, len(data))
        directory += text(name) + entry
        size = BLOCKS[kind][1]
        for i, dim in enumerate(dims):
            size *= dim // BLOCKS[kind][0] if i == 0 else dim
        data += bytes(i % 251 for i in range(size)) + bytes(-size % alignment)
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs))
    head += b"".join(pairs) + directory
    return head + (bytes(-len(head) % alignment) + data if tensors else b"")


def seeds():
    scalars = [pair(b"s%d" % kind, kind, 1) for kind in SCALARS]
    arrays = [pair(b"a%d" % kind, ARRAY, (kind, [0, 1, 1])) for kind in SCALARS]
    words = pair(b"tokenizer.ggml.tokens", ARRAY, (STRING, [b"<s>", b"a", b""]))
    nested = pair(b"n", ARRAY, (ARRAY, [(ARRAY, [(STRING, [b"x"])]), (0, [1, 2])]))
    split = [pair(b"split.no", 2, 0), pair(b"split.count", 2, 1)]
    split.append(pair(b"split.tensors.count", 5, 2))
    two = [(b"token_embd.weight", (32, 2), 0), (b"blk.0.attn_norm.weight", (32,), 0)]
    sound = model([pair(b"general.architecture", STRING, b"llama")], two)
    yield "empty", model()
    yield "scalars", model(scalars)
    yield "arrays", model(arrays)
    yield "strings_nested", model([words, nested])
    yield "two_tensors", sound
    yield "version_2", model([words], two, version=2)
    yield "alignment_8", model([pair(b"general.alignment", 4, 8)], two, alignment=8)
    yield "split_of_one", model(split, two)
    yield "types", model([], [(b"t%d" % kind, (BLOCKS[kind][0], 1, 2), kind) for kind in BLOCKS])
    yield "cut", sound[:-1]
    yield "duplicate_key", model([words, words])
    yield "overlap", sound.replace(struct.pack("<IQ", 0, 256), struct.pack("<IQ", 0, 32))
    yield "big_endian", b"GGUF" + struct.pack(">IQQ", 3, 0, 0)
    yield "huge_counts", b"GGUF" + struct.pack("<IQQ", 3, 1 << 63, 1 << 63)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
