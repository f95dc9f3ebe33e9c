#!/usr/bin/env python3
"""Cuts the vocabulary of a GGUF file down to what given texts need.

  make_vocab_fixture.py MODEL.gguf OUT.vocab TEXTS...     (a text file each, or "-": standard input)

A merge can only apply inside a text if the joined piece occurs in it, so tokens and merges whose
piece occurs in no text are left out; ids, the order of merges, added tokens and the 256 byte
letters stay. Encoding one of the texts gives the same ids as the whole vocabulary does.

Format: lines "key value" (pre, size, bos, eos, eot, unknown, padding, add_bos, add_eos), a line
"tokens", lines "id type piece" (backslash, tab, newline and space escaped), a line "merges", lines
"left_id right_id". --all keeps everything.

Needs the PyPI package gguf.
"""
import argparse
import sys

import gguf

NORMAL = 1


def byte_letters():
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, extra = {}, 256
    for byte in range(256):
        if byte in own:
            letters[byte] = chr(byte)
        else:
            letters[byte] = chr(extra)
            extra += 1
    return letters


def escape(piece):
    for plain, escaped in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), (" ", "\\s")):
        piece = piece.replace(plain, escaped)
    return piece


def read_vocabulary(path):
    reader = gguf.GGUFReader(path)

    def value(key, default=None):
        field = reader.fields.get("tokenizer.ggml." + key)
        return default if field is None else field.contents()

    tokens = value("tokens")
    header = {"pre": value("pre", ""), "size": len(tokens)}
    for name in ("bos", "eos", "eot", "unknown", "padding"):
        header[name] = value(name + "_token_id")
    for name in ("add_bos", "add_eos"):
        flag = value(name + "_token")
        header[name] = None if flag is None else int(flag)
    return header, tokens, value("token_type", [NORMAL] * len(tokens)), value("merges", [])


def reduce_vocabulary(tokens, types, texts, keep_all):
    letters = byte_letters()
    # U+0000 is no byte letter: pieces never span two texts.
    haystack = "\0".join("".join(letters[b] for b in text) for text in texts)
    kept = set(letters.values())
    return {
        i: piece
        for i, piece in enumerate(tokens)
        if keep_all or types[i] != NORMAL or piece in kept or (piece and piece in haystack)
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("texts", nargs="*")
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()

    texts = []
    for name in args.texts:
        texts.append(sys.stdin.buffer.read() if name == "-" else open(name, "rb").read())
    header, tokens, types, merges = read_vocabulary(args.model)
    kept = reduce_vocabulary(tokens, types, texts, args.all)
    ids = {piece: i for i, piece in reversed(kept.items())}

    with open(args.out, "w", encoding="utf-8", newline="\n") as out:
        for key, value in header.items():
            if value is not None:
                out.write(f"{key} {value}\n")
        out.write("tokens\n")
        for i, piece in kept.items():
            out.write(f"{i} {types[i]} {escape(piece)}\n")
        out.write("merges\n")
        for merge in merges:
            left, right = merge.split(" ")
            if left + right in ids and left in ids and right in ids:
                out.write(f"{ids[left]} {ids[right]}\n")


if __name__ == "__main__":
    main()
