"""The program under test, run once (run) or on a terminal of its own (Terminal).

$QUALIA_PROGRAM names it; $QUALIA_SANITIZED is set where its memory figures mean nothing.
"""

import contextlib
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import tempfile
import termios
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("QUALIA_PROGRAM", ROOT / "build/release/bin/qualia"))
SANITIZED = bool(os.environ.get("QUALIA_SANITIZED"))
TINY = ROOT / "tests/data/tiny"
MODEL = TINY / "q4_1.gguf"  # random weights, with a chat template, 256 positions
NO_TEMPLATE = TINY / "f32.gguf"
TIMEOUT_S = 60  # far beyond any run here: what takes longer hangs
ESCAPE = "\x1b"


class Done:
    """How a run ended: status as a shell says it, the bytes of both streams, cost."""

    def __init__(self, status, out, err, seconds, rss_kib):
        self.status = status
        self.out = out
        self.err = err.decode("utf-8", "replace")
        self.seconds = seconds
        self.rss_kib = rss_kib

    def __repr__(self):
        return f"status {self.status}, out {self.out[:400]!r}, err {self.err[:800]!r}"


def environment(**more):
    """A bare environment: a home that holds no model, and one thread: tiny models need no more,
    and on a busy machine threads that wait for each other are slow."""
    plain = {"PATH": os.environ["PATH"], "HOME": "/dev/null", "QUALIA_THREADS": "1", **more}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
        if name in os.environ:
            plain[name] = os.environ[name]
    return {name: value for name, value in plain.items() if value is not None}


def run(*arguments, stdin=b"", env=None, program=PROGRAM, **more):
    """Runs to the end. stdin: bytes, or an open file."""
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        files = {
            "stdout": stack.enter_context(tempfile.TemporaryFile()),
            "stderr": stack.enter_context(tempfile.TemporaryFile()),
        }
        source = stdin
        if isinstance(stdin, bytes):
            source = stack.enter_context(tempfile.TemporaryFile())
            source.write(stdin)
            source.seek(0)
        process = subprocess.Popen(
            [program, *arguments], env=env or environment(), **{"stdin": source, **files, **more}
        )
        timer = stack.enter_context(killed_after(process, TIMEOUT_S))
        _, raw, usage = os.wait4(process.pid, 0)
        timer.set()
        process.returncode = raw  # reaped here, not by the Popen object
        status = 128 + os.WTERMSIG(raw) if os.WIFSIGNALED(raw) else os.WEXITSTATUS(raw)
        outputs = []
        for name in ("stdout", "stderr"):
            files[name].seek(0)
            outputs.append(files[name].read())
        return Done(status, *outputs, time.monotonic() - started, usage.ru_maxrss)


@contextlib.contextmanager
def killed_after(process, seconds):
    import threading

    done = threading.Event()
    threading.Thread(target=lambda: done.wait(seconds) or process.kill(), daemon=True).start()
    try:
        yield done
    finally:
        done.set()


class Terminal:
    """The program on a pseudo terminal; standard error too, unless stderr is given."""

    def __init__(self, *arguments, env=None, stderr=None, wrapper=()):
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.shown = b""
        self.process = subprocess.Popen(
            [*(wrapper or [PROGRAM]), *arguments],
            env=env or environment(TERM="xterm", QUALIA_THREADS="2"),
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave if stderr is None else stderr,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def type(self, text):
        os.write(self.master, text if isinstance(text, bytes) else text.encode())

    def _read_for(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            self.shown += os.read(self.master, 65536)
            return True
        return False

    def expect(self, pattern, since=0, seconds=TIMEOUT_S):
        """Reads until the pattern (bytes) is shown after `since`; the end of the match."""
        deadline = time.monotonic() + seconds
        while True:
            if found := re.search(pattern, self.shown[since:], re.S):
                return since + found.end()
            left = deadline - time.monotonic()
            if left <= 0 or not self._read_for(min(left, 0.5)) and self.process.poll() is not None:
                raise AssertionError(f"{pattern!r} is not shown: {self.shown[since:]!r}")

    def prompt(self, since=0):
        """Waits for the prompt; its end. libedit shows it just before it takes the keys over."""
        at = self.expect(rb"(?:^|\n)> ", since)
        deadline = time.monotonic() + TIMEOUT_S
        while termios.tcgetattr(self.slave)[3] & termios.ICANON:
            if time.monotonic() > deadline:
                raise AssertionError("the terminal stays in line mode")
            time.sleep(0.001)
        return at

    def say(self, line, since):
        """Types a line and waits for the next prompt; its end."""
        self.type(line + "\r")
        return self.prompt(since + 1)

    def wait(self, seconds=TIMEOUT_S):
        """The exit status as a shell says it; keeps reading, so that the program can write."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                raise AssertionError(f"the program goes on: {self.shown[-400:]!r}")
            self._read_for(0.05)
        while self._read_for(0):
            pass
        status = self.process.returncode
        return status if status >= 0 else 128 - status

    def is_restored(self):
        return termios.tcgetattr(self.slave) == self.before

    def send(self, number):
        self.process.send_signal(number)


class EndToEndTest(unittest.TestCase):
    maxDiff = 2000

    def folder(self, **how):
        made = tempfile.TemporaryDirectory(**how)
        self.addCleanup(made.cleanup)
        return pathlib.Path(made.name)

    def assert_done(self, done):
        self.assertEqual(0, done.status, done)
        return done

    def assert_sentence(self, done, *words):
        """Standard error is one line of plain text with these words."""
        lines = done.err.splitlines()
        self.assertEqual(1, len(lines), done)
        self.assertTrue(lines[0].startswith("qualia: ") and lines[0].endswith("."), done)
        self.assertNotRegex(done.err[:-1], r"[\x00-\x1f\x7f]", done)
        for word in words:
            self.assertIn(word, lines[0])

    def assert_fails(self, done, *words, status=1):
        self.assertEqual((status, b""), (done.status, done.out), done)
        self.assert_sentence(done, *words)

    def assert_usage_error(self, done, *words):
        self.assert_fails(done, *words, status=2)


SIGNALS = {130: signal.SIGINT, 143: signal.SIGTERM, 129: signal.SIGHUP}
