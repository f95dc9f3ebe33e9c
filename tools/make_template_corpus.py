#!/usr/bin/env python3
"""Writes the seed corpus of the template fuzzer from the expectation files of the tests.

    python3 tools/make_template_corpus.py fuzz/corpus/template

Five sound snippets make a file; whole templates are taken where they fit the fuzzer's inputs. The
same bytes every time.
"""
import json
import pathlib
import sys

LENGTH_MAX = 4096


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    data = pathlib.Path("tests/data/template")
    rows = [json.loads(line) for line in open(data / "jinja_cases.jsonl", encoding="utf-8")][1:]
    sound = [row["template"] for row in rows if "error" not in row]
    for start in range(0, len(sound), 5):
        text = "\n".join(sound[start:start + 5])
        (out / f"snippets_{start:03}").write_text(text, encoding="utf-8")
    for path in sorted(data.glob("*.jinja")):
        source = path.read_bytes()
        if len(source) <= LENGTH_MAX:
            (out / path.stem).write_bytes(source)
    messages = '[{"role":"user","content":[{"type":"text","text":"a<|im_end|>"}]}]'
    source = "{% for p in messages[0].content %}{{ p.text | trim }}{% endfor %}"
    (out / "own_messages").write_text(messages + "\n" + source, encoding="utf-8")


if __name__ == "__main__":
    main()
