#!/usr/bin/env python3
"""Conversations: on a terminal with editing and history, and line by line from a pipe."""

import os
import re
import subprocess
import unittest

from host_test import endless_model
from program import MODEL, NO_TEMPLATE, PROGRAM, EndToEndTest, Terminal, environment, run

CHAT = ("chat", "-m", MODEL, "--temp", "0", "-n", "3")
PROMPT_TOKENS = re.compile(r"(\d+) prompt tokens(?: \((\d+) known\))?")


class PipedChatTest(EndToEndTest):
    def chat(self, text, *options, **how):
        return run(*CHAT, *options, stdin=text if isinstance(text, bytes) else text.encode(), **how)

    def prompt_tokens(self, text, *options):
        done = self.assert_done(self.chat(text, "-v", *options))
        return [int(count) for count, _ in PROMPT_TOKENS.findall(done.err)]

    def test_each_line_gets_a_reply_and_nothing_else_goes_to_standard_output(self):
        done = self.assert_done(self.chat("Hi\n\nYou\r\n   \nlast without newline"))
        first = self.assert_done(run("run", "-m", MODEL, "--temp", "0", "-n", "3", "-p", "Hi")).out
        self.assertTrue(done.out.startswith(first), done)
        self.assertNotIn(b"> ", done.out.replace(first, b""))
        self.assertEqual(3, len(self.prompt_tokens("Hi\n\nYou\r\n   \nlast without newline")))

    def test_the_conversation_grows_and_is_known(self):
        done = self.assert_done(self.chat("Hi\nHi\nHi\n", "-v"))
        counts = [(int(count), int(known or 0)) for count, known in PROMPT_TOKENS.findall(done.err)]
        self.assertEqual(3, len(counts), done)
        self.assertLess(counts[0][0], counts[1][0])
        self.assertLess(counts[1][0], counts[2][0])
        self.assertEqual(0, counts[0][1])
        self.assertGreaterEqual(counts[1][1], counts[0][0])  # the first turn is not computed again
        self.assertGreaterEqual(counts[2][1], counts[1][0])

    def test_reset_forgets_and_system_changes(self):
        plain, system = (
            self.prompt_tokens("Hi\n")[0],
            self.prompt_tokens("Hi\n", "--system", "Short.")[0],
        )
        self.assertGreater(system, plain)
        text = "Hi\n/reset\nHi\n/system Short.\nHi\n/reset\nHi\n/system\nHi\n"
        self.assertEqual([plain, plain, system, system, plain], self.prompt_tokens(text))

    def test_slash_lines(self):
        done = self.assert_done(self.chat("/help\n/exit\nnever read\n", "-q"))
        self.assertEqual(b"", done.out)
        for word in ("/reset", "/system", "/exit", "Ctrl-C"):
            self.assertIn(word, done.err)
        self.assert_done(self.chat("/quit\nnever read\n"))
        done = self.chat("/rest\n", "-q")
        self.assert_fails(done, "'/rest'", "/reset")
        self.assertEqual(1, len(self.prompt_tokens(" /etc/passwd is a file\n")))

    def test_a_line_goes_on_after_a_backslash(self):
        joined = self.prompt_tokens("a\\\nb\n")
        self.assertEqual(1, len(joined))
        self.assertEqual(self.prompt_tokens("abc\n"), joined)  # the newline is one token
        self.assertEqual(1, len(self.prompt_tokens("a\\\n")))

    def test_too_long_a_line_fails_and_the_conversation_goes_on(self):
        done = self.chat("x" * 400 + "\nHi\n", "-q")
        self.assertEqual(1, done.status)
        self.assert_sentence(done, "256")
        alone = self.assert_done(self.chat("Hi\n", "-q"))
        self.assertEqual(alone.out, done.out)

    def test_any_bytes_and_an_empty_input(self):
        self.assert_done(self.chat(b"\xff\xfe\0\x80\n\xe2\x82\n"))
        self.assertEqual(b"", self.assert_done(self.chat("")).out)

    def test_a_closed_pipe_ends_the_chat(self):
        process = subprocess.Popen(
            [PROGRAM, *CHAT, "-q"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        process.stdout.close()
        process.stdin.write(b"Hi\n" * 3)
        process.stdin.flush()
        with process.stderr, process.stdin:
            self.assertEqual(1, process.wait(60))
            self.assertEqual(b"", process.stderr.read())


class TerminalChatTest(EndToEndTest):
    def setUp(self):
        self.cache = self.folder()
        self.env = environment(TERM="xterm", QUALIA_CACHE_DIR=str(self.cache))

    def open(self, *arguments, **how):
        terminal = Terminal(*(arguments or CHAT), env=self.env, **how)
        self.addCleanup(terminal.__exit__)
        return terminal

    def leave(self, terminal, keys="/exit\r", status=0):
        terminal.type(keys)
        self.assertEqual(status, terminal.wait(), terminal.shown)
        self.assertTrue(terminal.is_restored())

    def test_two_turns_keep_the_context(self):
        log = self.folder() / "err"
        with open(log, "wb") as err:
            terminal = self.open(*CHAT, "-v", stderr=err)
            at = terminal.say("Hi", terminal.prompt())
            terminal.say("Hi", at)
            self.leave(terminal)
        counts = [int(count) for count, _ in PROMPT_TOKENS.findall(log.read_text())]
        self.assertEqual(2, len(counts))
        self.assertGreater(counts[1], counts[0])
        self.assertNotIn(b"tok/s", terminal.shown)

    def test_ctrl_d_leaves(self):
        terminal = self.open()
        terminal.prompt()
        self.leave(terminal, b"\x04")

    def test_utf8_arrives_whole(self):
        text = "Grüße 北京 🦜 é́"
        expected = run(*CHAT, stdin=(text + "\n").encode())
        for locale in ({}, {"LC_ALL": "C"}, {"LC_ALL": "no_SUCH"}):
            self.env.update(locale)
            log = self.folder() / "err"
            with open(log, "wb") as err:
                terminal = self.open(*CHAT, "-v", stderr=err)
                terminal.say(text, terminal.prompt())
                self.leave(terminal)
            counts = PROMPT_TOKENS.findall(log.read_text())
            wanted = PROMPT_TOKENS.findall(run(*CHAT, "-v", stdin=(text + "\n").encode()).err)
            self.assertEqual(wanted, counts, terminal.shown)
            self.assertIn(expected.out.strip(), terminal.shown.replace(b"\r\n", b"\n"))

    def test_lines_can_be_edited_and_come_back(self):
        terminal = self.open()
        at = terminal.prompt()
        at = terminal.say("Hellx\x7fo", at)  # backspace
        terminal.type(b"\x1b[A")  # up
        terminal.expect(rb"Hello", since=at)
        at = terminal.say("", at)
        self.leave(terminal)
        history = (self.cache / "chat_history").read_text()
        self.assertIn("Hello", history)
        self.assertNotIn("Hellx", history)
        again = self.open()
        at = again.prompt()
        again.type(b"\x1b[A")
        again.expect(rb"/exit", since=at)
        again.type(b"\x1b[A")
        again.expect(rb"Hello", since=at)
        again.type(b"\x15")
        self.leave(again)

    def test_history_is_there_after_a_kill_and_nothing_else_is(self):
        terminal = self.open()
        terminal.say("remember me", terminal.prompt())
        terminal.process.kill()
        terminal.process.wait()
        self.assertEqual(["chat_history"], os.listdir(self.cache))
        self.assertIn("remember", (self.cache / "chat_history").read_text())

    def test_ctrl_c_stops_a_reply_and_keeps_the_conversation(self):
        log = self.folder() / "err"
        with open(log, "wb") as err:
            terminal = self.open(
                "chat", "-m", endless_model(self.folder()), "--temp", "0", "-v", stderr=err
            )
            at = terminal.prompt()
            for line in ("Hi", "Hi"):
                terminal.type(line + "\r")
                terminal.expect(rb"\n[^\n]{40}", since=at)  # the reply is on its way
                terminal.type(b"\x03")
                at = terminal.prompt(at + 1)
                self.assertIsNone(terminal.process.poll())
            self.leave(terminal)
        told = log.read_text()
        self.assertEqual(2, told.count("The reply was stopped."), told)
        counts = [int(count) for count, _ in PROMPT_TOKENS.findall(told)]
        self.assertGreater(counts[1], counts[0] + 40)  # what was said before Ctrl-C is remembered

    def test_ctrl_c_at_the_prompt_clears_the_line_and_twice_leaves(self):
        terminal = self.open()
        at = terminal.prompt()
        terminal.type(b"half a line\x03")
        at = terminal.expect(rb"another Ctrl-C", since=at)
        at = terminal.prompt(at)
        self.assertTrue(terminal.process.poll() is None)
        at = terminal.say("Hi", at)  # a line in between: it takes two again
        terminal.type(b"\x03")
        at = terminal.expect(rb"another Ctrl-C", since=at)
        terminal.prompt(at)
        self.leave(terminal, b"\x03", status=130)
        self.assertNotIn("half", (self.cache / "chat_history").read_text())

    def test_suspended_and_resumed_at_the_prompt(self):
        # A shell with job control: without one the system ignores Ctrl-Z.
        shell = ["bash", "-c", 'set -m; "$0" "$@"; stty -a; echo STOPPED; fg', PROGRAM]
        terminal = self.open(*CHAT, wrapper=shell)
        terminal.prompt()
        terminal.type(b"\x1a")
        at = terminal.expect(rb"STOPPED")
        self.assertIn(b" icanon", terminal.shown)
        terminal.type("Hi\r")
        at = terminal.expect(rb"Hi.*\n> ", since=at)
        self.leave(terminal)

    def test_a_model_without_a_template_says_so_before_the_first_line(self):
        terminal = self.open("chat", "-m", NO_TEMPLATE)
        self.assertEqual(1, terminal.wait())
        self.assertIn(b"no chat template", terminal.shown)
        self.assertNotIn(b"> ", terminal.shown)

    def test_a_reply_can_not_steer_the_terminal(self):
        # Random weights say every byte sooner or later; ESC, BEL and CSI never arrive.
        terminal = self.open(
            "chat",
            "-m",
            MODEL,
            "-n",
            "200",
            "--seed",
            "5",
            "--temp",
            "2",
            "--top-k",
            "0",
            "--min-p",
            "0",
            "--top-p",
            "1",
        )
        at = terminal.prompt()
        end = terminal.say("Hi", at)
        reply = terminal.shown[at:end]
        reply = reply[reply.index(b"\n") : reply.rindex(b"> ")]
        self.assertGreater(len(reply), 50)
        self.assertNotRegex(reply, rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]")
        self.leave(terminal)


if __name__ == "__main__":
    unittest.main()
