"""The tables of weir, and which test each row needs. tools/tidy.py runs the checks.

A table says where its rows are, how a row looks, how many rows there are at least, and where a test names a row. The minimum keeps a
check from going blind: a pattern that no longer fits the source finds fewer rows, and the check fails.
"""
import dataclasses
import fnmatch
import pathlib
import re

SUFFIXES = {".cc", ".h", ".py", ".txt"}
GENERATED = {"tests/golden/config/reference.md", "tests/golden/config/schema.json"}  # they name every key, whether a test has it or not


class Tree:
    """The files of the project. A test lays changed texts over them."""

    def __init__(self, root: pathlib.Path, changed: dict[str, str] | None = None):
        self.root, self.changed, self.read = root, changed or {}, {}

    def text(self, file: str) -> str:
        if file in self.changed:
            return self.changed[file]
        path = self.root / file
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def files(self, folder: str) -> list[str]:
        found = {path.relative_to(self.root).as_posix() for path in (self.root / folder).rglob("*")
                 if path.suffix in SUFFIXES and path.is_file()}
        found |= {file for file in self.changed if file.startswith(folder + "/") and pathlib.Path(file).suffix in SUFFIXES}
        return sorted(found)

    def sources(self, pattern: str) -> list[str]:
        """The files that a pattern such as `config/*.cc` names; `*` reaches into folders. A name without `*` names one file."""
        if "*" not in pattern:
            return [pattern]
        return [file for file in self.files(pattern.split("/*")[0]) if fnmatch.fnmatchcase(file, pattern)]

    def tests(self, places: tuple[str, ...]) -> str:
        """The text of all tests of these folders and files, as one line."""
        if places not in self.read:
            names = [name for place in places for name in ([place] if "." in place.rsplit("/", 1)[-1] else self.files(place))]
            self.read[places] = re.sub(r"\s+", " ", "\n".join(self.text(name) for name in names if name not in GENERATED))
        return self.read[places]



def collapsed(text: str) -> str:
    """C++ as one line: clang-format puts a row on as many lines as it likes. Neighbouring literals become one, raw ones empty."""
    text = re.sub(r'R"\(.*?\)"', '""', text, flags=re.S)
    text = re.sub(r'^([^"\n]*?)//.*$|//[^"\n]*$', r"\1", text, flags=re.M)
    text = re.sub(r"\s+", " ", text)
    return re.sub(r"([{(]) ", r"\1", re.sub(r'([^\\])" "', r"\1", text))


WORD = r"\b{row}\b"
LITERAL = r'"{row}"'
OF_YAML = r'[:\[,] ?"?{row}\b'


@dataclasses.dataclass(frozen=True)
class Table:
    name: str  # what a row is called
    files: tuple[str, ...]
    row: str  # a pattern over collapsed text; its group is the name of the row
    least: int  # rows that the table has at least
    tests: tuple[str, ...] = ()  # folders and files of tests that name each row
    named: str = WORD  # how a test names a row
    walked_by: tuple[tuple[str, str], ...] = ()  # (file, text) of the tests that walk all rows, instead of naming each
    exempt: frozenset[str] = frozenset()
    inside: str = ""  # where the rows are a part of a file only: a pattern whose group is that part


# These tests take every kind, a measure over a window, through the same contract: in memory, and in the shared store.
KINDS_ARE_WALKED = (("tests/limiter/kinds_test.cc", "ValuesIn(kinds().begin(), kinds().end())"),
                    ("tests/store/contract.cc", "for (const Kind& kind : kinds())"))

TABLES = (
    Table("action", ("core/words.h",), r'ActionRow\{Action::\w+, "(\w+)"', 6, ("tests/policies",), exempt=frozenset({"none"})),
    Table("metric", ("core/words.h",), r'MetricRow\{Metric::\w+, "(\w+)"', 10, ("tests/policies",), r'metric: "?{row}\b'),
    Table("word", ("core/words.h",), r'Word<\w+>\{\w+::\w+, "(\w+)"', 18,
          ("tests/policies", "tests/config", "tests/golden/config"), OF_YAML),
    Table("unit of time", ("core/words.h",), r'EpochUnitRow\{EpochUnit::\w+, "(\w+)"', 4, ("tests/config", "tests/replay")),
    Table("measure", ("limiter/kinds/kinds.cc",),
          r'(?:(?:totals|of_members|of_amounts)\(|Measure\{)Metric::\w+, (?:(?:false|true), )?"(\w+)"', 12, walked_by=KINDS_ARE_WALKED),
    Table("window over measures", ("limiter/kinds/kinds.cc",), r'WindowRow\{Window::\w+, &Measure::\w+, "(\w+)"', 8,
          walked_by=KINDS_ARE_WALKED),
    Table("window", ("limiter/kinds/counter_spec.h",), r"\b(\w+)(?=,|$)", 8, ("tests/limiter",), r"\bWindow::{row}\b",
          inside=r"enum class Window : std::uint8_t \{(.*?),? \}"),
    # A form that a kind has is tested with the kind.
    Table("shared form", ("limiter/kinds/kinds.h",), r"\b(\w+)(?=,|$)", 11,
          ("tests/store", "tests/policies", "limiter/kinds/kinds.cc"), r"\bSharedForm::{row}\b",
          inside=r"enum class SharedForm : std::uint8_t \{(.*?),? \}"),
    Table("function", ("policies/lang/expr/functions.cc",), r'\{"(\w+)", (?:true|false), \{\{"', 23, ("tests/policies",), r"\b{row}\("),
    Table("extractor", ("policies/lang/extractors/*.cc",), r'\{"([\w.]+)", ArgumentForm::', 24, ("tests/policies",)),
    Table("caller", ("authz/callers.cc",), r'\{"(\w+)", (?:"x-[\w-]+"|\{\}), ', 5, ("tests/authz",), LITERAL),
    Table("door", ("app/doors/doors.cc",), r'DoorRow\{"(\w+)", "', 1, ("tests/app", "tests/e2e")),
    Table("record format", ("replay/formats.cc",), r'\{config::SourceDef::Format::\w+, "(\w+)"', 3, ("tests/replay",), r"\{{{row}: "),
    Table("field of the access log", ("telemetry/access_line.cc",), r'\{AccessField::\w+, "(\w+)"', 25,
          ("tests/telemetry", "tests/app", "tests/config", "tests/e2e")),
    Table("subcommand", ("app/*.cc",), r'const Command k\w+\{"([\w-]+)", "', 15, ("tests/app", "tests/e2e"), LITERAL),
)


