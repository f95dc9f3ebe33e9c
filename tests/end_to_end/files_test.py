#!/usr/bin/env python3
"""Model files as people have them: odd names, things that are no model, no template."""

import os
import shutil
import unittest

from gguf_bytes import BOOL, STRING, U32, Gguf, string, u32
from program import MODEL, NO_TEMPLATE, EndToEndTest, Terminal, environment, run

NAMES = (
    "two words.gguf",
    "модель.gguf",
    "模型.gguf",
    "🦜.gguf",
    "new\nline.gguf",
    "-dash.gguf",
    "--version",
    "it's \"quoted\".gguf",
    "per%20cent.gguf",
    "[a,b].gguf",
    "$HOME.gguf",
    "café.gguf",
    "x" * 250,
    b"latin-\xe9.gguf",
)


class OddNamesTest(EndToEndTest):
    def test_a_model_may_have_any_name(self):
        folder = self.folder()
        for name in NAMES:
            path = os.path.join(os.fsencode(folder), os.fsencode(name))
            shutil.copy(MODEL, path)
            for model in (path, os.fsencode(name)):
                with self.subTest(model=model):
                    done = run("run", "-m", model, "-p", "x", "-n", "1", "-vv", cwd=folder)
                    self.assert_done(done)
                    for line in done.err.splitlines():
                        self.assertTrue(line.startswith("qualia: "), done)
                    self.assert_done(run("inspect", "--json", "--", model, cwd=folder))
                    self.assert_done(run("tokenize", "-m", model, "x", cwd=folder))
            os.remove(path)

    def test_an_error_about_an_odd_name_stays_one_line(self):
        folder = self.folder()
        for name in NAMES:
            path = os.path.join(os.fsencode(folder), os.fsencode(name))
            with open(path, "wb") as file:
                file.write(b"GGUF")
            for arguments in (("run", "-p", "x", "-m", path), ("inspect", path)):
                self.assert_fails(run(*arguments), "latin" if b"latin" in path else "")

    def test_a_prompt_file_may_have_any_name(self):
        folder = self.folder()
        for name in NAMES:
            path = os.path.join(os.fsencode(folder), os.fsencode(name))
            with open(path, "wb") as file:
                file.write(b"Hello")
            self.assert_done(
                run("run", "-m", MODEL, "-n", "1", "-f", os.fsencode(name), cwd=folder)
            )


class NoModelTest(EndToEndTest):
    COMMANDS = (
        ("run", "-p", "x", "-m"),
        ("tokenize", "x", "-m"),
        ("detokenize", "1", "-m"),
        ("chat", "-m"),
        ("inspect",),
        ("logits", "--tokens", "1", "-m"),
        ("bench", "-m"),
        ("profile", "-m"),
        ("perplexity", "-f", __file__, "-m"),
    )

    def assert_each_fails(self, path, *words):
        for arguments in self.COMMANDS:
            with self.subTest(command=arguments[0]):
                done = run(*arguments, path)
                self.assert_fails(done, *words)
                self.assertLess(done.seconds, 10)

    def test_what_is_no_model_file_is_named(self):
        folder = self.folder()
        (folder / "text.gguf").write_text("This is no model.")
        os.mkfifo(folder / "pipe.gguf")
        (folder / "loop.gguf").symlink_to(folder / "loop.gguf")
        for path, words in (
            (folder, ("regular file",)),
            (folder / "none.gguf", ("does not exist",)),
            (folder / "text.gguf", ("GGUF",)),
            (folder / "pipe.gguf", ("regular",)),
            (folder / "loop.gguf", ("loop",)),
            ("/dev/zero", ("regular",)),
            (folder / ("y" * 300), ("File name too long",)),
        ):
            self.assert_each_fails(path, str(path), *words)

    @unittest.skipIf(os.geteuid() == 0 and not shutil.which("setpriv"), "root reads everything")
    def test_an_unreadable_file_is_named(self):
        folder = self.folder()
        folder.chmod(0o755)
        path = folder / "secret.gguf"
        shutil.copy(MODEL, path)
        path.chmod(0)
        drop = {"user": 65534} if os.geteuid() == 0 else {}
        done = run("run", "-p", "x", "-m", path, **drop)
        if "ermission denied" in done.err and str(path) not in done.err:
            self.skipTest("the program itself can't be run by another user here")
        self.assert_fails(done, str(path), "ermission denied")

    def test_a_prompt_file_that_is_none_is_named(self):
        folder = self.folder()
        for path in (folder, folder / "none.txt"):
            self.assert_fails(run("run", "-m", MODEL, "-f", path), str(path))
            self.assert_fails(run("perplexity", "-m", MODEL, "-f", path), str(path))


