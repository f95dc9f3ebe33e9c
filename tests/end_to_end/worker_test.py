#!/usr/bin/env python3
"""The wgpu lane in its worker: a lost one ends the reply, signals end both, --in-process has none.

Skipped where the wgpu lane has no circuit (a software Vulkan such as lavapipe is one).
"""

import json
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

from host_test import endless_model
from program import PROGRAM, TIMEOUT_S, TINY, Done, EndToEndTest, Terminal, environment, run

MODEL = TINY / "q4_0.gguf"
SHORT = ("run", "-m", MODEL, "--lane", "wgpu", "--raw", "-p", "Hi", "-n", "4", "--temp", "0")
SOON_S = 10  # on a busy machine; an idle one needs well under a second


def workers_of(process):
    """Ids of the worker processes of a program that runs."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, fields = re.fullmatch(r"\d+ \((.*)\) (.*)", stat.read_text().strip()).groups()
        except OSError:  # it ended meanwhile
            continue
        if name == "qualia-worker" and fields.split()[1] == str(process.pid):
            found.append(int(stat.parent.name))
    return found


def lives(process_id):
    """Whether it does, as more than a zombie that an init has yet to reap."""
    try:
        stat = pathlib.Path(f"/proc/{process_id}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


class WorkerTest(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        # A software Vulkan compiles kernels for seconds; once is enough.
        cls.env = environment(TERM="xterm", MESA_SHADER_CACHE_DIR=folder.name)
        probe = run(*SHORT, "-q", env=cls.env)
        if probe.status == 1 and "Lane 'wgpu' has no circuit here" in probe.err:
            raise unittest.SkipTest(probe.err.strip())
        endless = endless_model(pathlib.Path(folder.name))
        cls.endless = ("-m", endless, "--lane", "wgpu", "--temp", "0")
        cls.run_endless = ("run", *cls.endless, "--raw", "-p", "Hi")

    def start(self, *arguments):
        process = subprocess.Popen(
            [PROGRAM, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def the_worker_of(self, process):
        workers = workers_of(process)
        self.assertEqual(1, len(workers), workers)
        return workers[0]

    def assert_gone(self, process_id):
        deadline = time.monotonic() + SOON_S
        while lives(process_id):
            self.assertLess(time.monotonic(), deadline, f"process {process_id} goes on")
            time.sleep(0.01)

    def test_a_lost_worker_ends_the_reply_with_one_sentence(self):
        for number, name in ((signal.SIGKILL, "KILL"), (signal.SIGABRT, "ABRT")):
            process = self.start(*self.run_endless)
            first = process.stdout.read(20)
            worker = self.the_worker_of(process)
            started = time.monotonic()
            subprocess.run(["kill", f"-{int(number)}", str(worker)], check=True)
            out, err = process.communicate(timeout=TIMEOUT_S)
            seconds = time.monotonic() - started
            done = Done(process.returncode, first + out, err, seconds, 0)
            self.assertLess(seconds, SOON_S)
            self.assertEqual(1, done.status, done)
            self.assert_sentence(done, f"The worker of lane 'wgpu' ends with signal {name}")
            self.assertGreater(len(done.out), 20)  # the text so far is kept
            self.assertFalse(lives(worker))
            self.assert_done(run(*SHORT, env=self.env))  # the next load works

    def test_a_lost_worker_during_a_json_reply_and_a_bench_is_a_sentence_too(self):
        for arguments in (
            (*self.run_endless, "--json"),
            ("bench", *self.endless[:-2], "-p", "0", "-n", "60000", "-r", "1"),
        ):
            process = self.start(*arguments)
            deadline = time.monotonic() + TIMEOUT_S
            while not workers_of(process) and time.monotonic() < deadline:
                time.sleep(0.01)
            # While it loads or computes: both end alike.
            subprocess.run(["kill", "-9", str(self.the_worker_of(process))], check=True)
            out, err = process.communicate(timeout=TIMEOUT_S)
            done = Done(process.returncode, out, err, 0, 0)
            self.assert_fails(done, "The worker of lane 'wgpu' ends with signal KILL")

    def test_a_lost_worker_ends_a_chat(self):
        env = {**self.env, "QUALIA_CACHE_DIR": str(self.folder())}
        with Terminal("chat", *self.endless, env=env) as terminal:
            at = terminal.prompt()
            terminal.type("Hi\r")
            terminal.expect(rb"\n[^\n]{40}", since=at)
            subprocess.run(["kill", "-9", str(self.the_worker_of(terminal.process))], check=True)
            self.assertEqual(1, terminal.wait(), terminal.shown)
            self.assertEqual(1, terminal.shown.count(b"ends with signal KILL."), terminal.shown)
            self.assertTrue(terminal.is_restored())

    def test_the_reasons_say_where_the_model_lives(self):
        replies = {}
        for how, reason in (
            ((), "hosted in a worker process"),
            (("--in-process",), "in this process, as was asked for"),
        ):
            document = json.loads(self.assert_done(run(*SHORT, "--json", *how, env=self.env)).out)
            path = document["path"]
            self.assertEqual("wgpu", path["lane"])
            self.assertIn(reason, path["rationale"])
            replies[how] = tuple(document["tokens"]), path["winning_circuit"]
        self.assertEqual(1, len(set(replies.values())), replies)

    def test_in_process_has_no_worker(self):
        process = self.start(*self.run_endless, "--in-process")
        process.stdout.read(20)
        self.assertEqual([], workers_of(process))

    def test_the_worker_ends_with_the_program(self):
        for number, status in (
            (signal.SIGINT, 130),
            (signal.SIGTERM, 143),
            (signal.SIGKILL, -signal.SIGKILL),
        ):
            process = self.start(*self.run_endless)
            process.stdout.read(20)
            worker = self.the_worker_of(process)
            process.send_signal(number)
            process.communicate(timeout=TIMEOUT_S)
            self.assertEqual(status, process.returncode)
            self.assert_gone(worker)

    def test_ctrl_c_is_for_the_program_and_not_for_its_worker(self):
        with Terminal(*self.run_endless, env=self.env) as terminal:
            terminal.expect(rb".{40}")
            terminal.type(b"\x03")
            self.assertEqual(130, terminal.wait(), terminal.shown)
            self.assertIn(b"The reply was stopped.", terminal.shown)
            self.assertNotIn(b"worker", terminal.shown)
            self.assertTrue(terminal.is_restored())

    def test_signals_at_any_moment_of_the_load(self):
        for step in range(8):
            for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
                with Terminal(*self.run_endless, env=self.env) as terminal:
                    time.sleep(step * 0.04)
                    terminal.send(number)
                    self.assertEqual(status, terminal.wait(), terminal.shown)
                    self.assertTrue(terminal.is_restored())
                    self.assertNotIn(b"worker", terminal.shown)

    def test_a_profile_is_read_through_the_worker(self):
        arguments = ("profile", "-m", MODEL, "--lane", "wgpu", "-n", "4", "--json")
        done = run(*arguments, env=self.env)
        if done.status == 1 and "can't be profiled" in done.err:
            self.skipTest(done.err.strip())
        direct = run(*arguments, "--in-process", env=self.env)
        through, direct = (json.loads(self.assert_done(each).out) for each in (done, direct))
        for document in (through, direct):
            self.assertEqual(4, document["steps"])
        self.assertEqual(direct["granularity"], through["granularity"])
        names = [{op["name"]: op["calls"] for op in each["ops"]} for each in (through, direct)]
        self.assertEqual(names[1], names[0])


if __name__ == "__main__":
    unittest.main()
