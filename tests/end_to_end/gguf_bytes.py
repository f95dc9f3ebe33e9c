"""GGUF files as lists of raw pairs and tensors: read, changed, written as they are told."""

import struct

U32, I32, F32, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


def u32(value):
    return struct.pack("<I", value)


def u64(value):
    return struct.pack("<Q", value)


def string(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return u64(len(raw)) + raw


def strings(texts):
    return u32(STRING) + u64(len(texts)) + b"".join(string(text) for text in texts)


def i32s(values):
    return u32(I32) + u64(len(values)) + struct.pack(f"<{len(values)}i", *values)


class Gguf:
    def __init__(self):
        self.magic, self.version, self.alignment = b"GGUF", 3, 32
        self.pairs = []  # [key, type id, value bytes]
        self.tensors = []  # [name, dims, type id, offset]
        self.data = b""
        self.pair_count = self.tensor_count = None  # what the header says; None: the truth

    @classmethod
    def read(cls, path):
        return _Reader(path.read_bytes()).file()

    def set(self, key, type_id, raw):
        for pair in self.pairs:
            if pair[0] == key:
                pair[1:] = [type_id, raw]
                return self
        self.pairs.append([key, type_id, raw])
        return self

    def remove(self, key):
        self.pairs = [pair for pair in self.pairs if pair[0] != key]
        return self

    def head(self):
        pair_count = len(self.pairs) if self.pair_count is None else self.pair_count
        tensor_count = len(self.tensors) if self.tensor_count is None else self.tensor_count
        parts = [self.magic, u32(self.version), u64(tensor_count), u64(pair_count)]
        parts += [string(key) + u32(type_id) + raw for key, type_id, raw in self.pairs]
        parts += [
            string(name) + u32(len(dims)) + b"".join(map(u64, dims)) + u32(type_id) + u64(offset)
            for name, dims, type_id, offset in self.tensors
        ]
        return b"".join(parts)

    def bytes(self):
        head = self.head()
        return head + b"\0" * (-len(head) % self.alignment) + self.data


class _Reader:
    def __init__(self, raw):
        self.raw, self.at = raw, 0

    def take(self, size):
        self.at += size
        return self.raw[self.at - size : self.at]

    def number(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize(form)))[0]

    def value(self, type_id):
        begin = self.at
        if type_id == STRING:
            self.take(self.number("Q"))
        elif type_id == ARRAY:
            element, count = self.number("I"), self.number("Q")
            for _ in range(count):
                self.value(element)
        else:
            self.take(SIZES[type_id])
        return self.raw[begin : self.at]

    def file(self):
        made = Gguf()
        made.magic, made.version = self.take(4), self.number("I")
        tensor_count, pair_count = self.number("Q"), self.number("Q")
        for _ in range(pair_count):
            key = self.take(self.number("Q")).decode()
            type_id = self.number("I")
            made.pairs.append([key, type_id, self.value(type_id)])
        for _ in range(tensor_count):
            name = self.take(self.number("Q")).decode()
            dims = [self.number("Q") for _ in range(self.number("I"))]
            made.tensors.append([name, dims, self.number("I"), self.number("Q")])
        self.at += -self.at % made.alignment
        made.data = self.raw[self.at :]
        return made
