#!/usr/bin/env python3
"""Runs clang-tidy 16 (the checks of .clang-tidy) over the sources and headers that have changed.

    tools/lint.py BUILD_DIR [--since COMMIT] [--jobs N] [PATH...]

Changed is what differs from COMMIT (default: the commit before HEAD), committed or not. With PATH, the files
whose names begin with one of the paths are checked instead. BUILD_DIR is a build directory without unity builds
(the preset `alone`), as for tools/compile_alone.py. Exit status 1 after a finding.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

import compile_alone

ROOT = compile_alone.ROOT


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build_dir", type=pathlib.Path)
    parser.add_argument("--since", default="HEAD~1", metavar="COMMIT")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("paths", nargs="*")
    return parser.parse_intermixed_args()


def git(*words):
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"lint: git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def for_clang(arguments):
    """The arguments of g++ that clang-tidy needs: includes, macros and the language. It has warnings of its own."""
    return [word for word in arguments[1:] if not word.startswith(("-W", "-f", "-O", "-g")) and word not in ("-", "-x", "c++")]


def main() -> int:
    options = parsed()
    changed = set() if options.paths else {*git("diff", "--name-only", "--diff-filter=d", options.since),
                                           *git("ls-files", "--others", "--exclude-standard")}
    compile_alone.prepare(options.build_dir.resolve(), True)
    wanted = {}
    for name, arguments, _ in compile_alone.tasks(options.build_dir.resolve(), True):
        if name in changed or name.startswith(tuple(options.paths)):
            wanted.setdefault(name, [word for word in for_clang(arguments) if word != str(ROOT / name)])

    def run(task):
        name, arguments = task
        with tempfile.NamedTemporaryFile("w", suffix=".cc") as header:
            header.write(f'#include "{name}"\n')
            header.flush()
            source = header.name if name.endswith(".h") else str(ROOT / name)
            # Faults in an unchanged header are not of this change.
            command = ["clang-tidy-16", "--quiet", f"--config-file={ROOT / '.clang-tidy'}", f"--header-filter=/{name}$", source, "--", *arguments]
            done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        return name, done.returncode, done.stdout or done.stderr

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, code, findings in pool.map(run, sorted(wanted.items())):
            if code:
                failed += 1
                print(f"{name}:\n{findings}")
    print(f"lint: {len(wanted)} files, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
