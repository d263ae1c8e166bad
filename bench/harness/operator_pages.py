"""`scripts/bench operator`: how long the pages take of a weir that is full, and what ten open pages cost the requests.

Three parts (`--only` runs one): the answers of the admin API and of ctl's commands; latency of proxied requests at a fixed
rate with no page open and with ten, in turns; instructions of the worker for a request with both, counted by callgrind."""

import glob
import json
import os
import re
import shutil
import statistics
import time

from . import conditions, crowded, instructions, load, products
from .process import Failure, favour, scratch

PARTS = ("pages", "proxy", "instructions")
MOST_MS = 100
# Of the worker's instructions a request: two runs of the same differ by as much.
SAME = 0.01


def add_arguments(parser):
    parser.add_argument("--entries", type=int, default=100_000, help="entries of a list")
    parser.add_argument("--policies", type=int, default=1_000)
    parser.add_argument("--keys", type=int, default=1_000_000, help="keys that a policy counts")
    parser.add_argument("--memory", default="512MiB", help="limits.memory")
    parser.add_argument("--times", type=int, default=15, help="how often each page is asked for")
    parser.add_argument("--rounds", type=int, default=6, help="runs of the proxy, of each kind")
    parser.add_argument("--seconds", type=float, default=5, help="of each such run")
    parser.add_argument("--rate", type=int, default=2000, help="requests a second in them")
    parser.add_argument("--requests", type=int, default=4000, help="under callgrind, in the shorter run")
    parser.add_argument("--only", choices=PARTS, action="append", help="a part, may be repeated; default all")
    parser.add_argument("--gate", action="store_true", help=f"fail if a page takes more than {MOST_MS} ms, or the instructions move")
    parser.add_argument("--save", metavar="NAME", help="write bench/results/NAME.md")


def pages(o):
    """What is asked for: what it is, method, path, body."""
    address = "10.0.7.7"
    last = f"10.{(o.entries - 1) >> 16 & 255}.{(o.entries - 1) >> 8 & 255}.{(o.entries - 1) & 255}"
    explain = {"method": "POST", "url": "/api/route/7", "ip": address}
    return [
        ("the page itself", "GET", "/", None),
        ("status", "GET", "/v1/status", None),
        ("replicas", "GET", "/v1/replicas", None),
        ("lists", "GET", "/v1/lists", None),
        ("entries of a list, 1,000", "GET", f"/v1/lists/{crowded.LIST}?limit=1000", None),
        ("entries of all, 100", "GET", "/v1/entries?limit=100", None),
        ("search that finds one", "GET", f"/v1/entries?limit=100&search={last}", None),
        ("search that finds none", "GET", "/v1/entries?limit=100&search=nobody", None),
        ("entries of a key", "GET", f"/v1/lists/{crowded.LIST}/entries?key={address}", None),
        ("why", "GET", f"/v1/why?key={address}", None),
        ("policies, 100", "GET", "/v1/policies?limit=100", None),
        ("policies, all", "GET", "/v1/policies", None),
        ("one policy", "GET", f"/v1/policies/{crowded.WATCHED}", None),
        ("readings of all keys", "GET", f"/v1/policies/{crowded.WATCHED}/readings?bins=600", None),
        ("readings of all amounts", "GET", f"/v1/policies/{crowded.AMOUNTS}/readings?bins=600", None),
        ("the same, 4 trials", "GET", f"/v1/policies/{crowded.AMOUNTS}/readings?bins=600&at=5&at=50&at=500&at=5000", None),
        ("counter of a key", "GET", f"/v1/counters/{crowded.WATCHED}?key={address}", None),
        ("views", "GET", "/v1/views", None),
        ("hot items, 30 windows", "GET", "/v1/views/hot?windows=30", None),
        ("visitors", "GET", "/v1/views/visitors?windows=30", None),
        ("tables", "GET", "/v1/tables", None),
        ("a table", "GET", "/v1/tables/limits", None),
        ("configuration", "GET", "/v1/config", None),
        ("loads", "GET", "/v1/reloads", None),
        ("changes", "GET", "/v1/changes", None),
        ("audit log", "GET", "/v1/audit?limit=100", None),
        ("overrides", "GET", "/v1/overrides", None),
        ("verdicts", "GET", "/v1/verdicts", None),
        ("explain", "POST", "/v1/explain", explain),
        ("hash", "GET", f"/v1/hash?key={address}", None),
        ("metrics", "GET", "/v1/metrics", None),
        ("lineage", "GET", "/v1/lineage", None),
        ("list a key", "POST", f"/v1/lists/{crowded.LIST}/entries", {"key": [address], "for": "24h"}),
    ]


