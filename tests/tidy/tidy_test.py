#!/usr/bin/env python3
"""Shows that each rule finds what it is for: a good tree passes, each bad change to it is found."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import cpp_text
import rules
from tree import Tree

LAYERS = "# comment\nbase:\ntensor: base\nlanes: base tensor\nlanes/cpu: base lanes\n"
HEADER = '// What it is.\n#pragma once\n\n#include "base/error.h"\n'
GOOD = {
    "src/LAYERS": LAYERS,
    "src/base/CMakeLists.txt": "qualia_room(NAME base LINKS fmt::fmt)\n",
    "src/tensor/CMakeLists.txt": "qualia_room(NAME tensor USES base)\n",
    "src/lanes/cpu/CMakeLists.txt": "qualia_room(NAME lanes/cpu USES base lanes)\n",
    "src/base/error.h": '// Errors.\n#pragma once\n#include <string>\n#include "qualia/result.h"\n',
    "src/tensor/dtype.h": HEADER,
    "src/lanes/cpu/dot.cpp": '#include "lanes/lane.h"\n\nint dot() { return 1; }\n',
    "src/lanes/lane.h": "// A lane.\n#pragma once\n",
    "include/qualia/result.h": "// Result.\n#pragma once\n#include <string>\n"
                               "#include <tl/expected.hpp>\n",
    "apps/cli/main.cpp": '#include <qualia/result.h>\n#include "options.h"\nint main() {}\n',
    "apps/cli/options.h": '// Options.\n#pragma once\n#include "qualia/result.h"\n',
    "src/base/error_test.cpp": "TEST(Error, KeepsItsMessage) { EXPECT_EQ(1, 1); }\n",
}


def function_of(line_count, name="run"):
    return f"int {name}(int a) {{\n" + "  ++a;\n" * (line_count - 3) + "  return a;\n}\n"


class RulesTest(unittest.TestCase):
    def findings(self, changes, exceptions=""):
        with tempfile.TemporaryDirectory() as folder:
            files = {**GOOD, "tests/tidy/exceptions.txt": exceptions, **changes}
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text if isinstance(text, bytes) else text.encode())
            return list(rules.all_findings(Tree(folder)))

    def assert_finds(self, rule, path, text, exceptions="", line=None):
        found = self.findings({path: text}, exceptions)
        self.assertEqual([(rule, path)], sorted({(each.rule, each.path) for each in found}), found)
        if line:
            self.assertEqual(line, found[0].line)

    def test_a_good_tree_passes(self):
        self.assertEqual([], self.findings({}))

    def test_a_room_below_is_refused(self):
        self.assert_finds("layers", "src/tensor/a.cpp", 'int a;\n#include "lost/a.h"\n', line=2)
        found = self.findings({"src/tensor/up.cpp": '#include "lanes/lane.h"\n'})
        self.assertEqual({"layers", "uses"}, {each.rule for each in found})

    def test_a_sibling_lane_is_refused(self):
        layers = LAYERS + "lanes/wgpu: base lanes\n"
        found = self.findings({"src/LAYERS": layers,
                               "src/lanes/wgpu/a.cpp": '#include "lanes/cpu/dot.h"\n'})
        self.assertEqual(["layers"], [each.rule for each in found])

    def test_a_parent_does_not_include_a_room_inside_it(self):
        found = self.findings({"src/lanes/registry.cpp": '#include "lanes/cpu/dot.h"\n'})
        self.assertEqual(["layers"], [each.rule for each in found])

    def test_spelling_of_includes(self):
        self.assert_finds("layers", "src/base/a.cpp", '#include "error.h"\n')
        self.assert_finds("layers", "src/base/a.cpp", "#include <base/error.h>\n")
        self.assert_finds("layers", "src/base/a.cpp", '#include "qualia/missing.h"\n')
        self.assert_finds("layers", "src/lost/a.cpp", "int a;\n")

    def test_layers_name_only_rooms_above(self):
        self.assert_finds("layers", "src/LAYERS", LAYERS.replace("base:", "base: tensor"))

    def test_programs_use_public_headers_only(self):
        for include in ('"base/error.h"', "<base/error.h>", '"qualia/missing.h"'):
            self.assert_finds("layers", "apps/cli/a.cpp", f"#include {include}\n")
            self.assert_finds("layers", "examples/cpp/a.cpp", f"#include {include}\n")

    def test_uses_obey_layers_and_cover_includes(self):
        self.assert_finds("uses", "src/base/CMakeLists.txt", "qualia_room(NAME base USES tensor)\n")
        self.assert_finds("uses", "src/tensor/CMakeLists.txt", "qualia_room(NAME tensor)\n")
        self.assert_finds("uses", "src/base/CMakeLists.txt", "qualia_room(NAME bass)\n")

    def test_long_files_need_a_reason_and_have_a_limit(self):
        path, text = "src/base/long.cpp", "int a();\n" * 601
        self.assert_finds("file-length", path, text)
        self.assertEqual([], self.findings({path: text}, f"file {path} 601 one table\n"))
        self.assert_finds("file-length", path, "int a();\n" * 801, "")

    def test_an_exception_grants_no_more_than_it_names(self):
        path = "src/base/long.cpp"
        found = self.findings({path: "int a();\n" * 620}, f"file {path} 610 one table\n")
        self.assertEqual({"file-length", "exceptions"}, {each.rule for each in found})

    def test_long_functions(self):
        self.assertEqual([], self.findings({"src/base/f.cpp": function_of(70)}))
        self.assert_finds("function-length", "src/base/f.cpp", function_of(71), line=1)
        entry = "function src/base/f.cpp run 71 a table of cases\n"
        self.assertEqual([], self.findings({"src/base/f.cpp": function_of(71)}, entry))

    def test_stale_or_unexplained_exceptions(self):
        for entry in ("file src/base/error.h 700 gone\n", "file src/base/error.h 700\n", "what\n"):
            self.assert_finds("exceptions", "tests/tidy/exceptions.txt", entry)

    def test_layout_of_lines(self):
        self.assert_finds("columns", "src/base/a.cpp", "// " + "x" * 98 + "\n")
        self.assertEqual([], self.findings({"src/base/a.cpp": "// " + "\u00e9" * 97 + "\n"}))
        self.assert_finds("tab", "src/base/a.cpp", "\tint a;\n")
        self.assert_finds("line-end", "src/base/a.cpp", "int a; \n")
        self.assert_finds("line-end", "src/base/a.cpp", "int a;\r\n")
        self.assert_finds("file-end", "src/base/a.cpp", "int a;")
        self.assert_finds("file-end", "docs/a.md", "text\n\n")

    def test_text_inside_raw_strings_is_data(self):
        text = 'const char* a = R"(\n' + "x" * 120 + "\n\ttab \n)\";\n"
        self.assertEqual([], self.findings({"src/base/a.cpp": text}))
        text = 'A = r"""\n' + "x" * 120 + '\n"""\n'
        self.assertEqual([], self.findings({"tools/a.py": text}))
        self.assert_finds("columns", "tools/a.py", text.replace("r", ""))

    def test_unfinished_words(self):
        for word in ("TO" + "DO: later", "FIX" + "ME", "XX" + "X", "not imple" + "mented",
                     "a stu" + "b for now", "Unimple" + "mented"):
            self.assert_finds("unfinished", "src/base/a.cpp", f"// {word}\n")
            self.assert_finds("unfinished", "docs/a.md", f"{word}\n")
        self.assertEqual([], self.findings({"docs/a.md": "mktemp a.XXXXXX, stubborn\n"}))

    def test_names_of_machines_and_registries(self):
        for name in ("/wo" + "rk/shared/x", "/ro" + "ot/x", "https://pyp" + "i.org/simple"):
            self.assert_finds("machine", "docs/a.md", f"see {name}\n")

    def test_headers_open_with_a_comment_and_are_included_once(self):
        self.assert_finds("header", "src/base/a.h", "#pragma once\nint a();\n")
        self.assert_finds("header", "src/base/a.h", "// What.\nint a();\n")

    def test_the_public_surface_is_small_and_self_contained(self):
        path = "include/qualia/a.h"
        start = "// A.\n#pragma once\n"
        for include in ("<fmt/core.h>", "<nlohmann/json.hpp>", '"base/error.h"', "<unistd.h>"):
            self.assert_finds("public", path, start + f"#include {include}\n")
        self.assertEqual([], self.findings({path: start + "#include <stdint.h>\n"}))
        long = {f"include/qualia/{i}.h": start + "int a();\n" * 500 for i in range(4)}
        found = self.findings(long)
        self.assertEqual(["public"], [each.rule for each in found])

    def test_names_of_tests_are_sentences(self):
        for name in ("Reads", "reads_it", "readsIt", "DISABLED_ReadsIt", "reads"):
            self.assert_finds("test", "src/base/a_test.cpp",
                              f"TEST(File, {name}) {{ EXPECT_TRUE(a()); }}\n")

    def test_tests_can_fail_and_do_not_sleep(self):
        for body in ("run();", "EXPECT_TRUE(a()); SUCC" + "EED();",
                     "std::this_thread::sleep_for(1s); EXPECT_TRUE(a());"):
            self.assert_finds("test", "src/base/a_test.cpp",
                              f"TEST_F(File, ReadsIt) {{\n  {body}\n}}\n")

    def test_a_test_may_leave_its_expectations_to_a_function(self):
        text = "void run() { EXPECT_TRUE(a()); }\nTEST(File, ReadsIt) { run(); }\n"
        self.assertEqual([], self.findings({"src/base/a_test.cpp": text}))


class CppTextTest(unittest.TestCase):
    def names(self, text):
        return [(each.name, each.lines) for each in cpp_text.functions(text)]

    def test_functions_at_every_scope_are_found(self):
        text = ("namespace a::b {\nnamespace {\nint free_one(int x) {\n  return x;\n}\n}\n"
                "template <typename T>\nclass C final : public D {\n public:\n"
                "  C() : a_{1}, b_(2) {\n    a();\n  }\n"
                "  bool operator==(const C&) const { return true; }\n"
                "  struct In { int x = f(1); };\n  int x_{3};\n};\n}\n"
                'extern "C" {\nint c_api(void) {\n  return 0;\n}\n}\n')
        found = self.names(text)
        self.assertIn(("free_one", 3), found)
        self.assertIn(("c_api", 3), found)
        self.assertIn(("C", 3), found)
        self.assertEqual(1, sum(name.startswith("operator") for name, _ in found))

    def test_braces_in_strings_comments_and_macros_do_not_count(self):
        text = ('#define OPEN(x) if (x) {\nvoid f() {\n  g("{", \'{\', R"({{)");  // {\n'
                "  /* { */\n}\nvoid h() {\n}\n")
        self.assertEqual([("f", 4), ("h", 2)], self.names(text))

    def test_a_target_region_is_no_function(self):
        text = 'QUALIA_TARGET_BEGIN("avx2")\nnamespace a {\nvoid f() {\n}\n}\nQUALIA_TARGET_END\n'
        self.assertEqual([("f", 2)], self.names(text))

    def test_digit_separators_are_no_characters(self):
        self.assertEqual([("f", 1)], self.names("void f() { return 1'000'000; }\n"))

    def test_lambdas_belong_to_their_function(self):
        self.assertEqual([("f", 5)], self.names("void f() {\n  auto g = [] {\n  };\n  g();\n}\n"))


class ProgramTest(unittest.TestCase):
    def test_the_exit_status_tells(self):
        program = pathlib.Path(__file__).with_name("tidy.py")
        with tempfile.TemporaryDirectory() as folder:
            def run(*more):
                return subprocess.run([sys.executable, program, "--root", folder, *more],
                                      capture_output=True, text=True, check=False)
            for name, text in GOOD.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            self.assertEqual(0, run().returncode)
            self.assertIn("src/lanes/cpu", run("--report").stdout)
            pathlib.Path(folder, "src/base/a.cpp").write_text("\tint a;\n")
            self.assertEqual(1, run().returncode)
            self.assertIn("src/base/a.cpp:1: tab: ", run().stdout)


if __name__ == "__main__":
    unittest.main()
