#!/usr/bin/env python3
"""Rows G of the bug reports through the program: refused in one line, soon and cheaply."""

import unittest

import hostile
from program import SANITIZED, EndToEndTest


class HostileTest(EndToEndTest):
    def test_each_file_is_refused_in_one_line_soon_and_cheaply(self):
        rows = set()
        for case, command, refused, done, growth in hostile.measure(self.folder()):
            rows.add(case.row)
            with self.subTest(row=case.row, file=case.title, command=command):
                self.assertIn(done.status, (0, 1), done)
                if refused is None:
                    refused = done.status == 1
                if refused:
                    self.assert_fails(done, case.name, *case.words)
                else:
                    self.assert_done(done)
                if not SANITIZED:
                    self.assertLess(done.seconds, hostile.SECONDS_MAX)
                    self.assertLess(growth, hostile.GROWTH_KIB_MAX)
        self.assertEqual(16, len(rows))


if __name__ == "__main__":
    unittest.main()
