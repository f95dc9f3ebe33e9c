#!/usr/bin/env python3
"""Malformed and hostile GGUF files, and what the program makes of them.

By hand: QUALIA_PROGRAM=build/release/bin/qualia python3 tests/end_to_end/hostile.py prints a table:
a row a file and command, with its status, time, memory beyond that of a sound file, and its words.
"""

import pathlib
import resource
import sys
import tempfile

from gguf_bytes import BOOL, I32, STRING, U32, U64, Gguf, i32s, string, strings, u32, u64
from program import MODEL, run

F32 = 6
TOKENS = "tokenizer.ggml.tokens"
SECONDS_MAX = 2
GROWTH_KIB_MAX = 64 * 1024
INSPECT, RUN, TOKENIZE = "inspect", "run", "tokenize"
COMMANDS = {
    INSPECT: lambda path: ("inspect", path),
    RUN: lambda path: ("run", "-m", path, "-p", "Hi", "-n", "2", "-q"),
    TOKENIZE: lambda path: ("tokenize", "-m", path, "Hi"),
}
EVERY = tuple(COMMANDS)


class Case:
    """A file of one row; `refused`: the commands that must fail; `words`: what their line names."""

    def __init__(self, row, title, raw, refused=EVERY, words=(), name="case.gguf", writer=None):
        self.row, self.title, self.raw, self.refused = row, title, raw, refused
        self.words, self.name, self.writer = words, name, writer

    def write(self, folder):
        path = folder / self.name
        if self.writer:
            self.writer(path)
        else:
            path.write_bytes(self.raw)
        return path


def tiny():
    return Gguf.read(MODEL)


def header(tensors, pairs, magic=b"GGUF", version=3):
    return magic + u32(version) + u64(tensors) + u64(pairs)


def one_tensor(dims, type_id, offset=0, data=b"\0" * 8192):
    file = Gguf()
    file.set("general.architecture", STRING, string("llama"))
    file.tensors, file.data = [["t", dims, type_id, offset]], data
    return file


def headers():
    whole = MODEL.read_bytes()
    for raw in (b"", b"GGUF", whole[:8], whole[:23], whole[:24]):
        yield Case("G01", f"{len(raw)} bytes", raw)
    yield Case("G02", "magic FUGG", b"FUGG" + whole[4:], words=("FUGG",))
    for version in (0, 1, 4):
        yield Case(
            "G02",
            f"version {version}",
            b"GGUF" + u32(version) + whole[8:],
            words=(f"ersion {version}",),
        )
    big, half = 2**64 - 1, 2**63
    for tensors, pairs in ((big, 0), (0, big), (half, half)):
        yield Case("G04", f"{tensors} tensors, {pairs} pairs", header(tensors, pairs))
    yield Case("G07", "empty key", tiny().set("", U32, u32(1)).bytes())
    yield Case("G07", "key of 65536 bytes", tiny().set("k" * 65536, U32, u32(1)).bytes())
    twice = tiny()
    twice.pairs.append(["llama.block_count", U32, u32(7)])
    yield Case("G08", "a key twice", twice.bytes(), words=("llama.block_count",))
    twice = tiny()
    twice.tensors[2][0] = twice.tensors[1][0]
    yield Case("G08", "a tensor twice", twice.bytes(), words=(twice.tensors[1][0],))