def check_table(tree: Tree, table: Table, report) -> None:
    count = 0
    for file in [file for pattern in table.files for file in tree.sources(pattern)]:
        text = collapsed(tree.text(file))
        if table.inside:
            part = re.search(table.inside, text)
            text = part[1] if part else ""
        for name in re.findall(table.row, text):
            count += 1
            if table.tests and name not in table.exempt and not re.search(table.named.format(row=re.escape(name)), tree.tests(table.tests)):
                report(file, 1, f'no test of {" or ".join(table.tests)} names the {table.name} "{name}"')
    expect_rows(table.files[0], table.name, count, table.least, report)
    for file, walk in table.walked_by:
        if walk not in tree.text(file):
            report(file, 1, f"this test no longer walks the table of every {table.name}")


def expect_rows(file: str, name: str, count: int, least: int, report) -> None:
    if count < least:
        report(file, 1, f"tidy sees {count} rows of the table of every {name}, and knows of {least}: the check has gone blind "
                        "(tools/tables.py)")


# A key of the configuration: `{{"name", schema, values, default, help}, reader}`, or one of config/text/fields.h.
KEY = re.compile(r'\{\{"(\w+)",(?: (?:"(?:\\.|[^"\\])*"|[^"{},<>]+(?:<[^<>]*>)?),){3} "((?:\\.|[^"\\])*)"\}, ?(nullptr)?')
TYPED_KEY = re.compile(r'(?:\b(?:number|duration|size|listen_or_none)<[^<>()]*>|\w::doc)\("(\w+)", "(?:\\.|[^"\\])*", "((?:\\.|[^"\\])*)"()')
KEYS_LEAST = 304
TYPED_KEYS_LEAST = 55


def check_keys(tree: Tree, report) -> None:
    tests = tree.tests(("tests/config", "tests/policies", "tests/golden/config"))
    for pattern, least, what in ((KEY, KEYS_LEAST, "key of the configuration"), (TYPED_KEY, TYPED_KEYS_LEAST, "typed key")):
        count = 0
        for file in tree.sources("config/*.cc"):
            for name, help_text, later in pattern.findall(collapsed(tree.text(file))):
                count += 1
                if later:
                    continue  # a word of a later version, refused at its place
                if not help_text.strip():
                    report(file, 1, f'the key "{name}" has no help')
                if not re.search(rf"\b{name}\b", tests):
                    report(file, 1, f'no test of tests/config or tests/policies names the key "{name}"')
        expect_rows("config", what, count, least, report)


ROUTES = "admin/routes.cc"
ROUTES_LEAST = 43


def check_routes(tree: Tree, report) -> None:
    tests = tree.tests(("tests/admin", "tests/app", "tests/e2e"))
    routes = re.findall(r'Route\{"(\w+)", "([^"]+)"', collapsed(tree.text(ROUTES)))
    for method, pattern in routes:
        path = re.sub(r"\{\w+\}", lambda _: r'[^"/ ?]+', pattern) + r'["? ]'
        if not re.search(rf'(?:"{method}", ?f?"|\b{method} |\b{method.lower()}\w*\((?:\w+, )?f?"){path}', tests):
            report(ROUTES, 1, f'no test calls "{method} {pattern}"')
    expect_rows(ROUTES, "admin route", len(routes), ROUTES_LEAST, report)


def check(tree: Tree, report) -> None:
    """Every row of a table has help (the compiler sees to the field; tidy to its text) and is named in a test."""
    for table in TABLES:
        check_table(tree, table, report)
    check_keys(tree, report)
    check_routes(tree, report)