def measure_page(site, o, method, path, body):
    client, took, cpu, size = site.client(), [], [], 0
    for n in range(o.times + 2):
        begin, worked = time.perf_counter(), crowded.control_ms(site.child.pid)
        status, answer = site.ask(method, path, body, client)
        wall = (time.perf_counter() - begin) * 1000
        if status // 100 != 2:
            raise Failure(f"{method} {path}: {status} {answer[:300]}")
        if n < 2:
            continue  # the first ones warm the memory
        time.sleep(0.03)  # the kernel's account follows, and changes are limited to 50 a second
        took.append(wall)
        cpu.append(crowded.control_ms(site.child.pid) - worked)
        size = len(answer)
    return took, cpu, size


def export(site):
    """As `weir ctl list NAME --export` does: by pages of a thousand. Seconds, and the longest page in ms."""
    client, begin, after, rows, longest = site.client(), time.perf_counter(), "", 0, 0.0
    while after is not None:
        asked = time.perf_counter()
        path = f"/v1/lists/{crowded.LIST}?limit=1000" + (f"&after={after}" if after else "")
        page = json.loads(site.ask("GET", path, None, client)[1])
        longest = max(longest, (time.perf_counter() - asked) * 1000)
        rows, after = rows + len(page["entries"]), page["next"]
    return time.perf_counter() - begin, longest, rows


def search_all(site, text):
    """As the page does: on and on, until the last entry was looked at. Seconds, pages."""
    client, begin, after, count = site.client(), time.perf_counter(), "", 0
    while after is not None:
        page = json.loads(site.ask("GET", f"/v1/entries?limit=100&search={text}" + (f"&after={after}" if after else ""), None, client)[1])
        after, count = page["next"], count + 1
    return time.perf_counter() - begin, count


def override(site):
    """Silences a policy and ends that again: both compile the whole configuration. Milliseconds of each."""
    path, out = "/v1/policies/policy-7/override", []
    for method, body in (("PUT", {"mode": "shadow", "for": "1m", "reason": "a measurement"}), ("DELETE", None)):
        begin = time.perf_counter()
        status, answer = site.ask(method, path, body)
        out.append((time.perf_counter() - begin) * 1000)
        if status // 100 != 2:
            raise Failure(f"{method} {path}: {status} {answer[:300]}")
    return out


def measure_pages(site, o, raw):
    lines = ["", f"{'answers of the admin port':28}{'ms: least':>11}{'median':>9}{'most':>9}{'CPU ms':>9}{'KiB':>9}"]
    worst = 0.0
    for what, method, path, body in pages(o):
        took, cpu, size = measure_page(site, o, method, path, body)
        worst = max(worst, statistics.median(took))
        lines.append(f"{what:28}{min(took):11.2f}{statistics.median(took):9.2f}{max(took):9.2f}{statistics.median(cpu):9.2f}{size / 1024:9.1f}")
        raw.append(f"{method} {path}: ms {[round(ms, 2) for ms in took]}, CPU {[round(ms, 2) for ms in cpu]}")
    seconds, longest, rows = export(site)
    lines.append(f"export of {rows:,} entries: {seconds:.2f} s by pages of 1,000, the longest {longest:.1f} ms")
    seconds, count = search_all(site, "nobody")
    lines.append(f"search through all entries: {seconds * 1000:.0f} ms in {count} pages")
    put, end = override(site)
    lines.append(f"silence a policy, and end that: {put:.0f} and {end:.0f} ms (the configuration is compiled, beside the requests)")
    return lines, worst