def directories():
    file = one_tensor([0x7FFFFFFFFFFFFFC0], 24)
    file.tensors.append(["u", [0x7FFFFFFFFFFFFFC0], 24, 0])
    yield Case("G11", "sizes that wrap", file.bytes())
    for dims in (5, 9, 1_000_000, 0xFFFFFFFF):
        file = one_tensor([32], 0)
        raw = (
            file.head()[: -len(u32(1) + u64(32) + u32(0) + u64(0))]
            + u32(dims)
            + u64(1) * min(dims, 16)
        )
        yield Case("G12", f"{dims} dimensions", raw + b"\0" * 4096, words=(str(dims),))
    for kind, raw in (
        (I32, u32(32)),
        (U64, u64(32)),
        (F32, u32(0x42000000)),
        (BOOL, b"\1"),
        (STRING, string("32")),
    ):
        file = tiny().set("general.alignment", kind, raw)
        yield Case(
            "G14", f"alignment of type {kind}", file.bytes(), refused=None, words=("alignment",)
        )
    for value in (0, 3, 0xFFFFFFFF):
        yield Case(
            "G14",
            f"alignment {value}",
            tiny().set("general.alignment", U32, u32(value)).bytes(),
            words=("alignment",),
        )
    for extra in (len(MODEL.read_bytes()), 2**64 - 32):
        file = tiny()
        file.tensors[-1][3] = (file.tensors[-1][3] + extra) % 2**64 if extra < 2**63 else extra
        yield Case("G15", f"offset + {extra}", file.bytes(), words=(file.tensors[-1][0],))
    whole, data = MODEL.read_bytes(), len(MODEL.read_bytes()) - len(tiny().data)
    for size in (len(whole) - 1, len(whole) // 2, data):
        yield Case("G16", f"cut to {size} bytes", whole[:size])
    for type_id in (4, 5, 36, 200, 0xFFFFFFFF):
        yield Case(
            "G24",
            f"tensor type {type_id}",
            one_tensor([32, 32], type_id).bytes(),
            words=(str(type_id),),
        )


def vocabularies():
    # The file is sound, so inspect shows it; who reads the vocabulary refuses.
    readers = (RUN, TOKENIZE)
    for text in ("<0x-1>", "<0xZZ>", "<0x100>", "<0x>"):
        file = tiny().set("tokenizer.ggml.model", STRING, string("llama"))
        file.set(TOKENS, 9, strings(["<unk>", "<s>", "</s>", text]))
        file.set("tokenizer.ggml.token_type", 9, i32s([2, 3, 3, 6]))
        yield Case("G18", f"byte token {text}", file.bytes(), refused=readers)
    for title, pairs in (
        ("bos 1, eos 2 of one token", (("bos", 1), ("eos", 2))),
        ("bos 2^32-1", (("bos", 2**32 - 1),)),
        ("pad = size", (("padding", 1),)),
    ):
        file = tiny().set(TOKENS, 9, strings(["a"])).set("tokenizer.ggml.token_type", 9, i32s([1]))
        file.remove("tokenizer.ggml.merges").remove("tokenizer.ggml.bos_token_id")
        file.remove("tokenizer.ggml.eos_token_id")
        for name, value in pairs:
            file.set(f"tokenizer.ggml.{name}_token_id", U32, u32(value))
        yield Case("G19", title, file.bytes(), refused=(TOKENIZE, RUN), words=(str(pairs[0][1]),))

    def sparse(path):
        file = Gguf()
        head = (
            file.magic + u32(3) + u64(0) + u64(1) + string(TOKENS) + u32(9) + u32(STRING) + u64(1)
        )
        with open(path, "wb") as sink:
            sink.write(head + u64(2**31 + 8))
            sink.truncate(len(head) + 8 + 2**31 + 8)

    yield Case("G23", "a piece of 2^31+8 bytes", None, writer=sparse, refused=None)
    file = tiny()
    names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "x" * (1 << 20)]
    file.set(TOKENS, 9, strings(names)).set("tokenizer.ggml.token_type", 9, i32s([3, 3, 3, 1]))
    file.remove("tokenizer.ggml.merges")
    yield Case("G23", "a piece of 1 MiB", file.bytes(), refused=None)
    raw = tiny().head()
    yield Case(
        "G23", "an end inside the 2nd pair", raw[: 24 + len(string("general.architecture")) + 30]
    )


def models():
    for key in (
        "attention.head_count",
        "attention.head_count_kv",
        "block_count",
        "embedding_length",
        "context_length",
    ):
        yield Case(
            "G20",
            f"{key} 0",
            tiny().set(f"llama.{key}", U32, u32(0)).bytes(),
            refused=(RUN,),
            words=(key.split(".")[-1],),
        )
    yield Case(
        "G20",
        "context_length 2^32-1",
        tiny().set("llama.context_length", U32, u32(2**32 - 1)).bytes(),
        refused=None,
    )

    def split(number, count, count_type=2):
        file = tiny()
        size = 2 if count_type == 2 else 4
        file.set("split.no", count_type, number.to_bytes(size, "little"))
        file.set("split.count", count_type, count.to_bytes(size, "little"))
        return file.set("split.tensors.count", I32, u32(11)).bytes()

    yield Case(
        "G22",
        "its sibling is missing",
        split(0, 2),
        name="m-00001-of-00002.gguf",
        words=("00002-of-00002",),
    )
    yield Case(
        "G22", "two parts glued", split(0, 2) + split(1, 2), name="glued-00001-of-00002.gguf"
    )
    yield Case("G22", "65535 parts", split(0, 65535), words=("65535",))
    yield Case("G22", "part 3 of 2", split(2, 2), name="m-00003-of-00002.gguf", words=("2",))


def cases():
    for part in (headers, directories, vocabularies, models):
        yield from part()


def measure(folder):
    """Yields (case, command, refused, Done, growth in KiB over a sound file).

    The system counts the memory of the process that starts another towards the other's peak, so
    what is below this process's own peak (about 20 MiB) can't be seen.
    """
    idle = {command: run(*make(MODEL)).rss_kib for command, make in COMMANDS.items()}
    for case in cases():
        path = case.write(folder)
        for command, make in COMMANDS.items():
            done = run(*make(path))
            refused = None if case.refused is None else command in case.refused
            own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            yield case, command, refused, done, max(done.rss_kib - max(idle[command], own), 0)
        path.unlink()


def main():
    print(
        "| row | file | command | status | ms | growth KiB | says |\n|---|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as name:
        for case, command, _, done, growth in measure(pathlib.Path(name)):
            says = done.err.strip().replace(name + "/", "") or done.out[:40].decode(
                "utf-8", "replace"
            )
            says = says.replace("\n", " / ").replace("|", "\\|")[:200]
            cost = f"{done.seconds * 1000:.0f} | {growth}"
            print(f"| {case.row} | {case.title} | {command} | {done.status} | {cost} | {says} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
