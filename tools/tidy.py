#!/usr/bin/env python3
"""Checks what a compiler does not: the arrows between rooms, banned calls, a test for every row.

    tools/tidy.py            the whole tree; exit 1 and a line per finding if something is out of place

Run by ctest. A finding is `file:line: what; what to do`.
"""
import pathlib
import re
import sys

import tables

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A room may include the rooms of its own row in this table: never itself by another path, never upward. A room inside a
# folder (`limiter/kinds`) is a room of its own; a folder's name (`limiter`) stands for all of its rooms.
BASE = ["telemetry", "core"]
ROOMS = {
    "core": [],
    "telemetry": ["core"],
    "config": BASE,
    "limiter/memory": BASE,
    "limiter/kinds": ["limiter/memory", *BASE],
    "limiter/counters": ["limiter/kinds", "limiter/memory", *BASE],
    "limiter/lists": ["limiter/memory", *BASE],
    "limiter/patterns": ["limiter/memory", *BASE],
    "limiter/views": ["limiter/kinds", "limiter/memory", *BASE],
    "limiter/exchange": ["limiter/counters", "limiter/patterns", "limiter/kinds", "limiter/memory", *BASE],
    "net": BASE,
    "store": ["limiter", "net", *BASE],
    "policies/lang": ["config", *BASE],
    "policies/set": ["policies/lang", "config", "limiter", *BASE],
    "policies/judgement": ["policies/set", "policies/lang", "config", "limiter", *BASE],
    "policies/judge": ["policies/judgement", "policies/set", "policies/lang", "config", "limiter", *BASE],
    "policies/explain": ["policies/judge", "policies/judgement", "policies/set", "policies/lang", "config", "limiter", *BASE],
    "replay": ["policies", "config", "limiter", "net", *BASE],
    "gate": ["policies", "store", "config", "limiter", "net", *BASE],
    "authz": ["gate", "policies", "config", "limiter", "net", *BASE],
    "proxy": ["gate", "net", *BASE],
    "api": ["gate", "policies", "config", "limiter", "net", *BASE],
    "admin": ["proxy", "gate", "policies", "config", "limiter", "net", *BASE],
    "app/support": ["admin", "proxy", "api", "gate", "store", "policies", "config", "limiter", "net", *BASE],
    "app/observe": ["app/support", "admin", "proxy", "api", "gate", "store", "policies", "config", "limiter", "net", *BASE],
    "app/remote": ["app/support", "admin", "proxy", "api", "gate", "store", "policies", "config", "limiter", "net", *BASE],
    "app/sharing": ["app/support", "admin", "proxy", "api", "gate", "store", "policies", "config", "limiter", "net", *BASE],
    "app/change": ["app/observe", "app/support", "admin", "proxy", "api", "gate", "store", "policies", "config", "limiter", "net", *BASE],
    "app/doors": ["app/support", "authz", "gate", "policies", "config", "limiter", "net", *BASE],
    "app/serve": ["app/doors", "app/change", "app/observe", "app/remote", "app/sharing", "app/support", "admin", "api", "proxy", "authz", "replay", "gate", "store", "policies", "config", "limiter", "net", *BASE],
    "app/tools": ["app/serve", "app/doors", "app/change", "app/observe", "app/remote", "app/support", "admin", "api", "authz", "proxy", "replay", "gate", "store", "policies", "config", "limiter",
                  "net", *BASE],
    "app/doctor": ["app/serve", "app/doors", "app/change", "app/observe", "app/remote", "app/support", "admin", "api", "authz", "proxy", "replay", "gate", "store", "policies", "config", "limiter",
                   "net", *BASE],
    "app": ["app/support", "config", *BASE],
}

# Rooms that never wait, never read a clock and know no sockets.
PURE = ["core", "config", "limiter", "policies"]

# A folder or class beyond these has become two ideas, however small its files are.
FILES_MOST = 45  # of a folder
CLASS_FUNCTIONS_MOST = 60
CLASS_FILES_MOST = 3  # sources that define members of one class
FUNCTION_LINES_MOST = 70  # a function fits a screen

# Functions that are longer, with their lines. The list only shrinks: a function that becomes shorter leaves it or lowers its number.
LONG_FUNCTIONS = {
    ("admin/operator/release_route.cc", "remove_entry"): 73,
    ("app/change/table_history.cc", "TableHistory::merge"): 82,
    ("app/tools/cases/case_check.cc", "CaseRun::check_event"): 79,
    ("app/tools/dev.cc", "dev"): 77,
    ("limiter/counters/joining.cc", "Bank::HistoryCopier::join_key"): 83,
    ("policies/judge/planning.cc", "Planning::plan_policy"): 74,
    ("policies/judge/settling.cc", "Settling::settle_reserved"): 74,
    ("policies/lang/expr/functions.cc", "table"): 220,  # a table: a row of a function each
}


