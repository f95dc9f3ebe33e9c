#!/usr/bin/env python3
"""The host around the program: variables, cache folder, locale, closed streams, little memory."""

import os
import resource
import subprocess
import threading
import time
import unittest

from gguf_bytes import U32, Gguf, u32
from program import MODEL, PROGRAM, SANITIZED, TIMEOUT_S, EndToEndTest, Terminal, environment, run

SHORT = ("run", "-m", MODEL, "-p", "Hello", "-n", "3", "--temp", "0")


def endless_model(folder):
    """A model whose greedy reply goes on for minutes: 65536 positions, and no token ends it."""
    file = Gguf.read(MODEL).set("llama.context_length", U32, u32(65536))
    file.set("tokenizer.ggml.eos_token_id", U32, u32(0))
    path = folder / "endless.gguf"
    path.write_bytes(file.bytes())
    return path


class EnvironmentTest(EndToEndTest):
    def test_unknown_values_are_named_with_the_allowed_ones(self):
        for name, value, words in (
            ("QUALIA_THREADS", "0", ("4096",)),
            ("QUALIA_THREADS", "abc", ("abc",)),
            ("QUALIA_THREADS", "2x", ()),
            ("QUALIA_THREADS", "-1", ()),
            ("QUALIA_LOG", "loud", ("trace, debug, info, warn, error, off",)),
            ("QUALIA_WGPU_BACKEND", "directx", ("vulkan, dx12, metal, gl",)),
        ):
            done = run(*SHORT, env=environment(**{name: value}))
            self.assert_usage_error(done, name, f"'{value}'", *words)

    def test_an_empty_variable_is_unset(self):
        names = (
            "QUALIA_THREADS",
            "QUALIA_LOG",
            "QUALIA_WGPU_BACKEND",
            "QUALIA_CACHE_DIR",
            "XDG_CACHE_HOME",
        )
        self.assert_done(run(*SHORT, env=environment(**dict.fromkeys(names, ""))))

    def test_threads_come_from_the_flag_before_the_variable(self):
        device = [
            run(*SHORT, "--json", *flag, env=environment(QUALIA_THREADS="3")).out
            for flag in ((), ("--threads", "1"))
        ]
        self.assertIn(b"CPU, 3 threads", device[0])
        self.assertIn(b"CPU, 1 thread", device[1])

    def test_threads_do_not_change_a_reply(self):
        replies = {
            run(*SHORT, "-n", "20", "--threads", count).out for count in ("1", "2", "5", "64")
        }
        self.assertEqual(1, len(replies))

    def test_the_log_level_decides_what_is_said(self):
        debug = self.assert_done(run(*SHORT, "-q", env=environment(QUALIA_LOG="debug")))
        self.assertEqual("", debug.err)  # the flag wins
        debug = self.assert_done(run(*SHORT, env=environment(QUALIA_LOG="DEBUG")))
        self.assertIn("qualia: info: ", debug.err)
        self.assertNotIn("\x1b", debug.err)
        self.assertNotIn("info", self.assert_done(run(*SHORT)).err)

    def test_a_wish_for_another_device_is_never_silently_something_else(self):
        for how, env, words in (
            (("--lane", "cuda"), {}, ("'cuda'",)),
            # Backends of other systems: no device here has them.
            (("--backend", "dx12"), {}, ("'dx12'", "--backend")),
            ((), {"QUALIA_WGPU_BACKEND": "Metal"}, ("'metal'", "QUALIA_WGPU_BACKEND")),
            (("--lane", "reference", "--backend", "metal"), {}, ("'metal'",)),
        ):
            for command in (
                SHORT,
                ("bench", "-m", MODEL),
                ("profile", "-m", MODEL),
                ("logits", "-m", MODEL, "--tokens", "1"),
                ("perplexity", "-m", MODEL, "-f", __file__),
                ("chat", "-m", MODEL),
            ):
                done = run(*command, *how, env=environment(**env))
                self.assert_fails(done, *words, "reference / CPU")

    def test_the_flag_for_a_backend_wins_over_the_variable(self):
        self.assert_done(
            run(*SHORT, "--backend", "scalar", env=environment(QUALIA_WGPU_BACKEND="gl"))
        )

    def test_numbers_and_texts_are_the_same_in_every_locale(self):
        installed = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.split()
        wanted = [
            "C",
            "C.UTF-8",
            "de_DE.UTF-8",
            "tr_TR.UTF-8",
            "ja_JP.UTF-8",
            "no_SUCH",
            *installed,
        ]
        outputs = {}
        for locale in dict.fromkeys(wanted):
            env = environment(LC_ALL=locale, LANG=locale)
            logits = run("logits", "-m", MODEL, "--tokens", "1,2,3", env=env)
            help_text = run("bench", "--help", env=env)
            temp = run(*SHORT, "--temp", "0.5", "--seed", "1", "-q", env=env)
            for done in (logits, help_text, temp):
                self.assert_done(done)
            outputs.setdefault((logits.out, help_text.out, temp.out), []).append(locale)
        self.assertEqual(1, len(outputs), list(outputs.values()))


