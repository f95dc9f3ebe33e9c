#!/usr/bin/env python3
"""qualia beside llama.cpp: the same file, shapes and threads, in turns; prints ratios.

`make peers` runs it. The peer lives in an environment of its own, build/peers-env, made at the
first run (llama-cpp-python, compiled for this machine); --peer-python names another. A round starts
each engine anew, one after the other, so that what else the machine does meets all of them alike; a
ratio is of one round, and the median and the extremes over the rounds are printed.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEER = "llama-cpp-python==0.3.36"


def say(text):
    print(text, file=sys.stderr, flush=True)


def output_of(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def peer_python():
    """The interpreter of the peer's environment, which is made where it is missing."""
    environment = ROOT / "build/peers-env"
    python = environment / "bin/python"
    if not (environment / "ready").exists():
        say(f"Making {environment}: {PEER} is compiled for this machine (5 to 20 minutes).")
        subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True)
        flags = {"CMAKE_ARGS": "-DGGML_NATIVE=ON -DLLAVA_BUILD=OFF", **os.environ}
        install = [python, "-m", "pip", "install", "--quiet", "--no-binary=llama-cpp-python", PEER]
        subprocess.run(install, check=True, env=flags)
        (environment / "ready").write_text(PEER)
    return python


class Test:
    """One line of the result: pp512, tg128, tg128 @ d4096."""

    def __init__(self, kind, tokens, depth):
        self.kind, self.tokens, self.depth = kind, tokens, depth
        self.name = f"{kind}{tokens}" + (f" @ d{depth}" if depth else "")
        self.rates = {}  # engine: [tokens per second of each round]

    def add(self, engine, rate):
        self.rates.setdefault(engine, []).append(rate)

    def ratios(self, engine):
        return [ours / peers for ours, peers in zip(self.rates[engine], self.rates["llama.cpp"])]


def run_peer(python, options, test):
    prompt, reply = (test.tokens, 0) if test.kind == "pp" else (0, test.tokens)
    script = ROOT / "tools/peer_llama_cpp.py"
    shape = [prompt, reply, test.depth, options.threads]
    result = json.loads(output_of([python, script, options.model, *map(str, shape)]))
    options.peer_version = result["version"]
    return result[test.kind]


def run_qualia(options, test, precision):
    shape = {"-p": 0, "-n": 0, "-d": test.depth, "-r": 1, "--threads": options.threads}
    shape["-p" if test.kind == "pp" else "-n"] = test.tokens
    command = [options.program, "bench", "-q", "--json", "-m", options.model]
    command += ["--precision", precision, *(str(word) for pair in shape.items() for word in pair)]
    row = json.loads(output_of(command))[0]
    options.path = f"{row['lane']} / {row['device']} / {row['backend']}"
    return row["tok_s_median"]


def measure(options, tests):
    python = options.peer_python or peer_python()
    for number in range(options.rounds):
        for test in tests:
            turns = [("llama.cpp", lambda t=test: run_peer(python, options, t))]
            for precision in options.precisions:
                turns.append((precision, lambda t=test, p=precision: run_qualia(options, t, p)))
            for engine, run in turns if number % 2 == 0 else reversed(turns):
                test.add(engine, run())
        say(f"round {number + 1} of {options.rounds} is done")


def spread(values, digits):
    three = statistics.median(values), min(values), max(values)
    return "{} ({} to {})".format(*(f"{value:.{digits}f}" for value in three))


def table(options, tests):
    rows = [["test", "llama.cpp tok/s"]]
    for precision in options.precisions:
        rows[0] += [f"{precision} tok/s", "ratio"]
    for test in tests:
        cells = [test.name, spread(test.rates["llama.cpp"], 1)]
        for precision in options.precisions:
            cells += [spread(test.rates[precision], 1), spread(test.ratios(precision), 2)]
        rows.append(cells)
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        names = [line for line in lines if line.startswith("model name")]
        return names[0].split(":", 1)[1].strip()
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def commit():
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def report(options, tests):
    load = ", ".join(f"{value:.2f}" for value in options.load_before)
    facts = [
        f"{datetime.date.today()}, qualia {commit()}, llama-cpp-python {options.peer_version}",
        f"{processor()}, {os.cpu_count()} logical CPUs, {options.path}; load before: {load}",
        f"`tools/peers.py {' '.join(sys.argv[1:])}`: {options.rounds} rounds, medians (extremes)",
    ]
    return "\n".join(f"- {fact}" for fact in facts) + "\n\n" + table(options, tests)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-m", "--model", help="GGUF file (default: the default model)")
    parser.add_argument("-p", "--prompt-tokens", type=int, default=512, help="0: no such test")
    parser.add_argument("-n", "--max-tokens", type=int, default=128, help="0: no such test")
    parser.add_argument("-d", "--depths", default="0", help="for replies, with commas (default: 0)")
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("-t", "--threads", type=int, help="default: what qualia would take")
    parser.add_argument("--precisions", default="fast,precise,exact")
    parser.add_argument("--program", default=str(ROOT / "build/release/bin/qualia"))
    parser.add_argument("--peer-python", help="interpreter that has llama_cpp")
    parser.add_argument("--json", help="file for every figure")
    parser.add_argument("--md", help="file for the report")
    return parser.parse_args()


def main():
    options = parse()
    if options.model is None:
        fetched = output_of([str(ROOT / "tools/fetch_default_model.sh")])
        options.model = fetched.strip().splitlines()[-1]
    if options.threads is None:
        shortest = ["bench", "-q", "--json", "-r", "1", "-p", "1", "-n", "0"]
        row = json.loads(output_of([options.program, *shortest]))
        options.threads = int(row[0]["device"].split(", ")[1].split()[0])
    options.precisions = options.precisions.split(",")
    for precision in options.precisions:
        if precision not in ("fast", "precise", "exact"):
            sys.exit(f"'{precision}' is no precision (fast, precise, exact).")
    options.load_before = os.getloadavg()
    tests = [Test("pp", options.prompt_tokens, 0)] if options.prompt_tokens else []
    if options.max_tokens:
        tests += [Test("tg", options.max_tokens, int(depth)) for depth in options.depths.split(",")]
    measure(options, tests)
    text = report(options, tests)
    print(text, end="")
    if options.md:
        pathlib.Path(options.md).write_text(text)
    if options.json:
        rates = {test.name: test.rates for test in tests}
        pathlib.Path(options.json).write_text(json.dumps(rates, indent=1) + "\n")


if __name__ == "__main__":
    main()
