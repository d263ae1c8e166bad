"""The gates of scripts/bench that need no measurement to be tested: what they read, and when they fail."""

import contextlib
import io
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))

from harness import instructions, process, small_sources, start  # noqa: E402

# Of two functions of one listed source and one of another. Callgrind numbers names at their first use, and says the inclusive cost of
# a call in the line after `calls=`.
CALLGRIND = """version: 1
positions: line
events: Ir

fl=(1) /built/policies/judge/counting.cc
fn=(1) count
10 {hot}
cfi=(2) /built/policies/set/compile.cc
cfn=(2) compile
calls=1 20
+1 700
fi=(3) /usr/include/c++/12/bits/stl_vector.h
* 5

fl=(2)
fn=(2)
20 {cold}
fn=(4) compile_more
-1 2

summary: 1000
"""


class SmallSources(unittest.TestCase):
    def per_request(self, few, many):
        with tempfile.TemporaryDirectory() as build:
            for name, text in (("small_sources", "policies/set/compile.cc\nconfig/parse.cc\n"), ("few", few), ("many", many)):
                with open(os.path.join(build, name), "w", encoding="utf-8") as f:
                    f.write(text)
            self.assertEqual(small_sources.by_source(os.path.join(build, "few"))["/built/policies/judge/counting.cc"], 105)
            return small_sources.per_request(build, os.path.join(build, "few"), os.path.join(build, "many"), 10)

    def test_a_source_has_what_its_own_functions_cost_and_starting_costs_nothing(self):
        found = self.per_request(CALLGRIND.format(hot=100, cold=30), CALLGRIND.format(hot=900, cold=80))
        self.assertEqual(found, [("policies/set/compile.cc", 5.0)])

    def test_a_file_that_names_no_listed_source_is_no_measurement(self):
        with self.assertRaisesRegex(process.Failure, "names none of the sources"):
            self.per_request(CALLGRIND.format(hot=100, cold=30).replace("compile.cc", "a.cc"), "")

    def test_a_build_without_the_list_has_no_such_sources(self):
        self.assertEqual(small_sources.listed("/nowhere"), set())


class Gates(unittest.TestCase):
    def said(self, gate, *arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = gate(*arguments)
        return code, out.getvalue()

    def test_a_request_may_spend_a_hundredth_in_sources_that_are_compiled_for_size(self):
        self.assertEqual(self.said(instructions.gate, {"weir": 10_000}, [("policies/set/compile.cc", 100.0)])[0], 0)
        code, said = self.said(instructions.gate, {"weir": 10_000}, [("policies/judge/counting.cc", 101.0)])
        self.assertEqual(code, 1)
        self.assertIn("policies/judge/counting.cc 101", said)

    def test_of_the_starts_the_fastest_counts_and_of_the_memory_the_most(self):
        mib = start.RESIDENT_BYTES_MOST / 2**20
        self.assertEqual(self.said(start.gate, [(49, 1, mib - 1, 0), (90, 1, mib, 0)], 0.5)[0], 0)
        self.assertEqual(self.said(start.gate, [(51, 1, 1, 0), (90, 1, 1, 0)], 0.5)[0], 1)
        self.assertEqual(self.said(start.gate, [(20, 1, mib - 1, 0), (20, 1, mib + 0.1, 0)], 0.5)[0], 1)

    def test_on_a_busy_machine_a_late_start_is_judged_by_its_cpu_time(self):
        self.assertEqual(self.said(start.gate, [(300, 101, 1, 0), (400, 99, 1, 0)], 8)[0], 0)
        self.assertEqual(self.said(start.gate, [(300, 101, 1, 0)], 8)[0], 1)


if __name__ == "__main__":
    unittest.main()