class TemplateTest(EndToEndTest):
    def changed(self, change):
        file = Gguf.read(MODEL)
        change(file)
        path = self.folder() / "changed.gguf"
        path.write_bytes(file.bytes())
        return path

    def test_without_a_template_run_completes_and_says_so_and_chat_refuses(self):  # C10
        for path in (
            NO_TEMPLATE,
            self.changed(lambda file: file.remove("tokenizer.chat_template")),
        ):
            done = self.assert_done(run("run", "-m", path, "-p", "Hi", "-n", "2"))
            self.assertIn("no chat template", done.err)
            self.assertEqual(
                "", self.assert_done(run("run", "-m", path, "-p", "Hi", "-n", "2", "-q")).err
            )
            self.assertNotIn(
                "template",
                self.assert_done(run("run", "-m", path, "-p", "Hi", "-n", "2", "--raw")).err,
            )
            self.assert_fails(run("chat", "-m", path, stdin=b"Hi\n"), str(path), "no chat template")
            with Terminal("chat", "-m", path) as terminal:
                self.assertEqual(1, terminal.wait())

    def test_a_broken_template_leaves_raw_completion(self):  # C14
        for source, word in (
            ("a\n{% for m in %}", "2"),
            ("\n\n{{ messages|frobnicate }}", "3"),
            ("{{ raise_exception('Not for you.') }}", "Not for you"),
        ):
            path = self.changed(
                lambda file, text=source: file.set("tokenizer.chat_template", STRING, string(text))
            )
            raw = self.assert_done(run("run", "-m", path, "-p", "Hi", "-n", "2", "--raw", "-q"))
            self.assertEqual("", raw.err)
            self.assert_fails(run("run", "-m", path, "-p", "Hi", "-n", "2"), word)
            done = run("chat", "-m", path, "-q", stdin=b"Hi\n")
            self.assert_fails(done, word)

    def test_a_model_without_a_tokenizer_gives_logits_and_no_text(self):
        def strip(file):
            for key in [pair[0] for pair in file.pairs if pair[0].startswith("tokenizer.")]:
                file.remove(key)

        path = self.changed(strip)
        self.assert_done(run("logits", "-m", path, "--tokens", "1,2"))
        self.assert_done(run("bench", "-m", path, "-p", "8", "-n", "2", "-r", "1"))
        for arguments in (
            ("run", "-p", "x"),
            ("chat",),
            ("tokenize", "x"),
            ("detokenize", "1"),
            ("perplexity", "-f", __file__),
        ):
            self.assert_fails(run(*arguments, "-m", path), str(path), "tokenizer")

    def test_a_vocabulary_without_weights_is_tokenized_and_inspected_but_not_run(self):
        def strip(file):
            file.tensors, file.data = [], b""

        path = self.changed(strip)
        for arguments in (("tokenize", "-m", path, "x"), ("inspect", path)):
            self.assert_done(run(*arguments))
        self.assert_fails(run("run", "-m", path, "-p", "x"), str(path), "no weights")

    def test_what_this_build_lacks_is_named_with_the_file(self):
        for change, word in (
            (lambda file: file.set("general.architecture", STRING, string("mamba")), "mamba"),
            (lambda file: file.set("tokenizer.ggml.model", STRING, string("t5")), "t5"),
            (lambda file: file.set("tokenizer.ggml.pre", STRING, string("martian")), "martian"),
            (lambda file: file.remove("llama.block_count"), "llama.block_count"),
            (lambda file: file.set("llama.context_length", BOOL, b"\1"), "context_length"),
        ):
            path = self.changed(change)
            self.assert_fails(run("run", "-m", path, "-p", "x"), str(path), word)

    def test_text_from_a_file_can_not_steer_the_terminal(self):
        path = self.changed(lambda file: file.set("general.name", STRING, string("a\x1b[31mb\nc")))
        out = self.assert_done(run("inspect", path)).out
        self.assertIn(b"a\\x1b[31mb\\nc", out)
        self.assertNotIn(b"\x1b", out)


class LimitsTest(EndToEndTest):
    def test_a_context_that_does_not_fit_is_refused_with_both_numbers(self):  # U14
        done = run("run", "-m", MODEL, "-p", "x", "--ctx", "2147483647")
        self.assertRegex(done.err, r"2147483647 positions needs \d+ bytes .*\(\d+ free\)\.")
        self.assert_fails(done)
        self.assertLess(
            done.rss_kib, run("run", "-m", MODEL, "-p", "x", "-n", "0").rss_kib + 16 * 1024
        )

    def test_a_context_the_model_claims_is_not_allocated(self):
        file = Gguf.read(MODEL).set("llama.context_length", U32, u32(0xFFFFFFFF))
        path = self.folder() / "huge.gguf"
        path.write_bytes(file.bytes())
        done = run("run", "-m", path, "-p", "x", "-n", "2")
        self.assertIn(done.status, (0, 1), done)
        self.assertLess(
            done.rss_kib, run("run", "-m", MODEL, "-p", "x", "-n", "0").rss_kib + 32 * 1024
        )


if __name__ == "__main__":
    unittest.main()
