#!/usr/bin/env python3
"""What each command prints: shapes of the JSON documents, exact counts, equal texts."""

import csv
import io
import json
import math
import unittest

from program import ESCAPE, MODEL, NO_TEMPLATE, PROGRAM, TINY, EndToEndTest, environment, run

PATH_FIELDS = {
    "lane": str,
    "device": str,
    "backend": str,
    "winning_circuit": str,
    "rationale": list,
}
BENCH_FIELDS = [
    "test",
    "lane",
    "device",
    "backend",
    "precision",
    "kv",
    "tok_s_median",
    "tok_s_min",
    "tok_s_max",
    "runs",
    "bytes_per_token",
    "gb_per_s",
    "ceiling_share",
]
PHASES = ["embedding", "gemm", "attention", "fused_block", "output_topk"]
OP_FIELDS = [
    "name",
    "phase",
    "calls",
    "total_ns",
    "bytes",
    "multiply_adds",
    "gb_per_s",
    "gflop_per_s",
    "ceiling_share",
]
SHORT_BENCH = ("bench", "-m", MODEL, "-p", "16", "-n", "4", "-r", "2")


class CommandsTest(EndToEndTest):
    def json(self, *arguments, **how):
        done = self.assert_done(run(arguments[0], "--json", *arguments[1:], **how))
        self.assertEqual(b"\n", done.out[-1:])
        return json.loads(done.out)

    def reply(self, *arguments, **how):
        return self.json("run", "-m", MODEL, *arguments, **how)

    def assert_fields(self, fields, document):
        for name, kind in fields.items():
            self.assertIsInstance(document.get(name), kind, name)

    # run

    def test_run_json_has_the_promised_fields(self):
        reply = self.reply("-p", "Hello", "-n", "5")
        self.assert_fields(
            {
                "text": str,
                "tokens": list,
                "prompt_tokens": int,
                "seed": int,
                "completion_tokens": int,
                "finish_reason": str,
            },
            reply,
        )
        self.assert_fields(
            dict.fromkeys(
                ("load_ms", "prefill_ms", "prefill_tok_s", "decode_ms", "decode_tok_s"),
                (int, float),
            ),
            reply["timings"],
        )
        self.assert_fields(PATH_FIELDS, reply["path"])
        self.assertEqual(
            " / ".join(reply["path"][name] for name in ("lane", "device", "backend")),
            reply["path"]["winning_circuit"],
        )

    def test_n_is_exact(self):
        for count in (0, 1, 2, 7):
            reply = self.reply("-p", "Hello", "--temp", "0", "-n", str(count))
            self.assertEqual(
                (count, count, "length"),
                (len(reply["tokens"]), reply["completion_tokens"], reply["finish_reason"]),
            )

    def test_temperature_zero_and_equal_seeds_repeat_a_reply(self):
        for options in (("--temp", "0"), ("--seed", "7"), ("--seed", "18446744073709551615")):
            first, second = (self.reply("-p", "Hello", "-n", "12", *options) for _ in range(2))
            self.assertEqual(first["tokens"], second["tokens"], options)

    def test_the_seed_in_the_answer_repeats_a_drawn_reply(self):
        drawn = self.reply("-p", "Hello", "-n", "12")
        again = self.reply("-p", "Hello", "-n", "12", "--seed", str(drawn["seed"]))
        self.assertEqual(drawn["tokens"], again["tokens"])

    def test_other_seeds_give_other_replies(self):
        replies = {
            tuple(self.reply("-p", "Hello", "-n", "12", "--seed", str(seed))["tokens"])
            for seed in range(4)
        }
        self.assertGreater(len(replies), 1)

    def test_stop_ends_the_reply_before_its_text(self):
        # Random weights say bytes; a printable one from the middle of the greedy reply is the stop.
        whole = self.reply("-p", "Hello", "--temp", "0", "-n", "60")["text"]
        stop = next(letter for letter in whole[1:] if letter.isascii() and letter.isprintable())
        for stops in (("--stop", stop), ("--stop", "nowhere in it", "--stop", stop)):
            reply = self.reply("-p", "Hello", "--temp", "0", "-n", "60", *stops)
            self.assertEqual(
                (whole[: whole.index(stop)], "stop"), (reply["text"], reply["finish_reason"])
            )

    def test_a_stop_in_brackets_stays_one_text(self):
        self.reply("-p", "Hello", "-n", "1", "--stop", "[END]", "--stop", "[a,b]")

    def test_the_streamed_text_is_the_json_text(self):
        for model, options in (
            (MODEL, ("--temp", "0")),
            (MODEL, ("--seed", "3")),
            (NO_TEMPLATE, ("--seed", "3")),
        ):
            arguments = ("run", "-m", model, "-p", "Grüße", "-n", "40", *options)
            streamed = self.assert_done(run(*arguments))
            text = self.json(*arguments)["text"]
            self.assertEqual(text + "\n", streamed.out.decode())

    def test_a_prompt_is_the_same_from_an_option_a_pipe_and_a_file(self):
        prompt = "Où? 北京 🦜 \\ \"x\""
        file = self.folder() / "prompt.txt"
        file.write_text(prompt, encoding="utf-8")
        raw = prompt.encode()
        ways = [
            self.reply("--temp", "0", "-n", "6", *way, stdin=stdin)
            for way, stdin in (
                (("-p", prompt), b""),
                (("-p", "-"), raw),
                ((), raw),
                (("-f", file), b""),
                (("-f", "-"), raw),
            )
        ]
        for way in ways:
            self.assertEqual(
                (ways[0]["prompt_tokens"], ways[0]["tokens"]), (way["prompt_tokens"], way["tokens"])
            )

    def test_raw_leaves_the_template_out_and_reads_control_tokens(self):
        chat, raw = self.reply("-p", "Hi", "-n", "1"), self.reply("-p", "Hi", "-n", "1", "--raw")
        self.assertGreater(chat["prompt_tokens"], raw["prompt_tokens"])
        self.assertEqual(2, raw["prompt_tokens"])
        control = self.reply("-p", "<|im_start|>", "-n", "1", "--raw")
        self.assertEqual(1, control["prompt_tokens"])
        # In a chat the same text is what somebody wrote, byte by byte.
        quoted = self.reply("-p", "<|im_start|>", "-n", "1")
        self.assertEqual(
            chat["prompt_tokens"] - 2 + len("<|im_start|>") - 1, quoted["prompt_tokens"] - 1
        )

    def test_any_bytes_are_a_prompt(self):
        for raw in (b"a\0b", b"\xff\xfe\x80", b"\xe2\x82", bytes(range(256))):
            reply = self.reply(
                "-p", "-", "-n", "2", "--raw", "--temp", "0", "--ctx", "300", stdin=raw
            )
            self.assertEqual(2, reply["completion_tokens"])

    def test_an_empty_prompt_is_a_turn_of_nothing_but_no_raw_text(self):
        for way in (("-p", ""), ("-p", "-")):
            self.assertEqual(2, self.reply(*way, "-n", "2")["completion_tokens"])
        self.assert_fails(run("run", "-m", MODEL, "-p", "", "--raw"), "no tokens")

    def test_an_empty_system_message_is_one(self):
        without = self.reply("-p", "Hi", "-n", "1")["prompt_tokens"]
        self.assertLess(without, self.reply("-p", "Hi", "-n", "1", "--system", "")["prompt_tokens"])

    def test_a_prompt_over_the_context_names_both_numbers(self):
        done = run("run", "-m", MODEL, "-p", "x" * 500, "--raw", "--ctx", "100")
        self.assert_fails(done, "500", "100")

    def test_a_full_context_ends_the_reply(self):
        reply = self.reply("-p", "Hello", "--raw", "--temp", "0", "--ctx", "20")
        self.assertEqual("context", reply["finish_reason"])
        done = self.assert_done(
            run("run", "-m", MODEL, "-p", "Hello", "--raw", "--temp", "0", "--ctx", "20")
        )
        self.assertIn("context is full", done.err)

    def test_quiet_says_nothing_and_verbose_says_where_it_ran(self):
        arguments = ("run", "-m", NO_TEMPLATE, "-p", "Hello", "-n", "3")
        self.assertEqual("", self.assert_done(run(*arguments, "-q")).err)
        for more in ((), ("-v",), ("-vv",)):
            self.assertIn("cpu / CPU", self.assert_done(run(*arguments, *more)).err)

    # tokenize, detokenize

    def test_tokenize_lists_ids(self):
        ids = self.json("tokenize", "-m", MODEL, "the hat")
        self.assertTrue(ids and all(isinstance(number, int) for number in ids))
        plain = self.assert_done(run("tokenize", "-m", MODEL, "the hat"))
        self.assertEqual(" ".join(map(str, ids)) + "\n", plain.out.decode())
        self.assertEqual([], self.json("tokenize", "-m", MODEL, ""))

    def test_tokenize_takes_words_that_look_like_something_else(self):
        for text in ("run", "[END]", "[a,b]", "{}", "a=b", "%%", "--help", "-", "-x", "'", "llm"):
            piped = self.json("tokenize", "-m", MODEL, "-", stdin=text.encode())
            if text != "-":
                self.assertEqual(piped, self.json("tokenize", "-m", MODEL, "--", text), text)

    def test_tokenize_and_detokenize_keep_every_byte(self):
        for raw in (bytes(range(256)), "Grüße, 北京 🦜\r\n".encode(), b"\xff\0\n"):
            ids = self.assert_done(run("tokenize", "-m", MODEL, "-", stdin=raw)).out
            back = self.assert_done(run("detokenize", "-m", MODEL, "-", stdin=ids))
            self.assertEqual(raw, back.out)

    def test_special_tokens_are_read_and_shown_on_request(self):
        self.assertEqual([1], self.json("tokenize", "-m", MODEL, "--parse-special", "<|im_start|>"))
        self.assertLess(5, len(self.json("tokenize", "-m", MODEL, "<|im_start|>")))
        self.assertEqual({"text": ""}, self.json("detokenize", "-m", MODEL, "1"))
        self.assertEqual(
            {"text": "<|im_start|>"}, self.json("detokenize", "-m", MODEL, "--parse-special", "[1]")
        )

    def test_ids_out_of_range_are_named(self):
        for words in (("detokenize", "--"), ("logits", "--tokens")):
            for ids in ("267", "-1", "0,1,267", "2147483648", "1.5", "x", "1e3"):
                done = run(*words[:1], "-m", MODEL, *words[1:], ids)
                self.assert_fails(done, ids.split(",")[-1])
        self.assert_fails(run("logits", "-m", MODEL, "--tokens", ""), "empty")

    def test_the_older_name_and_its_llm_word_are_the_same_program(self):
        older = PROGRAM.with_name("qualia-cli")
        expected = self.assert_done(run("tokenize", "-m", MODEL, "Hello")).out
        for program, words in ((older, ["llm"]), (older, []), (PROGRAM, ["llm"])):
            done = self.assert_done(run(*words, "tokenize", "-m", MODEL, "Hello", program=program))
            self.assertEqual(expected, done.out)

    # logits, perplexity, bench, inspect

    def test_logits_shape(self):
        document = self.json(
            "logits", "-m", MODEL, "--tokens", "3,4,5,6", "--last", "2", "--top", "3"
        )
        self.assertEqual([2, 3], [entry["position"] for entry in document["positions"]])
        for entry in document["positions"]:
            self.assertEqual((3, 3), (len(entry["top_ids"]), len(entry["top_logits"])))
            self.assertEqual(sorted(entry["top_logits"], reverse=True), entry["top_logits"])
            self.assertGreater(entry["logsumexp"], entry["top_logits"][0])
        whole = self.json("logits", "-m", MODEL, "--tokens", "3", "--last", "9", "--top", "99999")
        self.assertEqual(267, len(whole["positions"][0]["top_ids"]))

    def test_logits_are_those_of_the_stored_reference(self):
        stored = json.loads((TINY / "q4_1.json").read_text())
        document = self.json(
            "logits",
            "-m",
            MODEL,
            "--tokens",
            ",".join(map(str, stored["tokens"])),
            "--last",
            "99",
            "--top",
            "1",
        )
        self.assertEqual(stored["argmax"], [entry["top_ids"][0] for entry in document["positions"]])

    def test_perplexity_shape(self):
        file = self.folder() / "text"
        file.write_text("The quick brown fox jumps over the lazy dog. " * 3)
        report = self.json("perplexity", "-m", MODEL, "-f", file, "-c", "32")
        self.assert_fields(
            {"tokens": int, "windows": int, "mean_nll": float, "perplexity": float, "argmax": list},
            report,
        )
        self.assertEqual(report["windows"] * 31, report["tokens"])
        self.assertEqual(report["windows"] * 32, len(report["argmax"]))
        self.assertAlmostEqual(math.exp(report["mean_nll"]), report["perplexity"], places=6)
        piped = self.json("perplexity", "-m", MODEL, "-f", "-", "-c", "32", stdin=file.read_bytes())
        self.assertEqual(report, piped)

    def test_perplexity_of_too_short_a_text_names_both_numbers(self):
        done = run("perplexity", "-m", MODEL, "-f", "-", "-c", "32", stdin=b"abc")
        self.assert_fails(done, " 3 ", "32")

    def test_bench_formats_have_the_same_rows(self):
        rows = self.json(*SHORT_BENCH)
        self.assertEqual(["pp16", "tg4"], [row["test"] for row in rows])
        for row in rows:
            self.assertEqual(BENCH_FIELDS, list(row))
            self.assertLessEqual(row["tok_s_min"], row["tok_s_median"])
            self.assertLessEqual(row["tok_s_median"], row["tok_s_max"])
            self.assertEqual(2, row["runs"])
        table = list(
            csv.DictReader(io.StringIO(self.assert_done(run(*SHORT_BENCH, "--csv")).out.decode()))
        )
        self.assertEqual(BENCH_FIELDS, list(table[0]))
        self.assertEqual(["pp16", "tg4"], [row["test"] for row in table])
        self.assertGreater(float(table[0]["tok_s_median"]), 0)
        markdown = self.assert_done(run(*SHORT_BENCH, "--md")).out.decode().splitlines()
        self.assertEqual({11}, {line.count("|") for line in markdown})
        self.assertEqual(4, len(markdown))
        self.assertRegex(self.assert_done(run(*SHORT_BENCH)).out.decode(), r"pp16 .*\ntg4 ")

    def test_bench_names_precision_and_kv_in_force(self):
        words = {
            (): ("precise", "f16"),
            ("--precision", "fast"): ("fast", "int8"),
            ("--precision", "exact"): ("exact", "f32"),
            ("--precision", "precise", "--kv", "int8"): ("precise", "int8"),
            ("--precision", "fast", "--lane", "reference"): ("exact", "f32"),
        }
        short = (*SHORT_BENCH, "-r", "1", "-p", "0")
        for how, expected in words.items():
            with self.subTest(how=how):
                row = self.json(*short, *how)[0]
                self.assertEqual(expected, (row["precision"], row["kv"]))
        how = ("--precision", "fast")
        csv_text = self.assert_done(run(*short, *how, "--csv")).out.decode()
        row = list(csv.DictReader(io.StringIO(csv_text)))[0]
        self.assertEqual(("fast", "int8"), (row["precision"], row["kv"]))
        markdown = self.assert_done(run(*short, *how, "--md")).out.decode()
        self.assertIn("| precision | kv |", markdown)
        self.assertIn("| fast | int8 |", markdown)
        text = self.assert_done(run(*short, *how)).out.decode()
        self.assertIn("(precision fast, kv int8)\n", text)

    def test_bench_takes_a_depth_and_leaves_tests_out(self):
        rows = self.json(*SHORT_BENCH, "-d", "32", "-p", "0")
        self.assertEqual(["tg4 @ d32"], [row["test"] for row in rows])
        self.assert_fails(run(*SHORT_BENCH, "-d", "250"), "266", "256")
        rows = self.json(*SHORT_BENCH, "-b", "3", "-p", "0")
        self.assertEqual(["tg4 x3"], [row["test"] for row in rows])

    def test_profile_json_has_the_promised_fields(self):
        for lane in ("cpu", "reference"):
            report = self.json("profile", "-m", MODEL, "-n", "6", "-d", "20", "--lane", lane)
            self.assertEqual(PHASES, [phase["phase"] for phase in report["phases"]])
            self.assert_fields(
                dict.fromkeys(
                    ("wall_ns", "busy_ns", "unattributed_ns", "dropped", "steps", "every"), int
                ),
                report,
            )
            self.assertIs(True, report["perturbed"])
            self.assertEqual((6, 0), (report["steps"], report["dropped"]))
            self.assertIn("perturbed", report["note"])
            self.assertEqual("each stage", report["granularity"])
            spent = sum(phase["total_ns"] for phase in report["phases"])
            self.assertEqual(report["wall_ns"], spent + report["unattributed_ns"])
            calls = {phase["phase"]: phase["calls"] for phase in report["phases"]}
            self.assertEqual(  # a layer, six tokens
                {"embedding": 6, "gemm": 24, "attention": 6, "fused_block": 0, "output_topk": 6},
                calls,
            )
            for op in report["ops"]:
                self.assertEqual(OP_FIELDS, list(op))
                self.assertGreater(op["bytes"], 0)
                self.assertGreater(op["gb_per_s"], 0)
            for phase in report["phases"]:
                mine = [op for op in report["ops"] if op["phase"] == phase["phase"]]
                self.assertEqual(phase["total_ns"], sum(op["total_ns"] for op in mine))
                self.assertEqual(phase["share"] is None, not mine)

    def test_profile_trace_is_a_row_a_phase_and_an_event_a_call(self):
        file = self.folder() / "trace.json"
        done = run("profile", "-m", MODEL, "-n", "3", "-p", "5", "--trace", file)
        text = self.assert_done(done).out.decode()
        self.assertRegex(text, r"gemm +\d+ +\d+\.\d{3} +\d+\.\d %")
        self.assertIn("tok/s, perturbed", text)
        events = json.loads(file.read_text())["traceEvents"]
        names = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
        self.assertEqual(PHASES, [names[row] for row in sorted(names) if row > 0])
        spans = [event for event in events if event["ph"] == "X"]
        self.assertEqual(4 * 7, len(spans))  # four steps of seven stages
        for span in spans:
            self.assertEqual(span["cat"], names[span["tid"]])
        ends = [round(span["ts"] + span["dur"], 3) for span in spans]
        self.assertEqual([0.0, *ends[:-1]], [span["ts"] for span in spans])

    def test_profile_samples_and_takes_prompts_alone(self):
        report = self.json("profile", "-m", MODEL, "-n", "7", "--every", "3")
        self.assertEqual((3, 3), (report["steps"], report["every"]))
        report = self.json("profile", "-m", MODEL, "-n", "0", "-p", "9")
        self.assertEqual((1, 9, 0), (report["steps"], report["prompt_tokens"], report["tokens"]))
        self.assert_fails(run("profile", "-m", MODEL, "-n", "200", "-d", "100"), "300", "256")
        for place in ("/no/such/folder/t.json", "/dev/full"):
            self.assert_fails(run("profile", "-m", MODEL, "-n", "1", "--trace", place), place)

    def test_bench_has_phases_where_the_variable_asks_for_them(self):
        for value in ("1", "True"):
            env = environment(QUALIA_LLM_GPU_PROFILE=value)
            for row in self.json(*SHORT_BENCH, env=env):
                self.assertEqual(BENCH_FIELDS, list(row)[: len(BENCH_FIELDS)])
                self.assertEqual(PHASES, [phase["phase"] for phase in row["phases"]])
                self.assertIs(True, row["perturbed"])
            text = self.assert_done(run(*SHORT_BENCH, env=env)).out.decode()
            self.assertEqual(2, text.count("perturbed"))
        env = environment(QUALIA_LLM_GPU_PROFILE="off")
        self.assertEqual(BENCH_FIELDS, list(self.json(*SHORT_BENCH, env=env)[0]))
        env = environment(QUALIA_LLM_GPU_PROFILE="maybe")
        done = run(*SHORT_BENCH, env=env)
        self.assert_usage_error(done, "QUALIA_LLM_GPU_PROFILE", "'maybe'", "true")

    def test_inspect_shape(self):
        report = self.json("inspect", MODEL)
        self.assertEqual((3, [str(MODEL)]), (report["version"], report["files"]))
        metadata = {entry["key"]: entry for entry in report["metadata"]}
        self.assertEqual(
            ("string", "llama"),
            (metadata["general.architecture"]["type"], metadata["general.architecture"]["value"]),
        )
        self.assertEqual(
            {"name", "type", "shape", "offset", "size_bytes", "file"}, set(report["tensors"][0])
        )
        self.assertEqual(11, len(report["tensors"]))

    def test_inspect_prints_a_line_an_entry(self):
        report = self.json("inspect", MODEL)
        lines = self.assert_done(run("inspect", MODEL)).out.decode().splitlines()
        self.assertEqual(
            len(report["metadata"]) + len(report["tensors"]),
            sum(line.startswith("  ") for line in lines),
        )

    # all of them

    def test_pipes_get_no_terminal_codes(self):
        text = ("perplexity", "-m", MODEL, "-f", "-", "-c", "4")
        for arguments in (
            ("inspect", MODEL),
            ("run", "-m", MODEL, "-p", "Hello", "-n", "0", "-vv"),
            SHORT_BENCH,
            ("profile", "-m", MODEL, "-n", "2"),
            text,
            ("--help",),
            ("run", "--help"),
            ("--version",),
        ):
            done = self.assert_done(run(*arguments, stdin=b"Hello world, hello", env=None))
            self.assertNotIn(ESCAPE, done.out.decode() + done.err, arguments)
            self.assertNotIn("\r", done.out.decode() + done.err, arguments)


if __name__ == "__main__":
    unittest.main()
