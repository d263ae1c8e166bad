"""The conditions of a measurement, and where results are kept."""

import datetime
import os
import platform
import subprocess
import sys

from .products import ROOT


def _first(path, key):
    try:
        with open(path, encoding="ascii", errors="replace") as f:
            for line in f:
                if line.startswith(key):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "unknown"


def _git(*arguments):
    run = subprocess.run(["git", "-C", ROOT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         text=True, check=False)
    return run.stdout.strip()


def text(versions):
    """Markdown: machine, kernel, versions, commit, command, date, load at the start."""
    commit = _git("rev-parse", "--short=12", "HEAD") or "unknown"
    if _git("status", "--porcelain", "--untracked-files=no"):
        commit += " with uncommitted changes"
    memory = _first("/proc/meminfo", "MemTotal")
    lines = [
        f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        f"- machine: {os.cpu_count()} x {_first('/proc/cpuinfo', 'model name')}, {memory}",
        f"- kernel: {platform.release()}; load average {' '.join(f'{x:.2f}' for x in os.getloadavg())}",
        f"- commit: {commit}",
        f"- command: `scripts/bench {' '.join(sys.argv[1:])}`",
    ]
    return "\n".join(lines + [f"- {name}: {version}" for name, version in versions.items()]) + "\n"


def save(name, title, versions, table, raw):
    path = os.path.join(ROOT, "bench", "results", f"{name}.md")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"# {title}\n\n{text(versions)}\n```\n{table.rstrip()}\n```\n\n## Raw output\n\n```\n{raw.rstrip()}\n```\n")
    print(f"saved {os.path.relpath(path, ROOT)}")
