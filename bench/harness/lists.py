"""`scripts/bench lists`: a list of millions of addresses from a file: how long it takes to load, what it takes of memory, and what
proxied requests notice while it is loaded again and again.

The proxy is alone on core 0, with the thread that loads; load and app on core 1."""

import contextlib
import json
import os
import random
import statistics
import threading
import time
import urllib.request

from . import conditions, load, products
from .process import Child, Failure, favour, free_port, pinned, scratch
from .start import is_ready, resident

SECONDS_MOST, BYTES_MOST = 5.0, 40.0
RELOAD_MOST = 30.0  # beside a worker that has no time to spare


def add_arguments(parser):
    parser.add_argument("--addresses", type=int, default=5_000_000)
    parser.add_argument("--starts", type=int, default=3, help="how often it is loaded at a start")
    parser.add_argument("--rounds", type=int, default=6, help="runs of the proxy, of each kind")
    parser.add_argument("--seconds", type=float, default=6, help="of each such run")
    parser.add_argument("--rate", type=int, default=2000, help="requests a second in them")
    parser.add_argument("--full", type=int, default=2, metavar="ROUNDS", help="runs beside as many requests as the proxy takes, of each kind")
    parser.add_argument("--full-seconds", type=float, default=45, help="of each such run")
    parser.add_argument("--gate", action="store_true",
                        help=f"fail above {SECONDS_MOST} s, {BYTES_MOST} bytes an address, or {RELOAD_MOST} s for a reload beside a full proxy")
    parser.add_argument("--save", metavar="NAME", help="write bench/results/NAME.md")


def write_list(path, count, seed):
    """As many different random addresses, one a line."""
    draw = random.Random(seed)
    numbers = draw.sample(range(1 << 24, 224 << 24), count)
    with open(path, "w", encoding="ascii") as f:
        for begin in range(0, count, 100_000):
            f.write("".join(f"{n >> 24}.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}\n" for n in numbers[begin:begin + 100_000]))


def put(source, directory):
    """The file under the list's name, as a deployment replaces it: beside it, then renamed."""
    beside = os.path.join(directory, ".next")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(beside)
    os.link(source, beside)
    os.replace(beside, os.path.join(directory, "addresses.txt"))


