"""`scripts/bench replay`: rows per CPU-second of `weir replay` on one core, over files made for it; with `--threads` also rows per
second by the clock on several, and with `--peers` a program that knows these questions only, and DuckDB."""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

from . import conditions, products
from .process import Failure, pinned

AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36"


def add_arguments(parser):
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=["access", "hot_items"], action="append")
    parser.add_argument("--threads", type=int, action="append", default=[], metavar="N",
                        help="also by the clock with one thread and with N, in alternation; may be repeated")
    parser.add_argument("--peers", action="store_true", help="access: also a single-purpose C++ program, and DuckDB if Python has it (pip install duckdb)")
    parser.add_argument("--save", metavar="NAME", help="write bench/results/NAME.md")


def access_log(path, rows):
    """Combined lines at some 2,000 a second: 20,000 callers, few of them busy; a shop's paths."""
    chance = random.Random(17)
    callers = [f"{chance.randrange(1, 224)}.{chance.randrange(256)}.{chance.randrange(256)}.{chance.randrange(1, 255)}"
               for _ in range(20_000)]
    requests = []
    for _ in range(4096):
        at = chance.random()
        item = int(50_000 * chance.random() ** 3)
        if at < 0.55:
            requests.append((f"GET /items/{item}", 200 if chance.random() < 0.97 else 404))
        elif at < 0.75:
            requests.append((f"GET /search?q=shoes+{item % 97}&page={item % 9}", 200))
        elif at < 0.9:
            requests.append((f"GET /static/{item % 300}.js", 200))
        elif at < 0.97:
            requests.append(("POST /login", 200 if chance.random() < 0.8 else 401))
        else:
            requests.append(("POST /checkout", 200))
    with open(path, "w", encoding="ascii") as f:
        for start in range(0, rows, 2000):
            second = start // 2000
            stamp = f"21/Nov/2026:{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02} +0000"
            lines = []
            for _ in range(min(2000, rows - start)):
                caller = callers[int(len(callers) * chance.random() ** 3)]
                request, status = requests[chance.randrange(4096)]
                lines.append(f'{caller} - - [{stamp}] "{request} HTTP/1.1" {status} 5120 "https://shop.example/" "{AGENT}"\n')
            f.writelines(lines)


def actions(path, rows):
    """The columns of Taobao's UserBehavior.csv, 30 rows a second over some 400,000 items."""
    chance = random.Random(17)
    with open(path, "w", encoding="ascii") as f:
        lines = []
        for i in range(rows):
            item = int(400_000 * chance.random() ** 2)
            kind = "pv" if chance.random() < 0.9 else "cart"
            lines.append(f"{chance.randrange(10**6)},{item},{item % 9000},{kind},{1511658000 + i // 30}\n")
            if len(lines) == 10_000:
                f.writelines(lines)
                lines.clear()
        f.writelines(lines)


JOBS = {
    "access": ("access log, 10 policies (G15: 1,000,000/s)", access_log, "access.yaml", "request"),
    "hot_items": ("hot items, top 10 of 1 h every 5 min (2,000,000/s)", actions, "hot_items.yaml", "action"),
}


def cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)} ended with {done.returncode}\n{done.stderr[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def by_the_clock(weir, o, config, event, data):
    """Seconds of the best run for each number of threads, in alternation on the cores that there are."""
    best, said = {}, {}
    for _ in range(o.repeat):
        for threads in dict.fromkeys([1, *o.threads]):
            command = [weir, "replay", "-c", config, "--event", f"{event}={data}", "-o", "json", "--threads", str(threads), "-v"]
            start = time.monotonic()
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            seconds = time.monotonic() - start
            if done.returncode != 0:
                raise Failure(f"{' '.join(command)} ended with {done.returncode}\n{done.stderr[-2000:]}")
            best[threads] = min(seconds, best.get(threads, seconds))
            said[threads] = (done.stdout, done.stderr.strip())
    for threads, (out, _) in said.items():
        if out != said[1][0]:
            raise Failure(f"{threads} threads say something else than one")
    return [f"  {threads:>2} threads: {best[threads]:6.2f} s by the clock, {o.rows / best[threads]:>10,.0f} rows/s, "
            f"{best[1] / best[threads]:.2f} x one thread ({said[threads][1].removeprefix('weir: ')})" for threads in best]


def single_purpose(o, scratch, data, report):
    """bench/replay/single_purpose.cc, which must have counted the events that weir has."""
    program = os.path.join(scratch, "single_purpose")
    subprocess.run(["c++", "-std=c++20", "-O2", "-o", program, os.path.join(products.ROOT, "bench", "replay", "single_purpose.cc")], check=True)
    return peer(o, "single-purpose C++ program", [program, data], report)


def duckdb(o, data, report):
    """bench/replay/ten_policies.sql, one thread."""
    script = [sys.executable, os.path.join(products.ROOT, "bench", "replay", "duckdb_peer.py")]
    version = subprocess.run([*script, "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if version.returncode != 0:
        return "  DuckDB: Python does not have it (pip install duckdb)"
    return peer(o, version.stdout.strip(), [*script, data], report)


def peer(o, name, command, report):
    """A program that prints for each policy how many events it counted; they must be those of weir."""
    runs = [cpu_seconds(pinned(0, command)) for _ in range(o.repeat)]
    seconds = min(each for each, _ in runs)
    counted = {policy: int(events) for policy, events, _ in (line.split() for line in runs[0][1].splitlines()[1:])}
    ours = {policy["policy"]: policy["events"] for policy in json.loads(report)["policies"]}
    # Whom a policy lists it does not count on: the peers have no lists.
    wrong = {policy for policy, events in counted.items() if ours[policy] != events and policy != "failed-logins-per-ip"}
    if wrong or len(counted) != len(ours):
        raise Failure(f"weir and {name} counted other events: {sorted(wrong)}")
    return f"  {name + ':':27} {seconds:6.2f} CPU s, {o.rows / seconds:>10,.0f} rows/CPU-s"


def run(o, build_directory):
    weir = os.path.join(build_directory, "weir")
    lines = [f"{'job':52} {'rows':>10} {'CPU s':>7} {'best rows/CPU-s':>16} {'median':>10} {'peak MB':>8}"]
    raw = []
    with tempfile.TemporaryDirectory() as scratch:
        for job, (what, make, policies, event) in JOBS.items():
            if o.only and job not in o.only:
                continue
            data = os.path.join(scratch, job)
            make(data, o.rows)
            config = os.path.join(products.ROOT, "bench", "replay", policies)
            command = pinned(0, [weir, "replay", "-c", config, "--event", f"{event}={data}", "-o", "json", "--threads", "1"])
            times = []
            for _ in range(o.repeat):
                seconds, out = cpu_seconds(command)
                times.append(seconds)
                raw.append(f"{job}: {seconds:.3f} s")
            if f'"rows":{o.rows},' not in out:
                raise Failure(f"{job}: not all rows were read: {out[:200]}")
            times.sort()
            shown = len(lines)
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            lines.append(f"{what:52} {o.rows:>10,} {times[0]:>7.2f} {o.rows / times[0]:>16,.0f} "
                         f"{o.rows / times[len(times) // 2]:>10,.0f} {peak:>8.0f}")
            if o.threads:
                lines += by_the_clock(weir, o, config, event, data)
            if o.peers and job == "access":
                lines += [single_purpose(o, scratch, data, out), duckdb(o, data, out)]
            print("\n".join(lines[shown:]), flush=True)
    text = "\n".join(lines)
    if o.save:
        conditions.save(o.save, "Replay", {}, text, "\n".join(raw))
    return 0
