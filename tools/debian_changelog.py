#!/usr/bin/env python3
"""debian_changelog.py VERSION OUT.gz: the package's changelog in Debian's form, dated by SOURCE_DATE_EPOCH or the last commit."""
import email.utils
import gzip
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def epoch() -> int:
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    last = subprocess.run(["git", "-C", str(ROOT), "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False)
    return int(last.stdout) if last.returncode == 0 and last.stdout.strip() else 0


def main() -> None:
    version, out = sys.argv[1:]
    text = (f"weir ({version}-1) unstable; urgency=medium\n\n"
            "  * Built from the sources of weir; changelog.gz says what has changed.\n\n"
            f" -- weir maintainers <maintainers@users.noreply.github.com>  {email.utils.formatdate(epoch())}\n")
    with open(out, "wb") as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=9, mtime=0) as packed:
        packed.write(text.encode())


main()