class CacheTest(EndToEndTest):  # U10
    def places(self):
        folder = self.folder()
        (folder / "file").write_text("in the way")
        return (
            {"HOME": None},
            {"HOME": ""},
            {"HOME": "/proc"},
            {"HOME": "/dev/null"},
            {"HOME": str(folder / "file")},
            {"QUALIA_CACHE_DIR": str(folder / "file")},
            {"QUALIA_CACHE_DIR": "/dev/null"},
            {"XDG_CACHE_HOME": "relative", "HOME": None},
            {"QUALIA_CACHE_DIR": "/proc/qualia"},
        )

    def test_a_named_model_needs_no_cache(self):
        for place in self.places():
            done = self.assert_done(run(*SHORT, "-q", env=environment(**place)))
            self.assertEqual("", done.err, place)

    def test_a_chat_without_a_cache_works_with_one_warning(self):
        for place in self.places():
            with self.subTest(place=place), Terminal(
                "chat", "-m", MODEL, "-n", "2", env=environment(TERM="xterm", **place)
            ) as terminal:
                at = terminal.prompt()
                for _ in range(2):
                    at = terminal.say("Hi", at)
                terminal.type("/exit\r")
                self.assertEqual(0, terminal.wait())
                self.assertLessEqual(terminal.shown.count(b"history can't be"), 1, terminal.shown)

    def test_without_a_model_the_reason_is_said(self):
        for place in self.places():
            done = run("run", "-p", "x", env=environment(**place))
            self.assertEqual((1, b""), (done.status, done.out), place)
            self.assertLess(done.seconds, 5)
            self.assertRegex(done.err.splitlines()[0], r"^qualia: .*(cache folder|'/).*\.$", done)
            self.assertLessEqual(len(done.err.splitlines()), 2, done)

    @unittest.skipIf(SANITIZED, "the sanitizer writes its own files")
    def test_a_full_disk_keeps_the_old_history(self):  # U09; RLIMIT_FSIZE stands in for the disk
        cache = self.folder()
        history = cache / "chat_history"

        def chat(*lines, limit=None):
            shell = (
                ["sh", "-c", f"ulimit -f {limit} && exec \"$0\" \"$@\"", PROGRAM]
                if limit is not None
                else []
            )
            with Terminal(
                "chat",
                "-m",
                MODEL,
                "-n",
                "1",
                env=environment(TERM="xterm", QUALIA_CACHE_DIR=str(cache)),
                wrapper=shell,
            ) as terminal:
                at = terminal.prompt()
                for line in lines:
                    at = terminal.say(line, at)
                terminal.type(b"\x04")
                return terminal.wait(), terminal.shown

        self.assertEqual(0, chat("first", "second")[0])
        before = history.read_bytes()
        self.assertIn(b"first", before)
        status, shown = chat("x" * 900, "y" * 900, limit=1)
        self.assertEqual(0, status, shown)
        self.assertEqual(1, shown.count(b"The history can't be saved"), shown)
        kept = history.read_bytes()
        self.assertTrue(kept.startswith(before) or kept == before, kept)
        self.assertEqual([history], list(cache.iterdir()))
        self.assertEqual(0, chat("third")[0])
        self.assertIn(b"third", history.read_bytes())

    def test_a_damaged_history_is_replaced(self):
        for content in (
            b"",
            b"\0\xff" * 500,
            b"_HiStOrY_V2_\n\\",
            b"_HiStOrY_V2_\n" + b"a" * 100000,
        ):
            cache = self.folder()
            history = cache / "chat_history"
            history.write_bytes(content)
            with Terminal(
                "chat",
                "-m",
                MODEL,
                "-n",
                "1",
                env=environment(TERM="xterm", QUALIA_CACHE_DIR=str(cache)),
            ) as terminal:
                terminal.say("hello there", terminal.prompt())
                terminal.type(b"\x04")
                self.assertEqual(0, terminal.wait())
            self.assertIn(b"hello", history.read_bytes())
            self.assertEqual(0o600, history.stat().st_mode & 0o777)


