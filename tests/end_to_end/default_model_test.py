#!/usr/bin/env python3
"""The default model from the user's cache: it answers, remembers, and stops when asked to."""

import json
import os
import pathlib
import re
import signal
import time
import unittest

from program import ROOT, EndToEndTest, Terminal, environment, run

NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"


def cache_folder():
    """Where the program looks, by docs/environment.md; None: nowhere."""
    if named := os.environ.get("QUALIA_CACHE_DIR"):
        return pathlib.Path(named).absolute()
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    if xdg.startswith("/"):
        return pathlib.Path(xdg) / "qualia"
    return pathlib.Path(os.environ["HOME"]) / ".cache/qualia" if os.environ.get("HOME") else None


CACHE = cache_folder()
GOLDEN = json.loads((ROOT / "tests/data/golden/smollm2-135m-instruct-q4_1.json").read_text())


@unittest.skipUnless(
    CACHE and (CACHE / "models" / NAME).exists(), "the default model is not fetched"
)
class DefaultModelTest(EndToEndTest):
    def setUp(self):
        # The model by the user's own cache; nothing of ours is written there.
        cache = self.folder()
        (cache / "models").symlink_to(CACHE / "models")
        self.env = environment(TERM="xterm", QUALIA_CACHE_DIR=str(cache), QUALIA_THREADS=None)

    def test_it_knows_the_capital_of_france_and_starts_within_five_seconds(self):
        question = "What is the capital of France?"
        done = self.assert_done(run("run", "-p", question, "--temp", "0", "--json", env=self.env))
        reply = json.loads(done.out)
        self.assertIn("Paris", reply["text"])
        self.assertEqual("stop", reply["finish_reason"])
        self.assertLess(reply["timings"]["load_ms"] + reply["timings"]["prefill_ms"], 5000)
        streamed = self.assert_done(run("run", "-p", question, "--temp", "0", env=self.env))
        self.assertEqual(reply["text"] + "\n", streamed.out.decode())

    def test_tokens_and_logits_are_the_stored_ones(self):
        case = GOLDEN["cases"][0]
        ids = run("tokenize", "--parse-special", "--json", case["text"], env=self.env)
        self.assertEqual(case["tokens"], json.loads(self.assert_done(ids).out))
        tokens = ",".join(map(str, case["tokens"]))
        exact = ("logits", "--precision", "exact")
        logits = run(*exact, "--tokens", tokens, "--last", "8", "--json", env=self.env)
        positions = json.loads(self.assert_done(logits).out)["positions"]
        self.assertEqual(len(case["last_positions"]), len(positions))
        for wanted, got in zip(case["last_positions"], positions):
            self.assertEqual(wanted["position"], got["position"])
            self.assertEqual(wanted["top_ids"][0], got["top_ids"][0])
            self.assertAlmostEqual(wanted["logsumexp"], got["logsumexp"], delta=2e-3)

    def test_a_chat_keeps_its_context(self):
        text = "My name is Ada.\nWhat is my name?\n"
        done = self.assert_done(
            run("chat", "--temp", "0", "-n", "24", "-v", stdin=text.encode(), env=self.env)
        )
        self.assertIn(b"Ada", done.out.splitlines()[-1] + done.out)
        counts = [
            (int(count), int(known or 0))
            for count, known in re.findall(r"(\d+) prompt tokens(?: \((\d+) known\))?", done.err)
        ]
        self.assertEqual(2, len(counts), done)
        self.assertGreaterEqual(counts[1][1], counts[0][0])

    def test_an_interrupt_ends_load_prefill_and_decode(self):
        long_text = (ROOT / "tests/data/golden/gpl3.txt").read_text()[:6000]
        slow = ("--lane", "reference", "-p", long_text)
        for arguments, delay in ((("-p", "Tell me a story."), 0.03), (slow, 2.0)):
            for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
                with Terminal("run", *arguments, env=self.env) as terminal:
                    time.sleep(delay)
                    started = time.monotonic()
                    terminal.send(number)
                    self.assertEqual(status, terminal.wait(), terminal.shown)
                    self.assertTrue(terminal.is_restored())
                    self.assertLess(time.monotonic() - started, 15)
        with Terminal(
            "run", "-p", "Tell me a long story.", "--temp", "0", env=self.env
        ) as terminal:
            terminal.expect(rb"\w+ \w+ \w+")
            terminal.type(b"\x03")
            self.assertEqual(130, terminal.wait())
            self.assertTrue(terminal.is_restored())
            self.assertRegex(terminal.shown, rb"\w+ \w+ \w+.*\r\nqualia: The reply was stopped\.")


if __name__ == "__main__":
    unittest.main()
