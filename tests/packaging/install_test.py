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
  lib/cmake/qualia/qualiaConfig.cmake share/qualia/fetch_default_model.sh share/man/man1/qualia.1
  share/bash-completion/completions/qualia share/bash-completion/completions/qualia-cli
  share/zsh/site-functions/_qualia share/fish/vendor_completions.d/qualia.fish
  share/doc/qualia/LICENSE""".split()
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(qualia REQUIRED)
add_executable(consumer consumer.cpp)
target_link_libraries(consumer PRIVATE qualia::qualia)
"""
SOURCE = """#include <qualia/version.h>
#include <cstdio>
int main() { std::printf("%s", std::string(qualia::version()).c_str()); }
"""


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
        for name in ("qualia", "qualia-cli"):
            self.assertRegex(run(self.prefix / "bin" / name, "--version", env={}), r"\d+\.\d+\.\d+")

    def test_headers_need_nothing_of_the_source_tree(self):
        names = {path.name for path in (self.prefix / "include/qualia").iterdir()}
        self.assertIn("session.h", names)
        self.assertFalse((self.prefix / "include/base").exists())

    def test_another_project_links_the_package(self):
        source = pathlib.Path(self.folder.name, "consumer")
        source.mkdir()
        (source / "CMakeLists.txt").write_text(PROJECT)
        (source / "consumer.cpp").write_text("#include <string>\n" + SOURCE)
        build = source / "build"
        run("cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        self.assertIn(run(build / "consumer"), run(self.prefix / "bin/qualia", "--version"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
