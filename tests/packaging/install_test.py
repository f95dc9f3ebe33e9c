#!/usr/bin/env python3
"""What `cmake --install` puts down works where it lies, and another project links it.

Usage: install_test.py BUILD_FOLDER
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release").resolve()
FILES = """bin/qualia bin/qualia-cli include/qualia/model.h include/qualia/result.h
  lib/cmake/qualia/qualiaConfig.cmake libexec/qualia/qualia-worker
  share/qualia/fetch_default_model.sh share/man/man1/qualia.1
  share/bash-completion/completions/qualia share/bash-completion/completions/qualia-cli
  share/zsh/site-functions/_qualia share/fish/vendor_completions.d/qualia.fish
  share/doc/qualia/LICENSE""".split()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
# With ChatML as its template; what it says is noise, but always the same.
MODEL = SOURCE / "tests/data/tiny/q4_0.gguf"


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False, **more)
    if done.returncode != 0:
        raise AssertionError(f"{command} ends with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        first = pathlib.Path(cls.folder.name, "first")
        run("cmake", "--install", BUILD, "--prefix", first)
        cls.prefix = first.rename(pathlib.Path(cls.folder.name, "moved here"))

    def test_every_file_is_there(self):
        lacking = [name for name in FILES if not (self.prefix / name).exists()]
        self.assertEqual([], lacking)

    def test_the_program_starts_from_where_it_was_moved(self):
        for name in ("bin/qualia", "bin/qualia-cli", "libexec/qualia/qualia-worker"):
            self.assertRegex(run(self.prefix / name, "--version", env={}), r"\d+\.\d+\.\d+")

    def test_headers_need_nothing_of_the_source_tree(self):
        names = {path.name for path in (self.prefix / "include/qualia").iterdir()}
        self.assertIn("session.h", names)
        self.assertFalse((self.prefix / "include/base").exists())

    def build_example(self, name):
        build = pathlib.Path(self.folder.name, "example " + name)
        run("cmake", "-S", SOURCE / "examples" / name, "-B", build,
            f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        return build / "chat_once"

    def test_the_examples_build_against_the_package_and_give_one_answer(self):
        answers = {name: run(self.build_example(name), MODEL, "Hello?", "12")
                   for name in ("cpp", "c")}
        self.assertTrue(answers["c"].strip())
        self.assertEqual(answers["cpp"], answers["c"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
