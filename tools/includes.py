#!/usr/bin/env python3
"""Checks that each file includes, itself or through what it includes, the header of each name that it uses.

    tools/includes.py        the whole product; exit 1 and a line per finding

A unity build compiles eight sources of a room as one unit, so a source that lacks an include, or uses a name of its
neighbour, compiles there. tools/compile_alone.py finds every such file, but takes minutes; this check takes seconds and
looks at words alone. A finding is a name that a file of the tree declares at namespace scope, that the file uses, and that
neither the file nor anything it includes contains in another place. Members (`a.name`, `a->name`) are left out.

Of the standard library it looks at names that one header declares, such as std::map: the file, or a file of the tree that it
includes, must name that header. What headers of other libraries include is not counted, because it differs between compilers.
"""
import collections
import re
import sys

from tidy import ROOMS, ROOT

FOLDERS = sorted({room.split("/")[0] for room in ROOMS})

STANDARD = {name: header for header, names in {
    "algorithm": "sort stable_sort find_if any_of all_of none_of lower_bound upper_bound max_element min_element count_if transform",
    "array": "array", "atomic": "atomic", "bitset": "bitset", "charconv": "from_chars to_chars", "condition_variable": "condition_variable",
    "deque": "deque", "filesystem": "filesystem", "fstream": "ifstream ofstream", "functional": "function", "iostream": "cout cerr cin",
    "limits": "numeric_limits", "list": "list", "map": "map multimap", "memory": "unique_ptr shared_ptr weak_ptr make_unique make_shared",
    "mutex": "mutex lock_guard unique_lock scoped_lock", "optional": "optional", "queue": "queue priority_queue", "set": "set multiset",
    "span": "span", "sstream": "ostringstream istringstream", "thread": "thread", "unordered_map": "unordered_map",
    "unordered_set": "unordered_set", "variant": "variant get_if holds_alternative", "vector": "vector",
}.items() for name in names.split()}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
STANDARD_INCLUDE = re.compile(r"^\s*#\s*include\s+<(\w+)>", re.M)
STANDARD_USE = re.compile(r"\bstd::(\w+)\b")
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^\s*#\s*include[^\n]*', re.S | re.M)
# A call, not a member's and not a declaration (`Type name(`); a type is a word that begins with a capital letter.
CALL = re.compile(r"(?:^|[^\w\s.>&*:~]|\b(?:return|co_await|co_return|co_yield|else|weir::)\s*)\s*([a-z]\w*_\w+)\(", re.M)
TYPE_USE = re.compile(r"(?<![\w.>:])([A-Z][a-z]\w+)\b")
# Names that the file itself declares in a class or a function.
INSIDE = re.compile(r"\b(?:enum class|class|struct|enum|union|using|typename|auto) (\w+)|[\w>&*] (\w+)\(")
TYPE = re.compile(r"^(?:template <[^;{]*>\s*)?(?:class|struct|enum class|enum|union|concept) (?:\[\[\w+\]\] )?(\w+)(?: final)?\s*(?:[:{=]|$)", re.M)
ALIAS = re.compile(r"^using (\w+) =", re.M)
CONSTANT = re.compile(r"^(?:inline |static |extern )*(?:constexpr|const) [\w:<>,* ]*?(\w+)(?:\[[^\]]*\])* ?[={;]", re.M)
FUNCTION = re.compile(r"^(?:template <[^;{]*>\s*)?(?:\[\[\w+\]\] )?[A-Za-z_][\w:<>,*& ]*?[ *&>](\w+)\(", re.M)
WORDS = re.compile(r"[A-Za-z_]\w{2,}")


class File:
    def __init__(self, text: str):
        self.includes = INCLUDE.findall(text)
        self.code = NOISE.sub(lambda found: "\n" * found.group().count("\n") or " ", text)
        self.standard_includes = set(STANDARD_INCLUDE.findall(text))
        self.standard_used = {}
        for found in STANDARD_USE.finditer(self.code):
            if found.group(1) in STANDARD:
                self.standard_used.setdefault(found.group(1), found.start(1))
        self.words = set(WORDS.findall(self.code))
        # clang-format indents what lies in a class or a function, and nothing in a namespace.
        self.declared = {name for pattern in (TYPE, ALIAS, CONSTANT, FUNCTION) for name in pattern.findall(self.code)}
        self.inside = {name for names in INSIDE.findall(self.code) for name in names}
        self.used = {}
        for pattern in (CALL, TYPE_USE):
            for found in pattern.finditer(self.code):
                self.used.setdefault(found.group(1), found.start(1))


def reached_from(name: str, files: dict) -> set:
    seen, waiting = set(), list(files[name].includes)
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            waiting += files[each].includes if each in files else []
    return seen


def findings(files: dict):
    """Of the files by name: (name, line, the word, who declares it)."""
    owners = collections.defaultdict(set)
    for name, file in files.items():
        for word in file.declared:
            owners[word].add(name)
    for name, file in files.items():
        known = file.declared | file.inside
        standard = set(file.standard_includes)
        for each in reached_from(name, files) & files.keys():
            known |= files[each].words
            standard |= files[each].standard_includes
        for word, at in file.standard_used.items():
            if STANDARD[word] not in standard:
                yield name, file.code.count("\n", 0, at) + 1, "std::" + word, ["<" + STANDARD[word] + ">"]
        for word, at in file.used.items():
            if word not in known and word in owners:
                yield name, file.code.count("\n", 0, at) + 1, word, sorted(owners[word])


def findings_of_tree() -> list:
    files = {path.relative_to(ROOT).as_posix(): File(path.read_text(encoding="utf-8"))
             for room in FOLDERS for path in sorted((ROOT / room).rglob("*")) if path.suffix in {".cc", ".h"}}
    return [f"{name}:{line}: {word} is declared in {', '.join(who[:3])}, which this file does not include"
            for name, line, word, who in findings(files)]


def main() -> int:
    lines = findings_of_tree()
    print("\n".join(lines) if lines else "includes: every name is included")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
