"""tools/includes.py finds what a unity build hides, and finds nothing in the tree."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import includes  # noqa: E402

TEXT_H = "#pragma once\nnamespace weir {\nstd::string iso_time(TimePoint time);\nclass LogLine final {\n public:\n  void add_line(int n);\n};\n}\n"
LOG_H = '#pragma once\n#include "core/text.h"\n'


class Rule(unittest.TestCase):
    def found(self, source, header=LOG_H):
        files = {"core/text.h": TEXT_H, "app/log.h": header, "app/log.cc": source,
                 "app/other.cc": "namespace weir {\nnamespace {\nint size_of_all(int n) {\n  return n;\n}\n}\n}\n"}
        return [(name, line, word) for name, line, word, _ in includes.findings({name: includes.File(text) for name, text in files.items()})]

    def test_a_name_whose_header_is_reached_is_included(self):
        self.assertEqual(self.found('#include "app/log.h"\nauto a = iso_time(t);\nLogLine line;\n'), [])

    def test_a_function_and_a_type_whose_header_is_not(self):
        self.assertEqual(self.found('#include "app/log.h"\n\nauto a = f(iso_time(t));\nLogLine line;\n', "#pragma once\n"),
                         [("app/log.cc", 3, "iso_time"), ("app/log.cc", 4, "LogLine")])

    def test_what_a_neighbour_of_the_unit_has_for_itself(self):
        self.assertEqual(self.found("int a = size_of_all(3);\n"), [("app/log.cc", 1, "size_of_all")])

    def test_a_header_of_the_standard_library(self):
        self.assertEqual(self.found('#include <vector>\nstd::vector<int> a;\nstd::map<int, int> b;\n'), [("app/log.cc", 3, "std::map")])
        self.assertEqual(self.found('#include "app/log.h"\nstd::map<int, int> b;\n', "#pragma once\n#include <map>\n"), [])

    def test_members_own_names_texts_and_comments_are_none(self):
        self.assertEqual(self.found('int a = line.size_of_all(3) + p->iso_time(4);  // iso_time(t)\nauto b = "iso_time(";\n'
                                    "struct Own {\n  enum class LogLine { one };\n  LogLine line;\n  int iso_time(int n);\n};\n"
                                    "int c = f(iso_time(4));\n", ""), [])


class Tree(unittest.TestCase):
    def test_every_name_is_included(self):
        self.assertEqual(includes.findings_of_tree(), [])


if __name__ == "__main__":
    unittest.main()
