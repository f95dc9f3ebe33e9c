"""The rules of docs/style.md that a program can check. Each rule is a generator of findings."""
import pathlib
import re
from dataclasses import dataclass

import cpp_text
from tree import read_layers, room_declarations, room_of

FILE_LINES_REASON = 600   # more needs a reason in exceptions.txt
FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100
PUBLIC_LINES_MAX = 2000   # all of include/qualia
PUBLIC_THIRD_PARTY = {"tl/expected.hpp"}
C_HEADERS = {"stddef.h", "stdint.h", "stdbool.h"}

# Spelled in two parts, so that this file does not break its own rules.
UNFINISHED = re.compile(
    r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|TB" r"D)\b"
    r"|(?i:\bnot\s+imple" r"mented\b|\bunimple" r"mented\b|\bstu" r"b(?:s|bed)?\b)")
MACHINE = re.compile(
    r"/wo" r"rk/|/ro" r"ot/|\bpyp" r"i\.org|python" r"hosted\.org|\bcrat" r"es\.io"
    r"|registry\.np" r"mjs|deb\.deb" r"ian\.org|proxy\.gol" r"ang")
TESTIFIES = re.compile(r"expect|assert|check|verif|fail|throw|require", re.I)
SLEEPS = re.compile(r"\b(?:sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(")


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


def layers(tree):
    """A room includes only rooms that its line in src/LAYERS names; that line names rooms above."""
    if not tree.has("src/LAYERS"):
        return
    table = read_layers(tree.text("src/LAYERS"))
    above = []
    for room, uses in table.items():
        for used in uses:
            if used not in above:
                yield Finding("src/LAYERS", 1, "layers",
                              f"'{room}' names '{used}', which is not above it.")
        above.append(room)
    for path in tree.code():
        if path.startswith("src/"):
            yield from _room_includes(tree, table, path)
        elif path.startswith(("apps/", "examples/")):
            yield from _program_includes(tree, path)


def _room_includes(tree, table, path):
    room = room_of(path.removeprefix("src/"), table)
    if room is None:
        yield Finding(path, 1, "layers", "lies in no room of src/LAYERS.")
        return
    for line, name, quoted in cpp_text.includes(tree.text(path)):
        target = room_of(name, table)
        if not quoted:
            if target or name.startswith("qualia/"):
                yield Finding(path, line, "layers", f"includes our own <{name}> in angle brackets.")
        elif name.startswith("qualia/"):
            if not tree.has(f"include/{name}"):
                yield Finding(path, line, "layers", f"includes '{name}', which does not exist.")
        elif name.startswith("support/") and path.endswith(("_test.cpp", "_bench.cpp", "_test.h")):
            if not tree.has(f"tests/{name}"):
                yield Finding(path, line, "layers", f"includes '{name}', which does not exist.")
        elif target is None:
            yield Finding(path, line, "layers",
                          f"includes '{name}' (spelled \"room/file.h\" here).")
        elif target != room and target not in table[room]:
            yield Finding(path, line, "layers",
                          f"room '{room}' includes '{name}' of room '{target}'.")


def _program_includes(tree, path):
    folder = pathlib.PurePosixPath(path).parent
    for line, name, quoted in cpp_text.includes(tree.text(path)):
        if name.startswith("qualia/") and tree.has(f"include/{name}"):
            continue
        if quoted and not (tree.has(f"{folder}/{name}") or tree.has(f"apps/{name}")):
            yield Finding(path, line, "layers",
                          f"a program includes '{name}' (public headers only).")
        elif not quoted and tree.has(f"src/{name}"):
            yield Finding(path, line, "layers",
                          f"a program includes <{name}> (public headers only).")


