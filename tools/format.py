#!/usr/bin/env python3
"""Holds every C++ file of the tree to .clang-format.

    tools/format.py          exit status 1 and a line per file that is formatted otherwise
    tools/format.py --fix    formats these files

The version is pinned, because two versions of clang-format format the same text in two ways: Debian 12's
clang-format-14, which scripts/deps installs. Run by ctest.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FORMAT = "clang-format-14"


BATCH = 40  # files for each run of clang-format: its start takes longer than most files


def not_formatted(paths: list[pathlib.Path]) -> list[pathlib.Path]:
    done = subprocess.run([FORMAT, "--dry-run", "-Werror", *map(str, paths)], capture_output=True, text=True)
    if done.returncode == 0:
        return []
    named = {match[1] for match in re.finditer(r"^(.+?):\d+:\d+: error: code should be clang-formatted", done.stderr, re.MULTILINE)}
    wrong = [path for path in paths if str(path) in named]
    if not wrong:
        sys.exit(f"format: {FORMAT} failed:\n{done.stderr}")
    return wrong


def main() -> int:
    listed = subprocess.run(["git", "ls-files", "-z", "*.cc", "*.h"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:  # a tree without its history
        paths = [path for path in sorted(ROOT.rglob("*")) if path.suffix in {".cc", ".h"} and "build" not in path.parts]
    paths = [path for path in paths if path.exists()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        batches = [paths[at:at + BATCH] for at in range(0, len(paths), BATCH)]
        wrong = [path for batch in pool.map(not_formatted, batches) for path in batch]
    if "--fix" in sys.argv[1:]:
        for path in wrong:
            subprocess.run([FORMAT, "-i", str(path)], check=True)
        print(f"format: formatted {len(wrong)} of {len(paths)} files")
        return 0
    for path in wrong:
        print(f"{path.relative_to(ROOT)}: not formatted; run tools/format.py --fix")
    print(f"format: {len(paths)} files, {len(wrong)} not formatted")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
