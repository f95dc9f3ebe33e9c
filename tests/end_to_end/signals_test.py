#!/usr/bin/env python3
"""U02: SIGINT and SIGTERM at any moment: status 130 or 143, the terminal as it was, text kept."""

import re
import signal
import subprocess
import time
import unittest

from host_test import endless_model
from program import MODEL, PROGRAM, TIMEOUT_S, EndToEndTest, Terminal, environment, run

CTRL_C = b"\x03"


class SignalsTest(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        import pathlib
        import tempfile

        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.endless = endless_model(pathlib.Path(folder.name))
        cls.long_prompt = pathlib.Path(folder.name, "prompt")
        cls.long_prompt.write_text("abcdefgh" * 7000)  # tens of seconds of prefill

    def run_endless(self, *more):
        return "run", "-m", self.endless, "--raw", "--temp", "0", *more

    def assert_ended(self, terminal, status):
        self.assertEqual(status, terminal.wait(), terminal.shown)
        self.assertTrue(terminal.is_restored())
        # No hidden cursor, and each colour (of a log line) is taken back.
        shown = re.sub(rb"\x1b\[\d+m[^\x1b]*\x1b\[0?m", b"", terminal.shown)
        self.assertNotRegex(shown, rb"\x1b\[\?25l|\x1b\[[0-9;]*m")

    def test_during_decode_the_text_so_far_is_kept(self):
        for send, status in (
            (lambda t: t.type(CTRL_C), 130),
            (lambda t: t.send(signal.SIGTERM), 143),
            (lambda t: t.send(signal.SIGHUP), 129),
        ):
            with Terminal(*self.run_endless("-p", "Hi")) as terminal:
                terminal.expect(rb".{80}")
                send(terminal)
                self.assert_ended(terminal, status)
                self.assertIn(b"The reply was stopped.", terminal.shown)
                self.assertIn(b"tok/s", terminal.shown)

    def test_the_json_document_is_whole_after_an_interrupt(self):
        import json

        process = subprocess.Popen(
            [PROGRAM, *self.run_endless("-p", "Hi", "--json", "-v")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=environment(),
        )
        while b"runs on" not in process.stderr.readline():
            pass
        time.sleep(0.1)  # some tokens; without the wait the test is weaker, not wrong
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual((130, b""), (process.returncode, err))
        self.assertEqual("cancelled", json.loads(out)["finish_reason"])

    def test_during_prefill(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with Terminal(*self.run_endless("-v", "-f", self.long_prompt)) as terminal:
                terminal.expect(rb"runs on")
                time.sleep(0.3)  # somewhere in the prefill
                started = time.monotonic()
                terminal.send(number)
                self.assert_ended(terminal, status)
                self.assertLess(time.monotonic() - started, 10)
                self.assertRegex(terminal.shown, rb"(?s)stopped\..*\d of 56000 prompt tokens")

    def test_at_any_moment_of_the_start(self):
        # Before the handlers are there the system's own end is the same status for a shell.
        for step in range(12):
            for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
                with Terminal(*self.run_endless("-p", "Hi")) as terminal:
                    time.sleep(step * 0.002)
                    terminal.send(number)
                    self.assert_ended(terminal, status)

    def test_twice_fast(self):
        for _ in range(8):
            with Terminal(*self.run_endless("-f", self.long_prompt)) as terminal:
                time.sleep(0.1)
                terminal.type(CTRL_C + CTRL_C)
                self.assert_ended(terminal, 130)
        with Terminal(*self.run_endless("-p", "Hi")) as terminal:
            terminal.expect(rb".{80}")
            terminal.type(CTRL_C * 5)
            self.assert_ended(terminal, 130)

    def test_at_the_prompt_of_a_chat(self):
        env = environment(TERM="xterm", QUALIA_CACHE_DIR=str(self.folder()))
        for send, statuses in (
            (lambda t: t.send(signal.SIGTERM), (143,)),
            (lambda t: t.send(signal.SIGHUP), (129,)),
            (self.press_until_it_leaves, (130,)),
            (lambda t: (t.send(signal.SIGINT), t.send(signal.SIGTERM)), (130, 143)),
        ):
            with Terminal("chat", "-m", MODEL, env=env) as terminal:
                terminal.prompt()
                terminal.type("half a line")
                terminal.expect(rb"half a line")
                send(terminal)
                self.assertIn(terminal.wait(), statuses)
                self.assertTrue(terminal.is_restored())

    def press_until_it_leaves(self, terminal):
        # Two presses may become one signal (the system doesn't count them).
        for _ in range(4):
            terminal.type(CTRL_C)
            deadline = time.monotonic() + 0.5
            while terminal.process.poll() is None and time.monotonic() < deadline:
                terminal.expect(rb"", seconds=0.02)
                time.sleep(0.005)
            if terminal.process.poll() is not None:
                return
        self.fail(f"four times Ctrl-C: {terminal.shown[-300:]!r}")

    def test_a_chat_that_answers(self):
        env = environment(TERM="xterm", QUALIA_CACHE_DIR=str(self.folder()))
        for send, status in (
            (lambda t: t.send(signal.SIGTERM), 143),
            (self.press_until_it_leaves, 130),
        ):
            with Terminal("chat", "-m", self.endless, "--temp", "0", env=env) as terminal:
                at = terminal.prompt()
                terminal.type("Hi\r")
                terminal.expect(rb"\n[^\n]{40}", since=at)
                send(terminal)
                self.assert_ended(terminal, status)

    def test_commands_without_a_stream(self):
        for arguments in (
            ("perplexity", "-m", self.endless, "-f", self.long_prompt, "-c", "20000"),
            ("bench", "-m", self.endless, "-p", "30000", "-n", "30000"),
            ("profile", "-m", self.endless, "-n", "30000"),
            ("run", "-m", MODEL, "-p", "-"),
            ("tokenize", "-m", MODEL, "-"),
        ):
            for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
                with Terminal(*arguments) as terminal:
                    time.sleep(0.3)
                    started = time.monotonic()
                    terminal.send(number)
                    self.assert_ended(terminal, status)
                    self.assertLess(time.monotonic() - started, 10, arguments)

    def test_while_the_default_model_is_fetched(self):
        # A python3 of our own stands in for pip: its download never ends.
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            folder = self.folder()
            (folder / "bin").mkdir()
            started = folder / "started"
            python = folder / "bin/python3"
            python.write_text(
                f'#!/bin/sh\n[ "$3" = download ] || exit 0\n: > {started}\nexec sleep 600\n'
            )
            python.chmod(0o755)
            env = environment(
                TERM="xterm",
                PATH=f"{folder}/bin:{environment()['PATH']}",
                QUALIA_CACHE_DIR=str(folder / "cache"),
            )
            with Terminal("run", "-p", "Hi", env=env) as terminal:
                deadline = time.monotonic() + TIMEOUT_S
                while not started.exists() and time.monotonic() < deadline:
                    time.sleep(0.01)
                terminal.send(number)  # to the program alone; it ends its child
                self.assert_ended(terminal, status)
                self.assertIn(b"cancelled", terminal.shown)
            left = [path.name for path in (folder / "cache/models").iterdir()]
            self.assertEqual([".fetch.lock"], left)

    def test_ignored_signals_stay_ignored(self):
        # nohup and a shell's background jobs count on it.
        for name, number in (("INT", signal.SIGINT), ("HUP", signal.SIGHUP)):
            process = subprocess.Popen(
                [
                    "sh",
                    "-c",
                    f"trap '' {name}; exec \"$0\" \"$@\"",
                    PROGRAM,
                    *self.run_endless("-p", "Hi", "-n", "600"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(),
            )
            with process.stdout:
                first = process.stdout.read(20)
                process.send_signal(number)
                rest = process.stdout.read()
            self.assertEqual(0, process.wait(TIMEOUT_S))
            self.assertGreater(len(first + rest), 200)

    def test_a_progress_bar_is_taken_away(self):
        perplexity = ("perplexity", "-m", self.endless, "-f", self.long_prompt, "-c", "20000")
        for arguments, label in (
            (perplexity, rb"Perplexity"),
            (self.run_endless("-f", self.long_prompt), rb"Reading the prompt"),
        ):
            with Terminal(*arguments) as terminal:
                terminal.expect(label + rb" \[[= ]+\] +\d+ %")
                terminal.type(CTRL_C)
                self.assert_ended(terminal, 130)
                self.assertRegex(terminal.shown, rb"%(\^C)?\r\x1b\[K[^%]*(cancelled|stopped)")


if __name__ == "__main__":
    unittest.main()