class Listing:
    def __init__(self, o, directory, source):
        self.o, self.directory, self.number = o, directory, 0
        self.ports = {name: free_port() for name in ("proxy", "app", "health")}
        put(source, directory)
        path = os.path.join(directory, "weir.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join((
                "weir: 1", "threads: 1",
                f"proxy: {{listen: 127.0.0.1:{self.ports['proxy']}, upstream: http://127.0.0.1:{self.ports['app']}, "
                "client_ip: {trust: [127.0.0.0/8], header: x-forwarded-for}}",
                f"admin: {{listen: 'unix:{directory}/admin.sock'}}", f"health: {{listen: 127.0.0.1:{self.ports['health']}}}",
                "api: {listen: none}", "grpc: {listen: none}", "drain: {delay: 0s}", "log: {level: error}",
                "lists: {scanners: {of: ip, kind: gray, file: addresses.txt}}",
                "policies: [{name: p, watch: request, when: 'inList(\"scanners\", ip)', key: ip, window: 1m, then: [{over: 1000000000, do: deny}]}]")) + "\n")
        self.begin = time.monotonic()
        self.child = Child("weir", pinned(0, [products.Weir.binary, "serve", "-c", path]), os.path.join(directory, "output.log"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stop()

    def wait_ready(self, seconds=120):
        """Seconds from exec until requests are served."""
        while not is_ready(self.ports["health"]):
            self.child.check_alive()
            if time.monotonic() - self.begin > seconds:
                raise Failure(f"weir is not ready after {seconds} s")
            time.sleep(0.005)
        return time.monotonic() - self.begin

    def metric(self, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['health']}/metrics", timeout=30) as answer:
            for line in answer.read().decode().splitlines():
                if line.startswith(name + "{"):
                    return float(line.rsplit(" ", 1)[1])
        raise Failure(f"there is no metric {name}")

    def proxy_load(self, full=False):
        """At a rate, or `full`: each connection asks again as soon as it has its answer."""
        result = load.run(["--target", f"127.0.0.1:{self.ports['proxy']}", "--backend", f"127.0.0.1:{self.ports['app']}", "--conns", 16,
                           "--seconds", self.o.full_seconds if full else self.o.seconds, "--rate", 0 if full else self.o.rate,
                           "--addresses", 1_000_000, "--random", "--proxy-pid", self.child.pid])
        load.demand_right(result, "weir")
        return result


class Reloads:
    """Replaces the file whenever the one before is in force, until the end of the block; `once`: a single time."""

    def __init__(self, site, sources, once=False):
        self.site, self.sources, self.once, self.took, self.problem = site, sources, once, [], None
        self.ended = threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join(330)
        if self.problem or not self.took:
            raise Failure(f"the list was not loaded again: {self.problem}")

    def run(self):
        try:
            while not self.ended.is_set():
                before, begin = self.site.metric("weir_source_loads_total"), time.monotonic()
                self.site.number += 1  # the other file: weir would not notice the same one
                put(self.sources[self.site.number % 2], self.site.directory)
                while self.site.metric("weir_source_loads_total") == before:
                    if time.monotonic() - begin > 300:
                        raise Failure("not in force after 300 s")
                    time.sleep(0.2)
                self.took.append(time.monotonic() - begin)
                if self.once:
                    return
        except (OSError, Failure) as problem:
            self.problem = problem


def row_of(kind, rows):
    at = lambda name: [row["latency_us"][name] for row in rows]  # noqa: E731
    return (f"{kind:22}{statistics.median(at('p50')):9.0f}{min(at('p99')):15.0f}{statistics.median(at('p99')):9.0f}{max(at('p99')):9.0f}"
            f"{statistics.median(at('p99_9')):9.0f}{statistics.median(row['proxy_cpu_us'] for row in rows):16.2f}")


def run(o):
    favour(os.getpid())
    raw, starts, results, took = [], [], {"alone": [], "reload after reload": []}, []
    full, full_took = {"full, alone": [], "full, one reload": []}, []
    with scratch() as directory:
        sources = [os.path.join(directory, name) for name in ("one.txt", "other.txt")]
        for seed, path in enumerate(sources):
            write_list(path, o.addresses, seed)
        for number in range(o.starts):
            place = os.path.join(directory, f"start-{number}")
            os.makedirs(place)
            with Listing(o, place, sources[0]) as site:
                starts.append(site.wait_ready())
                entries, size = site.metric("weir_source_entries"), site.metric("weir_source_memory_bytes")
                rss = resident(site.child.pid)[0]
        place = os.path.join(directory, "proxy")
        os.makedirs(place)
        with Listing(o, place, sources[0]) as site:
            site.wait_ready()
            for number in range(o.rounds):
                for kind in results if number % 2 == 0 else reversed(list(results)):
                    if kind == "alone":
                        time.sleep(0.5)
                        result = site.proxy_load()
                    else:
                        with Reloads(site, sources) as reloads:
                            result = site.proxy_load()
                        took += reloads.took
                    results[kind].append(result)
                    raw.append(f"{number + 1}, {kind}: {json.dumps(result)}")
            for number in range(o.full):
                for kind in full if number % 2 == 0 else reversed(list(full)):
                    if kind == "full, alone":
                        result = site.proxy_load(full=True)
                    else:
                        with Reloads(site, sources, once=True) as reloads:
                            result = site.proxy_load(full=True)
                        full_took += reloads.took
                    full[kind].append(result)
                    raw.append(f"{number + 1}, {kind}: {json.dumps(result)}")
            after = resident(site.child.pid)[0]
    if entries != o.addresses:
        raise Failure(f"{entries:.0f} of {o.addresses} addresses are in force")
    each = size / entries
    lines = [f"a list of {o.addresses:,} IPv4 addresses from a file, one worker", "",
             f"exec to ready:     {min(starts):.2f} s at least, {statistics.median(starts):.2f} s in the middle of {o.starts}",
             f"an address:        {each:.1f} bytes; the process takes {rss:.0f} MiB"]
    if took:
        lines += [f"a new file:        in force after {min(took):.1f} to {max(took):.1f} s beside the requests; after {len(took)} the process takes {after:.0f} MiB",
                  "", f"proxied requests at {o.rate:,} a second, each looked up, {o.rounds} runs of {o.seconds} s of each kind, in turns",
                  f"{'':22}{'p50 us':>9}{'p99 us: least':>15}{'median':>9}{'most':>9}{'p99.9':>9}{'CPU us/request':>16}"]
        lines += [row_of(kind, rows) for kind, rows in results.items()]
    if full_took:
        lines += ["", f"as many requests as the proxy takes, {o.full} runs of {o.full_seconds} s of each kind, in turns; "
                  f"a new file is in force after {min(full_took):.1f} to {max(full_took):.1f} s",
                  f"{'':22}{'p50 us':>9}{'p99 us: least':>15}{'median':>9}{'most':>9}{'p99.9':>9}{'CPU us/request':>16}"]
        lines += [row_of(kind, rows) for kind, rows in full.items()]
        lines += [f"{kind + ', a second':22}{statistics.median(row['rps'] for row in rows):9.0f} requests" for kind, rows in full.items()]
    table = "\n".join(lines)
    print(table)
    if o.save:
        raw += [f"starts: {starts}", f"loads: {took}", f"loads beside a full proxy: {full_took}"]
        conditions.save(o.save, "Lists by the million", {"weir": products.Weir.version()}, table, "\n".join(raw))
    if o.gate:
        slowest = max(full_took, default=0)
        good = min(starts) <= SECONDS_MOST and each <= BYTES_MOST and slowest <= RELOAD_MOST
        print(f"gate: {min(starts):.2f} s ({SECONDS_MOST} are allowed), {each:.1f} bytes ({BYTES_MOST}), "
              f"beside a full proxy {slowest:.1f} s ({RELOAD_MOST}): {'ok' if good else 'FAILED'}")
        return 0 if good else 1
    return 0