def measure_proxy(site, o, raw):
    results = {0: [], crowded.PAGES: []}
    for number in range(o.rounds):
        for count in (0, crowded.PAGES) if number % 2 == 0 else (crowded.PAGES, 0):
            with crowded.OpenPages(site, count):
                worked = crowded.control_ms(site.child.pid)
                result = site.proxy_load(o.seconds, o.rate)
                result["control_ms"] = (crowded.control_ms(site.child.pid) - worked) / result["seconds"]
            results[count].append(result)
            raw.append(f"{number + 1}, {count} pages: {json.dumps(result)}")
    lines = ["", f"proxied requests at {o.rate:,} a second, {o.rounds} runs of {o.seconds} s of each kind, in turns",
             f"{'':14}{'p50 us':>9}{'p99 us: least':>15}{'median':>9}{'most':>9}{'p99.9':>9}{'CPU us/request':>16}{'control ms/s':>14}"]
    for count, rows in results.items():
        at = lambda name: [row["latency_us"][name] for row in rows]  # noqa: E731
        p99 = at("p99")
        lines.append(f"{f'{count} pages':14}{statistics.median(at('p50')):9.0f}{min(p99):15.0f}{statistics.median(p99):9.0f}{max(p99):9.0f}"
                     f"{statistics.median(at('p99_9')):9.0f}{statistics.median(row['proxy_cpu_us'] for row in rows):16.2f}"
                     f"{statistics.median(row['control_ms'] for row in rows):14.2f}")
    return lines


def per_thread(pattern):
    """Instructions by callgrind's number of the thread."""
    out = {}
    for path in glob.glob(pattern + "*"):
        found = re.search(r"-(\d+)$", path)
        if found:
            out[int(found.group(1))] = instructions.total(path)
    if not out:
        raise Failure(f"callgrind has left nothing at {pattern}")
    return out


def one_count(o, state, directory, requests, open_pages):
    os.makedirs(directory)
    os.makedirs(os.path.join(directory, "state"), mode=0o700)
    for name in os.listdir(state):
        if name != "counters.snapshot":  # read by a thread that is not measured, and slowly
            shutil.copy2(os.path.join(state, name), os.path.join(directory, "state", name))
    out = os.path.join(directory, "callgrind.out")
    wrap = [products.find("valgrind"), "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={out}", "--"]
    with crowded.Crowded(o, directory, wrap, seconds=120) as site:
        with crowded.OpenPages(site, open_pages):
            result = site.proxy_load(300, 0, requests)
    if result["answered"] != requests:
        raise Failure(f"{result['answered']} of {requests} requests answered")
    return per_thread(out)


def measure_instructions(o, state, directory, raw):
    figures = {}
    for count in (0, crowded.PAGES):
        few = one_count(o, state, os.path.join(directory, f"few-{count}"), o.requests, count)
        many = one_count(o, state, os.path.join(directory, f"many-{count}"), 3 * o.requests, count)
        # The worker is the thread whose work grows with the requests.
        more = {thread: many[thread] - few.get(thread, 0) for thread in many}
        worker = max(more, key=more.get)
        figures[count] = more[worker] / (2 * o.requests)
        raw.append(f"{count} pages: instructions by thread, {o.requests} requests: {few}; {3 * o.requests}: {many}; the worker is {worker}")
    moved = figures[crowded.PAGES] / figures[0] - 1
    return ["", "instructions of the worker for a request (callgrind)"] + [
        f"{f'{count} pages':14}{figure:10,.0f}" for count, figure in figures.items()] + [f"{'difference':14}{100 * moved:9.2f} %"], abs(moved)


def run(o):
    favour(os.getpid())
    parts = o.only or PARTS
    raw, worst, moved = [], 0.0, 0.0
    lines = [f"weir with {o.entries:,} entries, {o.policies:,} policies and {o.keys:,} keys; one worker"]
    with scratch() as directory:
        filled = os.path.join(directory, "filled")
        os.makedirs(filled)
        with crowded.Crowded(o, filled) as site:
            site.fill()
            if "pages" in parts:
                more, worst = measure_pages(site, o, raw)
                lines += more
            if "proxy" in parts:
                lines += measure_proxy(site, o, raw)
        if "instructions" in parts:
            more, moved = measure_instructions(o, os.path.join(filled, "state"), directory, raw)
            lines += more
    table = "\n".join(lines)
    print(table)
    if o.save:
        conditions.save(o.save, "The operator's pages", {"weir": products.Weir.version()}, table, "\n".join(raw))
    if o.gate and (worst > MOST_MS or moved > SAME):
        print(f"gate: the slowest page takes {worst:.0f} ms ({MOST_MS} are allowed), the instructions moved by {100 * moved:.2f} % ({100 * SAME:.0f} %): FAILED")
        return 1
    return 0