def room_of(path: str) -> str | None:
    """The innermost room that this file lies in."""
    parts = path.split("/")[:-1]
    while parts:
        if "/".join(parts) in ROOMS:
            return "/".join(parts)
        parts.pop()
    return None


def covers(named: str, room: str) -> bool:
    return room == named or room.startswith(named + "/")

BANNED = [
    # pattern, rooms it is banned in (None: all), files excepted, why
    (r"\bdetached\b", None, set(), "spawn into a TaskGroup: nobody waits for a detached coroutine"),
    (r"\b(system_clock|steady_clock|high_resolution_clock)::now\b", None, set(),
     "time is an argument; core/clock.cc alone asks for it"),
    (r"\bclock_gettime\s*\(", None, {"core/clock.cc"}, "time is an argument; core/clock.cc alone asks for it"),
    (r"\bsleep_for\b|\busleep\s*\(|\bnanosleep\s*\(", None, set(), "wait for events, not for time"),
    (r"\b(strcpy|strcat|sprintf|gets|strtok)\s*\(", None, set(), "has no bound"),
    (r"\b(atoi|atol|atof|stoi|stol|stoul|stod)\s*\(", None, set(), "std::from_chars says what went wrong"),
    (r"\brand\s*\(\)", None, set(), "libsodium for secrets, <random> with a seed for tests"),
    (r"\bstd::system\s*\(|\bpopen\s*\(", None, set(), "weir starts no processes"),
    (r"\bassert\s*\(", None, set(), "WEIR_ASSERT is on in release too"),
    (r"boost/asio|boost/beast|sys/socket\.h|sys/epoll\.h", PURE, set(), "a pure room knows no sockets"),
    (r"http::message\b|beast::tcp_stream", ["proxy"], set(), "the hot path parses in place (docs/architecture.md)"),
]

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
LINES_MOST = 600


def sources(room: str):
    """What lies in the room, and not in a room inside it."""
    for path in sorted((ROOT / room).rglob("*")):
        if path.suffix in {".cc", ".h"} and room_of(path.relative_to(ROOT).as_posix()) == room:
            yield path


def code_of(line: str) -> str:
    """The line without comment and string contents, so that prose may name a banned call."""
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return line.split("//", 1)[0]


def check_rooms(report) -> None:
    for room, below in ROOMS.items():
        for path in sources(room):
            name = path.relative_to(ROOT).as_posix()
            lines = path.read_text(encoding="utf-8").splitlines()
            if len(lines) > LINES_MOST:
                report(name, LINES_MOST, f"{len(lines)} lines: it has become two ideas; split it")
            if path.suffix == ".h" and not any("#pragma once" in line for line in lines[:40]):
                report(name, 1, "a header begins with #pragma once")
            for number, line in enumerate(lines, 1):
                included = INCLUDE.match(line)
                if included:
                    target = room_of(included.group(1))
                    if target and target != room and not any(covers(one, target) for one in below):
                        report(name, number, f"{room} may not include {target}: arrows point downwards")
                    if included.group(1).startswith("tests/"):
                        report(name, number, "the product does not include its tests")
                if UNFINISHED.search(line):
                    report(name, number, "unfinished work; finish it or file an issue")
                for pattern, rooms, excepted, why in BANNED:
                    if rooms is not None and not any(covers(one, room) for one in rooms):
                        continue
                    text = line if "boost/" in pattern else code_of(line)
                    if name not in excepted and re.search(pattern, text):
                        report(name, number, f"{why}")


def check_tables(report) -> None:
    tables.check(tables.Tree(ROOT), report)


def check_tests_mirror_rooms(report) -> None:
    for room in sorted({name.split("/")[0] for name in ROOMS}):
        if not any((ROOT / "tests" / room).rglob("*_test.cc")):
            report(f"tests/{room}", 1, "a room without tests")


def check_folders(report) -> None:
    for room in ROOMS:
        for folder in {path.parent for path in sources(room)}:
            count = sum(path.suffix in {".cc", ".h"} for path in folder.iterdir())
            if count > FILES_MOST:
                report(folder.relative_to(ROOT).as_posix(), 1, f"{count} files: it has become two ideas; split it")


