#!/usr/bin/env python3
"""Checks what a compiler does not: the arrows between rooms, banned calls, a test for every row.

    tools/tidy.py            the whole tree; exit 1 and a line per finding if something is out of place

Run by ctest. A finding is `file:line: what; what to do`.
"""
import pathlib
import re
import sys

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

# What has more files or functions than these has become two ideas, however small its files are.
FILES_MOST = 45  # of a folder
CLASS_FUNCTIONS_MOST = 60
CLASS_FILES_MOST = 3  # sources that define members of one class


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


def rows(file: str, pattern: str):
    path = ROOT / file
    return re.findall(pattern, path.read_text(encoding="utf-8")) if path.exists() else []


def tests_text(room: str) -> str:
    folder = ROOT / "tests" / room
    return "\n".join(p.read_text(encoding="utf-8") for p in sorted(folder.rglob("*")) if p.suffix in {".cc", ".h"})


def check_tables(report) -> None:
    """Every row of a table has help (the compiler sees to the field; we to its text) and is named in a test."""
    policies = tests_text("policies")
    for name in rows("core/words.h", r'ActionRow\{Action::\w+, "(\w+)"'):
        if name != "none" and name not in policies:
            report("core/words.h", 1, f'no test of tests/policies names the action "{name}"')
    functions = ROOT / "policies/lang/expr/functions.cc"
    if functions.exists():
        for name in rows("policies/lang/expr/functions.cc", r'^\s*\{"(\w+)",'):
            if not re.search(rf"\b{name}\(", policies):
                report("policies/lang/expr/functions.cc", 1, f'no test of tests/policies calls "{name}()"')
    for family in sorted((ROOT / "policies/lang/extractors").glob("*.cc")):
        file = family.relative_to(ROOT).as_posix()
        for name in rows(file, r'^\s*\{"([\w.]+)", ArgumentForm'):
            if name not in policies:
                report(file, 1, f'no test of tests/policies reads "{name}"')
    config = tests_text("config") + "\n".join(
        p.read_text(encoding="utf-8") for p in sorted((ROOT / "tests/golden/config").glob("*")) if p.is_file())
    for path in sorted((ROOT / "config").rglob("*.cc")):
        file = path.relative_to(ROOT).as_posix()
        for name, help_text, later in rows(file, r'\{\{"(\w+)",[^}]*?"([^"]*)"\},\s*(nullptr)?'):
            if later:
                continue  # a word of a later version, refused where it stands
            if not help_text.strip():
                report(file, 1, f'the key "{name}" has no help')
            if not re.search(rf"\b{name}\b", config):
                report(file, 1, f'no test of tests/config names the key "{name}"')


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


def plain(text: str) -> str:
    """C++ without comments, directives and the contents of literals."""
    text = re.sub(r"/\*.*?\*/", "", re.sub(r"//[^\n]*", "", text), flags=re.S)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', re.sub(r"'(\\.|[^'\\\n])'", "' '", text))
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


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


def is_class(room: str, owner: str) -> bool:
    return any(re.search(rf"\b(class|struct) {owner}\b[^;]*\{{", path.read_text(encoding="utf-8"))
               for path in (ROOT / room).rglob("*.h"))


def check_test_namespaces(report) -> None:
    """Sources of a unit see each other: what a test calls its own must be so (cmake's unity builds)."""
    for path in sorted([*(ROOT / "tests").rglob("*_test.cc"), *(ROOT / "bench").rglob("*_test.cc")]):
        if not re.search(rf"^namespace weir(::\w+)*::{path.stem} \{{$", path.read_text(encoding="utf-8"), re.M):
            report(path.relative_to(ROOT).as_posix(), 1, f"a test's namespace ends with the file's name: ::{path.stem}")


# What allocates without being able to say that it could not. `catch` and survives_no_memory() can.
ALLOCATES = re.compile(r"std::make_(shared|unique)\b|std::to_string\(|\bnew (?!\()|boost::json::serialize\(|std::o?stringstream")


def check_noexcept(report) -> None:
    """Where a function that promises not to throw allocates, want of memory ends the process."""
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
                           f"a noexcept function allocates ({allocates[0]}): want of memory would end the process")


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
    check_test_namespaces(report)
    check_noexcept(report)
    check_commands(report)
    print("\n".join(findings) if findings else "tidy: nothing out of place")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
