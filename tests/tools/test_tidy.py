"""tools/tidy.py finds what each of its checks is for, and finds nothing in the tree."""

import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import tables  # noqa: E402
import tidy  # noqa: E402

# For each table: a file, the text that a row is put in front of, and a row that no test names, as clang-format would write it.
FAKE_ROWS = {
    "action": ("core/words.h", "ActionRow{Action::deny", 'ActionRow{Action::fake,\n              "zebra", "", false},\n    '),
    "metric": ("core/words.h", "MetricRow{Metric::score", 'MetricRow{\n        Metric::fake, "zebra", Takes::nothing},\n    '),
    "word": ("core/words.h", "Word<Mode>{Mode::shadow", 'Word<Mode>{Mode::zebra,\n               "zebra"},\n    '),
    "unit of time": ("core/words.h", "EpochUnitRow{EpochUnit::nanos", 'EpochUnitRow{EpochUnit::fake, "zebra", "", "", 1},\n    '),
    "window": ("limiter/kinds/counter_spec.h", "  leaky, ", "  zebra,  ///< a comment, with {braces}\n"),
    "shared form": ("limiter/kinds/kinds.h", "  leaky, ", "  zebra,  ///< a comment\n"),
    "function": ("policies/lang/expr/functions.cc", '{"startsWith"', '{"zebra",\n       false,\n       {{"x", Role::value, kText}}},\n      '),
    "extractor": ("policies/lang/extractors/http.cc", '{"host"', '{"zebra",\n     ArgumentForm::none, Type::text},\n    '),
    "caller": ("authz/callers.cc", '{"traefik"', '{"zebra",\n     {},\n     "x-original-uri"},\n    '),
    "door": ("app/doors/doors.cc", 'DoorRow{"grpc"', 'DoorRow{\n        "zebra", "Zebra", fake},\n    '),
    "record format": ("replay/formats.cc", "{config::SourceDef::Format::log", '{config::SourceDef::Format::fake,\n     "zebra", "", make_fake},\n    '),
    "field of the access log": ("telemetry/access_line.cc", "{AccessField::host", '{AccessField::fake,\n     "zebra", true, ""},\n    '),
    "subcommand": ("app/tools/schema.cc", "const Command kSchema", 'const Command kZebra{\n    "zebra", "Does nothing"};\n'),
}
KEY = '{{"zebra", R"({"enum":["a","b"]})",\n      kValuesOf<kActions, RungActions>, "`{}`",\n      "What "\n      "it is."},\n     nothing},\n    '


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tree = tables.Tree(tidy.ROOT)

    def found(self, check, changed, *more):
        """What the check says of the tree with these changed texts; the tests are read once."""
        tree, findings = tables.Tree(tidy.ROOT, changed), []
        tree.read = self.tree.read
        check(tree, *more, lambda file, line, what: findings.append(f"{file}: {what}"))
        return findings

    def with_row(self, file, before, row):
        text = self.tree.text(file)
        self.assertIn(before, text, file)
        return {file: text.replace(before, row + before, 1)}

    def test_a_row_of_each_table_needs_a_test(self):
        for table in tables.TABLES:
            if not table.walked_by:
                with self.subTest(table.name):
                    found = self.found(tables.check_table, self.with_row(*FAKE_ROWS[table.name]), table)
                    self.assertEqual(len(found), 1, found)
                    self.assertIn(f'names the {table.name} "zebra"', found[0])

    def test_each_table_fails_where_its_rows_are_no_longer_seen(self):
        for table in tables.TABLES:
            with self.subTest(table.name):
                gone = {file: "" for pattern in table.files for file in self.tree.sources(pattern)}
                self.assertIn("the check has gone blind", "\n".join(self.found(tables.check_table, gone, table)))

    def test_the_minimum_of_each_table_is_near_the_number_of_its_rows(self):
        for table in tables.TABLES:
            with self.subTest(table.name):
                more = tables.dataclasses.replace(table, least=table.least * 3 // 2 + 1)
                self.assertEqual(len(self.found(tables.check_table, {}, more)), 1, "raise the minimum in tools/tables.py")

    def test_a_table_that_tests_walk_needs_these_tests(self):
        for table in tables.TABLES:
            for file, walk in table.walked_by:
                with self.subTest(table.name, file=file):
                    found = self.found(tables.check_table, {file: self.tree.text(file).replace(walk, "")}, table)
                    self.assertEqual(found, [f"{file}: this test no longer walks the table of every {table.name}"])

    def test_a_key_of_the_configuration_needs_a_test_and_help(self):
        def keys(row, file="config/sections/rungs.cc", before='{{"do"'):
            return self.found(tables.check_keys, self.with_row(file, before, row))
        self.assertEqual(keys(KEY), ['config/sections/rungs.cc: no test of tests/config or tests/policies names the key "zebra"'])
        self.assertIn('config/sections/rungs.cc: the key "zebra" has no help', keys(KEY.replace('"What "\n      "it is."', '""')))
        self.assertEqual(keys(KEY.replace("nothing}", "nullptr}")), [], "a word of a later version")
        for kind in ("number<&Server::zebra, 0, 16>", "duration<&Server::zebra, 1, kHour>", "size<&Server::zebra, kKiB, 64 * kMiB>"):
            typed = kind + '(\n        "zebra", "`1`",\n        "How many.", kAtStart),\n    '
            server = ("config/sections/server.cc", "duration<&Server::Proxy::head")
            self.assertEqual(keys(typed, *server), ['config/sections/server.cc: no test of tests/config or tests/policies names the key "zebra"'])
            self.assertIn('config/sections/server.cc: the key "zebra" has no help', keys(typed.replace("How many.", ""), *server))

    def test_keys_that_are_no_longer_seen(self):
        gone = {file: "" for file in self.tree.sources("config/*.cc")}
        found = self.found(tables.check_keys, gone)
        self.assertEqual(len(found), 2, found)
        self.assertTrue(all("gone blind" in what for what in found), found)

    def test_an_admin_route_needs_a_test_of_its_method(self):
        row = 'Route{"PATCH",\n          "/v1/lists/{list}", true, nullptr, fake, ""},\n    '
        self.assertEqual(self.found(tables.check_routes, self.with_row("admin/routes.cc", 'Route{"GET", "/v1/entries"', row)),
                         ['admin/routes.cc: no test calls "PATCH /v1/lists/{list}"'])
        self.assertIn("gone blind", self.found(tables.check_routes, {"admin/routes.cc": ""})[0])


class Sources(unittest.TestCase):
    """Each of the other checks, over a small tree."""

    def setUp(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        self.addCleanup(setattr, tidy, "ROOT", tidy.ROOT)
        tidy.ROOT = folder

    def found(self, check, **files):
        for name, text in files.items():
            path = tidy.ROOT / name.replace("__", "/").replace("_cc", ".cc").replace("_h", ".h")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        findings = []
        check(lambda file, line, what: findings.append(f"{file}:{line}: {what}"))
        return findings

    def test_arrows_point_downwards(self):
        self.assertEqual(self.found(tidy.check_rooms, core__a_cc='#include "telemetry/metrics.h"\n#include "core/b.h"\n',
                                    gate__a_cc='#include "core/b.h"\n#include "policies/judge/driver.h"\n#include "tests/support/x.h"\n'),
                         ["core/a.cc:1: core may not include telemetry: arrows point downwards",
                          "gate/a.cc:3: the product does not include its tests"])

    def test_banned_calls(self):
        banned = {"detached": "f(asio::detached);", "system_clock": "auto t = system_clock::now();", "clock_gettime": "clock_gettime (a, b);",
                  "sleep": "std::this_thread::sleep_for(t);", "strcpy": "strcpy(a, b);", "atoi": "atoi(a);", "rand": "int a = rand();",
                  "system": "std::system(a);", "assert": "assert(a);"}
        for word, line in banned.items():
            with self.subTest(word):
                self.assertEqual(len(self.found(tidy.check_rooms, gate__a_cc=f"{line}\n")), 1)
                self.assertEqual(self.found(tidy.check_rooms, gate__a_cc=f'// {line}\nauto x = "{line}";\n'), [])
        self.assertEqual(len(self.found(tidy.check_rooms, policies__lang__a_cc="#include <boost/asio/post.hpp>\n")), 1)
        self.assertEqual(len(self.found(tidy.check_rooms, policies__lang__a_cc="", proxy__a_cc="http::message<true> m;\n")), 1)

    def test_headers_lengths_and_unfinished_work(self):
        self.assertEqual(self.found(tidy.check_rooms, core__a_h="int a;\n", core__b_cc="int b;\n" * 601, core__c_cc="int c;  // " "TODO\n"),
                         ["core/a.h:1: a header begins with #pragma once",
                          "core/b.cc:600: 601 lines: it has become two ideas; split it",
                          "core/c.cc:1: unfinished work; finish it or file an issue"])

    def test_rooms_without_tests(self):
        found = self.found(tidy.check_tests_mirror_rooms, tests__core__a_test_cc="")
        self.assertIn("tests/gate:1: a room without tests", found)
        self.assertNotIn("tests/core:1: a room without tests", found)

    def test_folders_of_many_files(self):
        files = {f"core__a{number}_cc": "" for number in range(45)}
        self.assertEqual(self.found(tidy.check_folders, **files), [])
        self.assertEqual(len(self.found(tidy.check_folders, core__more_cc="")), 1)

    def test_classes_of_many_functions_or_sources(self):
        def head(count):
            return "class Big {\n public:\n" + "".join(f"  int f{n}(int a = {n});\n" for n in range(count)) + "  int member;\n};\n"
        self.assertEqual(self.found(tidy.check_classes, core__a_h=head(60)), [])
        self.assertEqual(len(self.found(tidy.check_classes, core__a_h=head(61))), 1)
        sources = {f"core__a{number}_cc": "int Big::f0(int a) {\n  return a;\n}\n" for number in range(4)}
        self.assertEqual(self.found(tidy.check_classes, core__a_h=head(9), **sources),
                         ["core/a0.cc:1: Big is defined in 4 sources, over 3: it has become two ideas; split it"])

    def test_long_functions(self):
        def body(lines):
            return "{\n" + "  a();  // } in a comment\n" * (lines - 2) + "}\n"
        heads = {"f": "int f(int a) ", "A::f": "std::function<int(int)> A::f(T t = {}) const noexcept ", "A::A": "A::A(int a)\n    : x_{a}, y_(a) "}
        tidy.LONG_FUNCTIONS, before = {}, tidy.LONG_FUNCTIONS
        self.addCleanup(setattr, tidy, "LONG_FUNCTIONS", before)
        for name, head in heads.items():
            with self.subTest(name):
                extra = head.count("\n")
                source = "namespace weir {\n" + head + body(70 - extra) + "}\n"
                self.assertEqual(self.found(tidy.check_functions, core__a_cc=source), [])
                source = "namespace weir {\n" + head + body(71 - extra) + "}\n"
                self.assertEqual(self.found(tidy.check_functions, core__a_cc=source), [f"core/a.cc:2: {name}() has 71 lines, over 70: split it"])
        long = "int f() " + body(80)
        for allowed, says in ((80, 0), (79, "over 79"), (81, "lower its number")):
            tidy.LONG_FUNCTIONS = {("core/a.cc", "f"): allowed}
            found = self.found(tidy.check_functions, core__a_cc=long)
            self.assertTrue(says in found[0] if says else not found, found)
        self.assertIn("take it off LONG_FUNCTIONS", self.found(tidy.check_functions, core__a_cc="int f() " + body(70))[0])

    def test_namespaces_of_tests(self):
        self.assertEqual(self.found(tidy.check_test_namespaces, tests__core__a_test_cc="namespace weir::a_test {\n}\n",
                                    tests__core__b_test_cc="namespace weir::a_test {\n}\n"),
                         ["tests/core/b_test.cc:1: a test's namespace ends with the file's name: ::b_test"])

    def test_comments_that_leave_their_subject_out(self):
        self.assertEqual(self.found(tidy.check_comments, core__a_h="/// Of the last failure.\nint f();\n\n  /// Those that are left.\n",
                                    core__b_h="/// The reason of a failure:\n/// Of two failures the last one. Often\nint f();  // Of a kind.\n/// Offers it.\n"),
                         ["core/a.h:1: a comment begins with `Of`: name its subject",
                          "core/a.h:4: a comment begins with `Those`: name its subject"])

    def test_comments_that_begin_with_what(self):
        self.assertEqual(self.found(tidy.check_comments, core__a_h="/// What is wrong.\nint f();\n\n  // What nobody reads.\nint a;\n    ///< What waits.\n",
                                    core__b_h="/// The reason of a failure:\n/// What it says is for people.\nint f();  // What follows.\n/// Whatever it is.\n",
                                    bench__load__c_cc="// What an event costs.\n", tests__core__d_test_cc="// What it finds.\n"),
                         ["core/a.h:1: a comment begins with `What`: name its subject",
                          "core/a.h:4: a comment begins with `What`: name its subject",
                          "core/a.h:6: a comment begins with `What`: name its subject",
                          "bench/load/c.cc:1: a comment begins with `What`: name its subject"])

    def test_noexcept_functions_that_allocate(self):
        self.assertEqual(self.found(tidy.check_noexcept, core__a_cc="int f() noexcept {\n  return g(std::make_shared<int>(1));\n}\n",
                                    core__b_cc="int f() noexcept {\n  try {\n    g(std::make_shared<int>(1));\n  } catch (...) {\n  }\n}\n"),
                         ["core/a.cc:1: a noexcept function allocates (std::make_shared): lack of memory would end the process"])

    def test_commands_that_cannot_be_run(self):
        (tidy.ROOT / "scripts").mkdir()
        (tidy.ROOT / "scripts" / "build").write_text("#!/bin/sh\n")
        self.assertEqual(self.found(tidy.check_commands), ["scripts/build:1: a command that cannot be run: chmod +x"])


if __name__ == "__main__":
    unittest.main()