TOKENS = re.compile(r"""R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])'""", re.S)


def plain(text: str) -> str:
    """C++ without comments, directives and the contents of literals; every line stays in its place."""
    def emptied(found: re.Match) -> str:
        what = {"/": "", "'": "' '"}.get(found[0][0], '""')
        return what + "\n" * found[0].count("\n")
    return re.sub(r"^[ \t]*#.*$", "", TOKENS.sub(emptied, text), flags=re.M)


CLASS_HEAD = re.compile(r"\b(?:class|struct)\s+(?:alignas\([^)]*\)\s*)?([\w:]+)(?:\s+final)?\s*(?::[^{;]*)?$")
ACCESS = re.compile(r"\s*(public|private|protected)\s*$")


def declares_function(statement: str) -> bool:
    if "(" not in statement or re.match(r"(using|typedef|friend|static_assert|return)\b", statement):
        return False
    return "operator" in statement or "=" not in statement.split("(", 1)[0]


def class_functions(header: str):
    """(class, how many functions it declares) of each class of a header, nested ones for themselves."""
    open_blocks, statement = [], ""  # of each open brace: [class or "", functions]
    for character in plain(header):
        if character == "{":
            head = statement.strip()
            found = None if "enum" in head.split() else CLASS_HEAD.search(head)
            if not found and open_blocks and open_blocks[-1][0] and declares_function(head):
                open_blocks[-1][1] += 1
            open_blocks.append([found.group(1) if found else "", 0])
            statement = ""
        elif character == "}":
            if open_blocks and open_blocks[-1][0]:
                yield tuple(open_blocks[-1])
            open_blocks = open_blocks[:-1]
            statement = ""
        elif character == ";":
            if open_blocks and open_blocks[-1][0] and declares_function(statement.strip()):
                open_blocks[-1][1] += 1
            statement = ""
        elif character == ":" and ACCESS.match(statement):
            statement = ""
        else:
            statement += character


def check_classes(report) -> None:
    """No class has more than 60 functions, or members in more than 3 sources."""
    defined_in = {}  # (top-level folder, class) -> sources
    for room in ROOMS:
        for path in sources(room):
            name = path.relative_to(ROOT).as_posix()
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".cc":
                for owner in set(re.findall(r"^(?! |return\b)(?:[\w:<>&*,~\[\] ]+?[ &*])?([A-Z]\w+(?:::[A-Z]\w+)*)::~?\w+\(", plain(text), re.M)):
                    defined_in.setdefault((room.split("/")[0], owner), []).append(name)
                continue
            for owner, functions in class_functions(text):
                if functions > CLASS_FUNCTIONS_MOST:
                    report(name, 1, f"{owner} declares {functions} functions, over {CLASS_FUNCTIONS_MOST}: "
                                    "it has become two ideas; split it")
    for (room, owner), files in defined_in.items():
        if len(files) > CLASS_FILES_MOST and is_class(room, owner):
            report(files[0], 1, f"{owner} is defined in {len(files)} sources, over {CLASS_FILES_MOST}: "
                                "it has become two ideas; split it")


NO_FUNCTION = re.compile(r"(?:namespace|class|struct|enum|union|if|for|while|switch|do|else|try|catch)\b")


def function_named(head: str) -> str | None:
    """The name of the function that a block with this head is the body of."""
    while head != (shorter := re.sub(r"<[^<>]*>", "", head)):
        head = shorter
    found = None if NO_FUNCTION.match(head) else re.match(r"[^=(]*?([\w:~]+) ?\(", head)
    return found[1] if found else None


def functions(source: str):
    """(name, line, how many lines) of each function of a source; a lambda belongs to the function around it."""
    open_blocks, statement, line, began = [], "", 1, 1  # of each open brace: (text before it, its line, function, part of a statement)
    for character in plain(source):
        if character == "{":
            # `f(T x = {})` and `A::A() : x_{1}`: the braces are a part of the statement.
            part = statement.count("(") > statement.count(")") or bool(re.search(r"\)[^()]*?(?<!:):(?!:).*\w$", statement, re.S))
            inside = any(name for _, _, name, _ in open_blocks)
            open_blocks.append((statement, began, None if part or inside else function_named(" ".join(statement.split())), part))
            statement = ""
        elif character == "}" and open_blocks:
            head, first, name, part = open_blocks.pop()
            if name:
                yield name, first, line - first + 1
            statement, began = (head + "{}", first) if part else ("", began)
        elif character in ";}":
            statement = ""
        elif statement or not character.isspace():
            began = began if statement else line
            statement += character
        line += character == "\n"


