#!/usr/bin/env python3
"""Wrong command lines (status 2, one sentence) and the help that tells the right ones."""

import re
import subprocess
import unittest

from program import MODEL, PROGRAM, ROOT, EndToEndTest, Terminal, run

COMMANDS = (
    "run",
    "chat",
    "bench",
    "profile",
    "perplexity",
    "logits",
    "tokenize",
    "detokenize",
    "inspect",
)
OPTION = re.compile(r"^  ((?:-{1,2}[a-z][a-z-]*,?)+)", re.M)


def options_in_help(command):
    """The spellings in a command's --help: ["-m,--model", ...]."""
    return OPTION.findall(run(command, "--help").out.decode())


class UsageTest(EndToEndTest):
    def test_what_is_missing_or_too_much_is_named(self):
        for arguments, words in (
            ((), ("command", "run")),
            (("frobnicate",), ("'frobnicate'", "run")),
            (("-m", MODEL, "run"), ("'-m'",)),
            (("--frobnicate",), ("'--frobnicate'",)),
            (("run", "--frobnicate", "-p", "x"), ("'--frobnicate'", "run")),
            (("run", "-x", "-p", "x"), ("'-x'", "run")),
            (("run", "-p", "a", "b"), ("'b'", "run")),
            (("run", "-p"), ("--prompt",)),
            (("run", "-p", "a", "-f", "b"), ("-p", "-f")),
            (("tokenize",), ("TEXT",)),
            (("tokenize", "a", "b"), ("'b'",)),
            (("detokenize",), ("IDS",)),
            (("inspect",), ("GGUF",)),
            (("inspect", "a", "b"), ("'b'",)),
            (("logits",), ("--tokens",)),
            (("perplexity",), ("-f",)),
            (("bench", "-p", "0", "-n", "0"), ("nothing",)),
            (("profile", "-p", "0", "-n", "0"), ("nothing",)),
            (("chat", "x"), ("'x'",)),
            (("tokenize", "-n", "x"), ("'-n'",)),
            (("run", "--json=maybe", "-p", "x"), ("--json",)),
        ):
            with self.subTest(arguments=arguments):
                self.assert_usage_error(run(*arguments), *words)

    def test_wrong_values_are_named_with_what_is_allowed(self):
        for option, value, words in (
            ("-n", "x", ("--max-tokens", "'x'")),
            ("-n", "-1", ("'-1'", "0")),
            ("-n", "99999999999999999999", ("2147483647",)),
            ("-n", "1.5", ("'1.5'",)),
            ("-n", "0x10", ("'0x10'",)),
            ("-n", "", ("''",)),
            ("-n", " 1", ("' 1'",)),
            ("--threads", "0", ("'0'", "4096")),
            ("--threads", "4097", ("'4097'",)),
            ("--ctx", "0", ("'0'",)),
            ("--seed", "-1", ("'-1'",)),
            ("--seed", "18446744073709551616", ()),
            ("--temp", "-1", ("'-1'",)),
            ("--temp", "nan", ("'nan'",)),
            ("--temp", "inf", ("'inf'",)),
            ("--temp", "0,5", ("'0,5'",)),
            ("--temp", "warm", ("'warm'",)),
            ("--top-p", "1.5", ("'1.5'", "1")),
            ("--min-p", "-0.1", ()),
            ("--repeat-penalty", "0", ()),
            ("--top-k", "-1", ()),
            ("--kv", "int4", ("'int4'", "int8, f16, f32")),
            ("--kv", "1", ("'1'",)),
            ("--precision", "best", ("fast, precise, exact",)),
            ("-m", "", ("--model", "empty")),
            ("--lane", "", ("--lane", "empty")),
            ("--backend", "", ("empty",)),
            ("-n", "\x1b[31m", ("x1b",)),
        ):
            with self.subTest(option=option, value=value):
                self.assert_usage_error(run("run", "-p", "x", option, value), *words)
        for arguments in (
            ("logits", "--tokens", "1", "--last", "0"),
            ("logits", "--tokens", "1", "--top", "0"),
            ("perplexity", "-f", "x", "-c", "1"),
            ("bench", "-r", "0"),
            ("bench", "-r", "1001"),
            ("bench", "-p", "x"),
            ("profile", "--every", "0"),
        ):
            with self.subTest(arguments=arguments):
                self.assert_usage_error(run(*arguments), f"'{arguments[-1]}'")

    def test_values_may_start_with_a_dash_or_have_leading_zeros(self):
        for arguments in (
            ("-p", "-hello", "-n", "1"),
            ("-p", "--raw", "-n", "1"),
            ("--prompt=-x", "--max-tokens=1"),
            ("-p", "x", "-n", "010", "--ctx", "0100"),
            ("-p", "x", "-n1"),
            ("-p", "x", "-n", "5", "-n", "1"),
            ("-p", "[a,b]", "-n", "1"),
        ):
            with self.subTest(arguments=arguments):
                self.assert_done(run("run", "-m", MODEL, *arguments))
        done = self.assert_done(
            run("run", "-m", MODEL, "-p", "x", "-n", "010", "--temp", "0", "--json")
        )
        self.assertIn(b'"completion_tokens":10,', done.out)

    def test_run_without_a_prompt_does_not_wait_for_a_person(self):
        with Terminal("run", "-m", MODEL) as terminal:
            self.assertEqual(2, terminal.wait())
            self.assertIn(b"needs a prompt", terminal.shown)

    def test_help_fits_and_shows_an_example(self):
        for command in (None, *COMMANDS):
            for flag in ("--help", "-h"):
                done = self.assert_done(run(*filter(None, (command, flag))))
                text = done.out.decode()
                self.assertEqual("", done.err)
                self.assertLessEqual(max(map(len, text.splitlines())), 100, text)
                self.assertIn("Usage: qualia", text)
                self.assertIn("Example", text)
        for command in COMMANDS:
            self.assertIn(f"\n  {command} ", run("--help").out.decode())

    def test_version_is_one_line(self):
        done = self.assert_done(run("--version"))
        self.assertRegex(done.out.decode(), r"^\S*\s*\d+\.\d+\.\d+.*\n$")

    def test_help_into_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            for flag in ("--help", "--version"):
                done = run(flag, stdout=full)
                self.assertEqual(1, done.status)
                self.assert_sentence(done, "No space left")


