#!/usr/bin/env python3
"""Compiles every source and every header by itself, without code generation.

    tools/compile_alone.py BUILD_DIR [--jobs N] [--plain] [PATH...]

A normal build compiles eight sources of a room as one unit. A source that lacks an include, or uses a
name of its neighbour, still compiles there. This check finds such sources and headers. BUILD_DIR is a
build directory without unity builds (the preset `alone`). PATH limits the check to files whose names
begin with one of the paths; without a PATH everything but tests and benchmarks is checked. A header that
a source includes first compiles where the source does, so it is left out. --plain leaves out the precompiled headers, so that missing includes of the
standard library show up too; that takes three times as long. Exit status 1 after a finding.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build_dir", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("paths", nargs="*")
    return parser.parse_intermixed_args()


def prepare(build: pathlib.Path, plain: bool) -> None:
    """Makes what sources include: generated headers always, precompiled headers unless `plain`."""
    targets = subprocess.run(["ninja", "-C", str(build), "-t", "targets", "all"], check=True, capture_output=True, text=True)
    wanted = []
    for line in targets.stdout.splitlines():
        name, _, rule = line.partition(": ")
        generated = name.startswith("embedded/") or name.endswith(".pb.h")
        if name.endswith(".gch") and not plain or generated and rule == "CUSTOM_COMMAND":
            wanted.append(name)
    if wanted:
        subprocess.run(["ninja", "-C", str(build), "--quiet", *wanted], check=True)


def syntax_only(command: str, plain: bool) -> list:
    """The compiler's arguments without output, input and compiler cache."""
    words = shlex.split(command)
    while os.path.basename(words[0]) in ("ccache",):
        words.pop(0)
    kept, skip = [], 0
    for index, word in enumerate(words):
        if skip:
            skip -= 1
        elif word in ("-o", "-c", "-MF", "-MT", "-MQ"):
            skip = 1
        elif plain and word == "-include" and words[index + 1].endswith("cmake_pch.hxx"):
            skip = 1
        elif plain and word == "-Winvalid-pch":
            pass
        else:
            kept.append(word)
    return [*kept, "-fsyntax-only"]


def tasks(build: pathlib.Path, plain: bool):
    """(name, arguments, standard input) of each source of the build and of each header beside them."""
    arguments_of_folder = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = pathlib.Path(entry["file"])
        if not path.is_relative_to(ROOT) or path.is_relative_to(build):
            continue
        name = path.relative_to(ROOT)
        arguments = syntax_only(entry["command"], plain)
        if path.suffix != ".cc":
            continue
        for folder in name.parents:
            arguments_of_folder.setdefault(folder, arguments)
        yield name.as_posix(), [*arguments, str(path)], ""
    for folder in sorted({name for name in arguments_of_folder if len(name.parts) == 1 or name.parts[:1] == ("tests",)}):
        for header in sorted((ROOT / folder).rglob("*.h")):
            name = header.relative_to(ROOT)
            nearest = next(parent for parent in name.parents if parent in arguments_of_folder)
            if folder == pathlib.Path("tests") or nearest.parts[0] != "tests" and folder.parts[0] == "tests":
                continue  # the folders inside tests/ have arguments of their own
            yield name.as_posix(), [*arguments_of_folder[nearest], "-x", "c++", "-"], f'#include "{name.as_posix()}"\n'


def includes_first(header: str, checked: set) -> bool:
    """Whether the source of the same name is checked and includes the header before all else."""
    source = header.removesuffix(".h") + ".cc"
    if source not in checked:
        return False
    first = next((line for line in (ROOT / source).read_text(encoding="utf-8").splitlines() if line.startswith("#include")), "")
    return first == f'#include "{header}"'


def main() -> int:
    options = parsed()
    build = options.build_dir.resolve()
    prepare(build, options.plain)
    wanted, seen = [], set()
    for name, arguments, text in tasks(build, options.plain):
        if name not in seen and (name.startswith(tuple(options.paths)) if options.paths
                                 else not name.startswith(("tests/", "bench/"))):
            seen.add(name)
            wanted.append((name, arguments, text))
    if not wanted:
        print("compile_alone: nothing to compile; is BUILD_DIR configured, and PATH right?", file=sys.stderr)
        return 2

    def run(task):
        name, arguments, text = task
        done = subprocess.run(arguments, input=text, capture_output=True, text=True, cwd=build)
        return name, done.returncode, done.stderr

    checked = {name for name, _, _ in wanted}
    wanted = [task for task in wanted if not (task[0].endswith(".h") and includes_first(task[0], checked))]

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, code, errors in pool.map(run, wanted):
            if code:
                failed += 1
                print(f"{name}: does not compile by itself\n{errors[:3000]}", file=sys.stderr)
    print(f"compile_alone: {len(wanted)} files, {failed} that do not compile by themselves")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
