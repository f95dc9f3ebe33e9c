#!/usr/bin/env python3
"""Checks the source tree against docs/style.md; with --report prints its sizes instead.

Exit status: 0 when nothing is found, 1 otherwise. Findings read `path:line: rule: sentence`.
"""
import argparse
import pathlib
import sys

import cpp_text
import rules
from tree import Tree, read_layers, room_of


def report(tree):
    """Lines per room, the longest file and the longest functions."""
    table = read_layers(tree.text("src/LAYERS"))
    sizes, functions = {}, []
    for path in tree.code():
        room = room_of(path.removeprefix("src/"), table) if path.startswith("src/") else None
        room = f"src/{room}" if room else path.split("/", 1)[0]
        is_test = path.endswith(("_test.cpp", "_bench.cpp")) or path.startswith("tests/")
        count = tree.text(path).count("\n")
        files, code, test = sizes.get(room, (0, 0, 0))
        sizes[room] = (files + 1, code + count * (not is_test), test + count * is_test)
        functions += [(found.lines, found.name, path)
                      for found in cpp_text.functions(tree.text(path))]
    print(f"{'room':24}{'files':>7}{'lines':>8}{'tests':>8}")
    for room, (files, code, test) in sizes.items():
        print(f"{room:24}{files:7}{code:8}{test:8}")
    print(f"{'in all':24}" + "".join(f"{sum(column):{width}}" for column, width in zip(
        zip(*sizes.values()), (7, 8, 8))))
    longest = sorted(((tree.text(path).count("\n"), path) for path in tree.code()), reverse=True)
    print("longest files:     " + ", ".join(f"{path} ({count})" for count, path in longest[:3]))
    functions.sort(reverse=True)
    print("longest functions: " + ", ".join(f"{name} in {path} ({count})"
                                            for count, name, path in functions[:3]))
    middle = sorted(count for count, _, _ in functions)[len(functions) // 2] if functions else 0
    print(f"functions: {len(functions)}, median {middle} lines, "
          f"{sum(count > rules.FUNCTION_LINES_MAX for count, _, _ in functions)} over "
          f"{rules.FUNCTION_LINES_MAX}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--report", action="store_true", help="print sizes instead of checking")
    arguments = parser.parse_args()
    tree = Tree(arguments.root)
    if arguments.report:
        report(tree)
        return 0
    findings = list(rules.all_findings(tree))
    for finding in findings:
        print(finding)
    print(f"tidy: {len(findings)} findings in {len(tree.prose_and_code())} files")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