class DocumentationTest(EndToEndTest):
    """Every option of --help stands where people look for it."""

    def every_spelling(self):
        for command in COMMANDS:
            names = options_in_help(command)
            self.assertGreater(len(names), 2, command)
            for names in names:
                for name in names.split(","):
                    yield command, name

    def test_the_man_page_has_every_option_and_command(self):
        source = (ROOT / "packaging/man/qualia.1").read_text().replace("\\-", "-")
        for command, name in self.every_spelling():
            self.assertRegex(source, rf"(?<![\w-]){name}(?![\w-])", command)
        for command in COMMANDS:
            self.assertRegex(source, rf"(?m)^\.B {command}$")

    def test_the_man_page_has_no_option_that_help_lacks(self):
        known = {name for _, name in self.every_spelling()} | {"--version"}
        source = (ROOT / "packaging/man/qualia.1").read_text().replace("\\-", "-")
        body = source[source.index(".SH OPTIONS") : source.index(".SH EXIT")]
        self.assertEqual(set(), set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", body)) - known)

    def test_the_command_line_page_has_every_option(self):
        page = (ROOT / "docs/cli.md").read_text()
        for command, name in self.every_spelling():
            self.assertRegex(page, rf"(?<![\w-]){name}(?![\w-])", command)

    def test_bash_completes_every_long_or_only_option(self):
        script = ROOT / "packaging/completion/qualia.bash"
        for command in COMMANDS:
            for names in options_in_help(command):
                name = names.split(",")[-1]
                code = (
                    f'source "{script}"; COMP_WORDS=(qualia {command} "{name}"); COMP_CWORD=2; '
                    '_qualia; printf "%s\\n" "${COMPREPLY[@]}"'
                )
                offered = subprocess.run(
                    ["bash", "-c", code], capture_output=True, text=True, check=True
                ).stdout.split()
                self.assertIn(name, offered, command)
        code = (
            f'source "{script}"; COMP_WORDS=(qualia ""); COMP_CWORD=1; _qualia; '
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        offered = subprocess.run(
            ["bash", "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
        self.assertLessEqual(set(COMMANDS), set(offered))

    def test_zsh_and_fish_know_every_option(self):
        zsh = (ROOT / "packaging/completion/_qualia").read_text()
        fish = (ROOT / "packaging/completion/qualia.fish").read_text()
        for command, name in self.every_spelling():
            self.assertRegex(zsh, rf"(?<![\w-]){name}(?![\w-])", command)
            kind, word = ("-l", name[2:]) if name.startswith("--") else ("-s", name[1:])
            self.assertRegex(fish, rf"{kind} {word}(?![\w-])", command)


if __name__ == "__main__":
    unittest.main()