def check_functions(report) -> None:
    """No function has more than 70 lines, except for those of a list that only shrinks."""
    long = dict(LONG_FUNCTIONS)
    for room in ROOMS:
        for path in sources(room):
            file = path.relative_to(ROOT).as_posix()
            for name, line, lines in functions(path.read_text(encoding="utf-8")):
                if lines <= FUNCTION_LINES_MOST:
                    continue
                allowed = long.pop((file, name), FUNCTION_LINES_MOST)
                if lines > allowed:
                    report(file, line, f"{name}() has {lines} lines, over {allowed}: split it")
                elif lines < allowed:
                    report(file, line, f"{name}() has {lines} lines now: lower its number in LONG_FUNCTIONS of tools/tidy.py")
    for file, name in long:
        report(file, 1, f"{name}() fits {FUNCTION_LINES_MOST} lines or is gone: take it off LONG_FUNCTIONS of tools/tidy.py")


def is_class(room: str, owner: str) -> bool:
    return any(re.search(rf"\b(class|struct) {owner}\b[^;]*\{{", path.read_text(encoding="utf-8"))
               for path in (ROOT / room).rglob("*.h"))


def check_test_namespaces(report) -> None:
    """Sources of a unit see each other: what a test calls its own must be so (cmake's unity builds)."""
    for path in sorted([*(ROOT / "tests").rglob("*_test.cc"), *(ROOT / "bench").rglob("*_test.cc")]):
        if not re.search(rf"^namespace weir(::\w+)*::{path.stem} \{{$", path.read_text(encoding="utf-8"), re.M):
            report(path.relative_to(ROOT).as_posix(), 1, f"a test's namespace ends with the file's name: ::{path.stem}")


# Calls that allocate and cannot report a failure. `catch` and survives_no_memory() can.
ALLOCATES = re.compile(r"std::make_(shared|unique)\b|std::to_string\(|\bnew (?!\()|boost::json::serialize\(|std::o?stringstream")


def check_noexcept(report) -> None:
    """Where a function that promises not to throw allocates, lack of memory ends the process."""
    for room in ROOMS:
        for path in sources(room):
            text = "\n".join(code_of(line) for line in path.read_text(encoding="utf-8").split("\n"))
            for found in re.finditer(r"\bnoexcept(?:\s+(?:override|final))*\s*\{", text):
                end, depth = found.end(), 1
                while depth and end < len(text):
                    depth += {"{": 1, "}": -1}.get(text[end], 0)
                    end += 1
                body = text[found.end():end]
                allocates = ALLOCATES.search(body)
                if allocates and not re.search(r"\bcatch\b|survives_no_memory", body):
                    report(path.relative_to(ROOT).as_posix(), text.count("\n", 0, found.start()) + 1,
                           f"a noexcept function allocates ({allocates[0]}): lack of memory would end the process")


HEADLESS = re.compile(r"\s*(?:///<? (?:Of|Whose|Those)|//(?:/<?)? What) ")


def check_comments(report) -> None:
    """A comment names its subject. `/// Of the last failure.` and `/// What nobody reads.` leave the reader to guess the noun."""
    for path in [*(path for room in ROOMS for path in sources(room)), *sorted((ROOT / "bench").rglob("*.h")), *sorted((ROOT / "bench").rglob("*.cc"))]:
        before = ""
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if HEADLESS.match(line) and not before.lstrip().startswith("//"):
                report(path.relative_to(ROOT).as_posix(), number, f"a comment begins with `{line.split()[1]}`: name its subject")
            before = line


def check_commands(report) -> None:
    for command in [ROOT / ".ci" / "run", *sorted((ROOT / "scripts").iterdir())]:
        if command.is_file() and command.read_bytes().startswith(b"#!") and not command.stat().st_mode & 0o100:
            report(str(command.relative_to(ROOT)), 1, "a command that cannot be run: chmod +x")


def main() -> int:
    findings = []

    def report(file: str, line: int, what: str) -> None:
        findings.append(f"{file}:{line}: {what}")

    check_rooms(report)
    check_tables(report)
    check_tests_mirror_rooms(report)
    check_folders(report)
    check_classes(report)
    check_functions(report)
    check_test_namespaces(report)
    check_noexcept(report)
    check_comments(report)
    check_commands(report)
    print("\n".join(findings) if findings else "tidy: nothing out of place")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
