#!/usr/bin/env python3
"""Counts stack accesses in the inner loops of kernels, from the disassembly of object files.

usage: check_spills.py [--all] OBJECT...

An inner loop is the code from the target of a backward jump to that jump, with no other such loop
inside, that multiplies vectors eight times or more (the loops that store a panel's 16 sums do it
once or twice, and read them from where they lie). A vector register that goes through the stack
there is a spill: the compiler ran out of registers. Prints a line for each loop with spills (--all:
for every loop) and exits 1 if there is any. Needs objdump (binutils).
"""
import re
import subprocess
import sys

FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(.*)$")
JUMP = re.compile(r"^j\w+\s+(?:0x)?([0-9a-f]+)\b")
MULTIPLIES = re.compile(r"^(?:\{vex\}\s+)?v(?:pdpbusd|pmaddubsw|fmadd|fnmadd|mulp)")
MULTIPLIES_MIN = 8
STACK = re.compile(r"\((?:%rsp|%rbp)")
VECTOR = re.compile(r"%[xyz]mm\d")


def functions(path):
    """(name, [(address, instruction)]) of each function."""
    listing = subprocess.run(["objdump", "-d", "-C", "--no-show-raw-insn", path], check=True,
                             capture_output=True, text=True).stdout
    name, body = None, []
    for line in listing.split("\n"):
        if match := FUNCTION.match(line):
            if name:
                yield name, body
            name, body = match.group(1), []
        elif match := INSTRUCTION.match(line):
            body.append((int(match.group(1), 16), match.group(2).strip()))
    if name:
        yield name, body


def inner_loops(body):
    """(first, last) addresses of the loops that hold no other."""
    begin = body[0][0] if body else 0
    loops = []
    for address, text in body:
        match = JUMP.match(text)
        if match and begin <= int(match.group(1), 16) <= address:
            loops.append((int(match.group(1), 16), address))
    return [loop for loop in loops
            if not any(other != loop and loop[0] <= other[0] and other[1] <= loop[1]
                       for other in loops)]


def report(path, show_all):
    """Spills in all inner loops of an object file."""
    total = 0
    for name, body in functions(path):
        for first, last in inner_loops(body):
            loop = [text for address, text in body if first <= address <= last]
            multiplies = sum(bool(MULTIPLIES.match(text)) for text in loop)
            if multiplies < MULTIPLIES_MIN:
                continue
            on_stack = [text for text in loop if STACK.search(text)]
            spills = sum(bool(VECTOR.search(text)) for text in on_stack)
            total += spills
            if spills or show_all:
                print(f"{spills} vector and {len(on_stack) - spills} scalar stack accesses in "
                      f"{len(loop)} instructions ({multiplies} multiply): {name}")
    return total


def main(arguments):
    paths = [argument for argument in arguments if argument != "--all"]
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    total = sum(report(path, "--all" in arguments) for path in paths)
    print(f"{total} vector spills in the inner loops of {len(paths)} files")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