class StreamsTest(EndToEndTest):  # U15
    COMMANDS = (
        SHORT,
        ("inspect", MODEL),
        ("tokenize", "-m", MODEL, "Hello"),
        ("detokenize", "-m", MODEL, "9"),
        ("logits", "-m", MODEL, "--tokens", "1"),
        ("run", "--help"),
        (*SHORT, "--json"),
        ("bench", "-m", MODEL, "-p", "4", "-n", "1", "-r", "1", "--json"),
        ("profile", "-m", MODEL, "-n", "1"),
    )

    def test_a_full_disk_is_an_error_that_is_said(self):
        for arguments in self.COMMANDS:
            with open("/dev/full", "wb") as full:
                done = run(*arguments, stdout=full)
            self.assertEqual(1, done.status, (arguments, done))
            self.assertIn("No space left", done.err.splitlines()[-1])

    def test_a_closed_output_is_an_error_that_is_said(self):
        for arguments in self.COMMANDS:
            done = run("-c", 'exec "$0" "$@" >&-', PROGRAM, *arguments, program="/bin/sh")
            self.assertEqual(1, done.status, (arguments, done))
            self.assertIn("Writing to standard output fails", done.err)

    def test_a_reader_that_leaves_ends_the_program_quietly_and_soon(self):
        endless = endless_model(self.folder())
        for arguments in (
            ("run", "-m", endless, "-p", "Hi", "--raw", "--temp", "0", "-q"),
            ("inspect", MODEL),
        ):
            started = time.monotonic()
            process = subprocess.Popen(
                [PROGRAM, *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                env=environment(),
            )
            with process.stderr:
                self.assertEqual(1, len(process.stdout.read(1)))
                process.stdout.close()
                error = process.stderr.read()
            status = process.wait(TIMEOUT_S)
            self.assertIn(status, (0, 1) if "inspect" in arguments else (1,))
            self.assertEqual(b"", error)
            self.assertLess(time.monotonic() - started, 10)

    def test_a_closed_standard_error_changes_nothing_else(self):
        folder = self.folder()
        for arguments, status in (
            (SHORT, 0),
            (("run", "-m", "/none", "-p", "x"), 1),
            (("run", "--x"), 2),
        ):
            done = run(
                "-c", 'exec "$0" "$@" 2>&-', PROGRAM, *arguments, program="/bin/sh", cwd=folder
            )
            self.assertEqual((status, ""), (done.status, done.err), arguments)
            self.assertEqual([], list(folder.iterdir()))

    def test_a_closed_input_is_an_error_only_where_it_is_read(self):
        for arguments, status in (
            (SHORT, 0),
            (("run", "-m", MODEL, "-p", "-"), 1),
            (("tokenize", "-m", MODEL, "-"), 1),
            (("chat", "-m", MODEL), 0),
        ):
            done = run("-c", 'exec "$0" "$@" <&-', PROGRAM, *arguments, program="/bin/sh")
            self.assertEqual(status, done.status, (arguments, done))
        done = run("-c", 'exec "$0" "$@" <&- >&- 2>&-', PROGRAM, *SHORT, program="/bin/sh")
        self.assertEqual((1, b"", ""), (done.status, done.out, done.err))

    def test_a_slow_reader_gets_every_byte(self):
        # A pipe that its other end made non-blocking: a full pipe is no error.
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        process = subprocess.Popen(
            [
                PROGRAM,
                "logits",
                "-m",
                MODEL,
                "--json",
                "--last",
                "250",
                "--top",
                "267",
                "--tokens",
                ",".join(["5"] * 250),
            ],
            stdout=write_end,
            stdin=subprocess.DEVNULL,
            env=environment(),
        )
        os.close(write_end)
        time.sleep(0.2)  # the pipe fills; without the wait the test passes too
        parts = []
        while part := os.read(read_end, 65536):
            parts.append(part)
        os.close(read_end)
        self.assertEqual(0, process.wait(TIMEOUT_S))
        text = b"".join(parts)
        self.assertGreater(len(text), 1 << 20)
        self.assertTrue(text.endswith(b"}]}\n"))


@unittest.skipIf(SANITIZED, "a sanitizer reserves terabytes of addresses")
class MemoryTest(EndToEndTest):  # U14
    def with_address_space(self, mebibytes, *arguments):
        size = mebibytes << 20
        return run(
            *arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))
        )

    def test_little_memory_is_a_sentence_and_no_crash(self):
        enough = None
        for mebibytes in (24, 32, 48, 64, 80, 96, 128, 192, 256, 512, 1024):
            done = self.with_address_space(mebibytes, *SHORT, "--threads", "2")
            if done.status == 0:
                enough = enough or mebibytes
            elif "cannot" not in done.err:  # the loader itself found no room for the libraries
                self.assertEqual(1, done.status, (mebibytes, done))
                self.assertRegex(done.err, r"(?m)^qualia: .*\.$")
        self.assertIsNotNone(enough)

    def test_a_context_beyond_the_limit_names_both_numbers(self):
        done = self.with_address_space(512, *SHORT, "--ctx", "20000000", "--threads", "1")
        self.assert_fails(done)
        self.assertRegex(done.err, r"needs \d+ bytes .*\(\d+ free\)")

    def test_a_model_beyond_the_limit_is_refused(self):
        file = Gguf.read(MODEL)
        name, dims, type_id, offset = file.tensors[0]
        path = self.folder() / "big.gguf"
        rows = 60_000_000  # 2.4 GB of Q4_1, sparse
        size = rows * dims[0] // 32 * 20
        file.tensors = [[name, [dims[0], rows], type_id, 0]] + [
            [other, shape, kind, place + size] for other, shape, kind, place in file.tensors[1:]
        ]
        head = file.head()
        start = len(head) + -len(head) % 32
        with open(path, "wb") as sink:
            sink.write(head)
            sink.truncate(start + size + len(file.data))
        done = self.with_address_space(1024, "logits", "-m", path, "--tokens", "1")
        self.assert_fails(done, str(path))
        self.assertRegex(done.err, r"\d{9,} bytes")


if __name__ == "__main__":
    unittest.main()