def uses(tree):
    """USES of a room's CMakeLists.txt: rooms of its line in src/LAYERS, and all it includes."""
    if not tree.has("src/LAYERS"):
        return
    table = read_layers(tree.text("src/LAYERS"))
    for path in tree.paths:
        if not (path.startswith("src/") and path.endswith("/CMakeLists.txt")):
            continue
        folder = path.removeprefix("src/").removesuffix("/CMakeLists.txt")
        for room, used in room_declarations(tree.text(path)):
            if room not in table or room != folder:
                yield Finding(path, 1, "uses",
                              f"declares '{room}', no room of src/LAYERS in this folder.")
                continue
            for extra in sorted(set(used) - set(table[room])):
                yield Finding(path, 1, "uses",
                              f"'{room}' uses '{extra}', which src/LAYERS does not allow.")
            for needed in sorted(_included_rooms(tree, table, room) - set(used) - {room}):
                yield Finding(path, 1, "uses",
                              f"'{room}' includes '{needed}', which USES does not name.")


def _included_rooms(tree, table, room):
    found = set()
    for path in tree.code():
        if path.startswith("src/") and room_of(path.removeprefix("src/"), table) == room:
            for _, name, quoted in cpp_text.includes(tree.text(path)):
                if quoted and room_of(name, table):
                    found.add(room_of(name, table))
    return found


def file_length(tree, exceptions):
    for path in tree.code() + [path for path in tree.paths if path.endswith(".py")]:
        lines = tree.text(path).count("\n")
        if lines > FILE_LINES_MAX:
            yield Finding(path, 1, "file-length", f"has {lines} lines ({FILE_LINES_MAX}).")
        elif lines > FILE_LINES_REASON and not exceptions.allows_file(path, lines):
            yield Finding(path, 1, "file-length", f"has {lines} lines "
                          f"({FILE_LINES_REASON} without a reason in exceptions.txt).")


def function_length(tree, exceptions):
    for path in tree.code():
        for function in cpp_text.functions(tree.text(path)):
            if function.lines > FUNCTION_LINES_MAX and not exceptions.allows_function(
                    path, function.name, function.lines):
                yield Finding(
                    path, function.first_line, "function-length",
                    f"'{function.name}' has {function.lines} lines ({FUNCTION_LINES_MAX}).")


def lines(tree):
    """Columns, tabs, spaces at line ends, carriage returns, the last line's end."""
    code = set(tree.code())
    for path in tree.prose_and_code():
        text = tree.text(path)
        is_python = path.endswith(".py")
        data = cpp_text.raw_string_lines(text, is_python) if path in code or is_python else set()
        wide = path in code or path.endswith((".py", ".sh", ".cmake", "CMakeLists.txt"))
        for number, line in enumerate(text.split("\n"), 1):
            if wide and len(line) > COLUMNS_MAX and number not in data:
                yield Finding(path, number, "columns", f"has {len(line)} columns ({COLUMNS_MAX}).")
            if "\t" in line and not path.endswith("Makefile") and number not in data:
                yield Finding(path, number, "tab", "holds a tab.")
            if line.endswith((" ", "\r")) and number not in data:
                yield Finding(path, number, "line-end", "ends in a space or carriage return.")
        if text and (not text.endswith("\n") or text.endswith("\n\n")):
            yield Finding(path, text.count("\n") + 1, "file-end",
                          "does not end in exactly one line end.")


def words(tree):
    """Words of unfinished work; names of this machine or of package registries."""
    for path in tree.prose_and_code():
        for number, line in enumerate(tree.text(path).split("\n"), 1):
            match = UNFINISHED.search(line)
            if match:
                yield Finding(path, number, "unfinished", f"says '{match.group(0)}'.")
            match = MACHINE.search(line)
            if match:
                yield Finding(path, number, "machine", f"names '{match.group(0)}'.")


def headers(tree):
    """A header opens with a comment and has #pragma once."""
    for path in tree.code():
        if path.endswith(".h"):
            text = tree.text(path)
            if not text.startswith(("//", "/*")):
                yield Finding(path, 1, "header",
                              "does not open with a comment that says what it is.")
            if not re.search(r"^#pragma once$", text, re.M):
                yield Finding(path, 1, "header", "lacks #pragma once.")


