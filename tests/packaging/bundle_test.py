#!/usr/bin/env python3
"""The bundle runs from another folder with nothing of this machine but glibc.

Usage: bundle_test.py BUILD_FOLDER
"""
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release").resolve()
BYTES_MAX = 50 * 1024 * 1024
GLIBC = re.compile(r"/(ld-linux[^/]*|lib(c|m|dl|pthread|rt|resolv|util|anl|mvec))\.so(\.\d+)*$")


class BundleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        made = subprocess.run([ROOT / "tools/make_bundle.sh", BUILD, f"{cls.folder.name}/dist"],
                              stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        cls.archive = pathlib.Path(made)
        elsewhere = pathlib.Path(cls.folder.name, "else where")
        with tarfile.open(cls.archive) as archive:
            archive.extractall(elsewhere)
        (cls.root,) = elsewhere.iterdir()
        cls.root = cls.root.rename(elsewhere / "renamed")

    def run_program(self, *arguments):
        return subprocess.run([self.root / "bin/qualia", *arguments], env={}, text=True,
                              capture_output=True, check=False)

    def test_the_archive_is_small_enough(self):
        self.assertLess(self.archive.stat().st_size, BYTES_MAX)

    def test_the_program_starts_without_an_environment(self):
        self.assertEqual(0, self.run_program("--version").returncode)

    def test_the_helper_program_starts_without_an_environment(self):
        done = subprocess.run([self.root / "libexec/qualia/qualia-worker", "--version"], env={},
                              capture_output=True, check=False)
        self.assertEqual(0, done.returncode, done.stderr)

    def test_it_reads_a_model(self):
        model = ROOT / "tests/data/tiny/q4_1.gguf"
        done = self.run_program("inspect", str(model), "--json")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertIn("general.architecture", done.stdout)

    def test_nothing_but_glibc_comes_from_outside(self):
        files = [path for path in (self.root / "lib").glob("*.so*") if not path.is_symlink()]
        # A library finds its own libraries through the RPATH of the program that loads it, so the
        # loader is asked about the program, and about libqualia as another program loads it.
        for file in [self.root / "bin/qualia", self.root / "libexec/qualia/qualia-worker",
                     *(path for path in files if path.name.startswith("libqualia"))]:
            resolved = subprocess.run(["ldd", file], env={"PATH": "/usr/bin:/bin"}, text=True,
                                      capture_output=True, check=True).stdout
            self.assertNotIn("not found", resolved)
            paths = re.findall(r"(?:=> )?(/.*?) \(0x", resolved)
            outside = [path for path in paths
                       if not pathlib.Path(path).resolve().is_relative_to(self.root.resolve())
                       and not GLIBC.search(path)]
            self.assertEqual([], outside, file)
            self.assertGreater(len(paths), 5)

    def test_licences_of_what_is_bundled_are_there(self):
        licences = self.root / "share/doc/qualia/licences"
        if not pathlib.Path("/usr/bin/dpkg-query").exists():
            self.skipTest("this system has no dpkg to ask for licences")
        self.assertGreater(len(list(licences.iterdir())), 5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