def public_surface(tree):
    total = 0
    for path in tree.code():
        if not path.startswith("include/"):
            continue
        total += tree.text(path).count("\n")
        for line, name, _ in cpp_text.includes(tree.text(path)):
            ours = name.startswith("qualia/") and tree.has(f"include/{name}")
            standard = "/" not in name and ("." not in name or name in C_HEADERS)
            if not (ours or standard or name in PUBLIC_THIRD_PARTY):
                yield Finding(path, line, "public", f"a public header includes '{name}'.")
    if total > PUBLIC_LINES_MAX:
        yield Finding("include/qualia", 1, "public",
                      f"has {total} lines in all ({PUBLIC_LINES_MAX}).")


def test_names(tree):
    """A test's name is a sentence, and the test can fail."""
    for path in tree.code():
        text = tree.text(path)
        if "TEST" not in text:
            continue
        # Functions of the same file that a test may leave its expectations to.
        words_that_testify = {each.name.split("::")[-1] for each in cpp_text.functions(text)
                              if "." not in each.name and TESTIFIES.search(each.body)}
        for line, suite, name, body in cpp_text.tests(text):
            if "DISABLED_" in suite + name:
                yield Finding(path, line, "test", f"'{suite}.{name}' is disabled.")
            elif not re.fullmatch(r"[A-Z][a-z0-9]*([A-Z][A-Za-z0-9]*)+", name):
                yield Finding(path, line, "test",
                              f"'{suite}.{name}' is no sentence (CamelCase, two words).")
            if not (TESTIFIES.search(body) or words_that_testify & set(re.findall(r"\w+", body))):
                yield Finding(path, line, "test", f"'{suite}.{name}' expects nothing.")
            if re.search(r"\bSUCC" r"EED\s*\(", body):
                yield Finding(path, line, "test", f"'{suite}.{name}' claims its success.")
            if SLEEPS.search(body):
                yield Finding(path, line, "test", f"'{suite}.{name}' sleeps.")


class Exceptions:
    """exceptions.txt: `KIND PATH [FUNCTION] LINES REASON...`.

    The list may only shrink: an entry has to be needed still, and grants no more than it names."""

    def __init__(self, text, source="tests/tidy/exceptions.txt"):
        self._entries, self._used, self._source = {}, set(), source
        self._bad = []
        for number, line in enumerate(text.split("\n"), 1):
            fields = line.split("#", 1)[0].split()
            if fields:
                self._add(number, fields)

    def _add(self, number, fields):
        width = {"file": 2, "function": 3}.get(fields[0])
        if not width or len(fields) < width + 2 or not fields[width].isdigit():
            self._bad.append((number, "is no 'KIND PATH [FUNCTION] LINES REASON'."))
            return
        self._entries[tuple(fields[:width])] = (number, int(fields[width]))

    def _allows(self, key, line_count):
        if key not in self._entries or line_count > self._entries[key][1]:
            return False
        self._used.add(key)
        return True

    def allows_file(self, path, line_count):
        return self._allows(("file", path), line_count)

    def allows_function(self, path, name, line_count):
        return self._allows(("function", path, name), line_count)

    def findings(self):
        for number, message in self._bad:
            yield Finding(self._source, number, "exceptions", message)
        for key, (number, _) in self._entries.items():
            if key not in self._used:
                yield Finding(self._source, number, "exceptions",
                              f"'{' '.join(key)}' is not needed.")


def all_findings(tree):
    path = "tests/tidy/exceptions.txt"
    exceptions = Exceptions(tree.text(path) if tree.has(path) else "")
    for rule in (layers, uses, lines, words, headers, public_surface, test_names):
        yield from rule(tree)
    yield from file_length(tree, exceptions)
    yield from function_length(tree, exceptions)
    yield from exceptions.findings()
