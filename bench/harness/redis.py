"""`scripts/bench redis`: weir with one policy, counting alone and with `share: redis`, beside redis-benchmark.

weir on core 0; load, app and Redis on core 1. Both weirs do the same but for the word after `share:`."""

import contextlib
import csv
import io
import json
import os
import socket
import subprocess
import time
from statistics import median

from . import conditions, load, products
from .process import Child, Failure, free_port, pinned, scratch

ADDRESSES = 1000
WINDOWS = {"ring": "10s", "exact": "{last: 10s, exact: true}", "fixed": "{every: 1h}"}


def add_arguments(parser):
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one run")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each")
    parser.add_argument("--conns", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1000, help="requests/s of the runs that measure added latency")
    parser.add_argument("--window", choices=WINDOWS, default="ring", help="form of the policy's window")
    parser.add_argument("--save", metavar="NAME", help="write bench/results/NAME.md")


class Server:
    def __init__(self, directory):
        self.port = free_port()
        self.child = Child("redis-server", pinned(1, [
            products.find("redis-server"), "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir",
            directory]), os.path.join(directory, "redis.log"))
        try:
            self.child.wait_listening(self.port)
        except BaseException:
            self.child.stop()
            raise

    def cpu_ns(self):
        with open(f"/proc/{self.child.pid}/schedstat", encoding="ascii") as f:
            return int(f.read().split()[0])

    def benchmark(self, *options):
        """redis-benchmark's figures of INCR, on weir's core: requests/s and p50 in us."""
        command = pinned(0, [products.find("redis-benchmark"), "-p", str(self.port), "-t", "incr", "--csv", *options])
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        if done.returncode != 0 or not rows:
            raise Failure(f"{' '.join(command)}: {done.stderr or done.stdout}")
        return float(rows[0]["rps"]), 1000 * float(rows[0]["p50_latency_ms"])

    def paced_round_trip(self, rate, seconds):
        """p50 in us of INCR at this rate: both sides sleep in between, as they do behind weir at that rate."""
        taken = []
        with socket.create_connection(("127.0.0.1", self.port)) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            due = time.monotonic()
            for _ in range(int(rate * seconds)):
                due += 1 / rate
                time.sleep(max(0, due - time.monotonic()))
                begin = time.monotonic_ns()
                s.sendall(b"*2\r\n$4\r\nINCR\r\n$5\r\npaced\r\n")
                s.recv(64)
                taken.append((time.monotonic_ns() - begin) / 1000)
        return median(taken)


class Shared(products.Weir):
    template = "weir_shared.yaml.in"

    def __init__(self, share, window, directory, app, server):
        super().__init__(share, directory, app)
        self.share, self.window, self.server = share, window, server

    def values(self):
        return super().values() | {"SHARE": self.share, "WINDOW": WINDOWS[self.window],
                                   "REDIS": f"redis://127.0.0.1:{self.server.port}"}


def one_run(o, product, server, rate):
    before = server.cpu_ns()
    result = load.run(["--target", f"127.0.0.1:{product.port}", "--backend", product.app, "--conns", o.conns, "--seconds",
                       o.seconds, "--warmup", 0.2, "--rate", rate, "--addresses", ADDRESSES, "--proxy-pid", product.pid])
    load.demand_right(result, product.label)
    # The warm-up's requests are in backend_requests and in Redis' time alike.
    result["redis_cpu_us"] = (server.cpu_ns() - before) / 1000 / max(1, result["backend_requests"])
    return result


def row(label, results):
    cpu, redis = (median(r[name] for r in results) for name in ("proxy_cpu_us", "redis_cpu_us"))
    p50, p99 = (median(r["latency_us"][q] for r in results) for q in ("p50", "p99"))
    rps = [r["rps"] for r in results]
    return (f"{label:14}{median(rps):10,.0f}{max(rps):10,.0f}{cpu:10.2f}{redis:10.2f}{p50:10.0f}{p99:9.0f}"
            f"{100 * median(r['proxy_busy'] for r in results):7.0f} %")


def run(o):
    raw, busy, paced = [], {"local": [], "redis": []}, {"local": [], "redis": []}
    alone, pipelined, trip, paced_trip = [], [], [], []
    with scratch() as directory, contextlib.ExitStack() as stack:
        server = Server(directory)
        stack.callback(server.child.stop)
        running = []
        for share in busy:
            product = Shared(share, o.window, directory, f"127.0.0.1:{free_port()}", server)
            stack.callback(product.stop)
            running.append(product.start())
        for number in range(o.rounds):
            for product in running if number % 2 == 0 else reversed(running):
                for rate, results in ((0, busy), (o.rate, paced)):
                    product.child.check_alive()
                    result = one_run(o, product, server, rate)
                    results[product.label].append(result)
                    raw.append(f"{number + 1} {product.label} {json.dumps(result)}")
            rps, p50 = server.benchmark("-c", "1", "-n", "20000")
            alone.append(rps)
            trip.append(p50)
            pipelined.append(server.benchmark("-c", "1", "-P", "64", "-n", "400000")[0])
            paced_trip.append(server.paced_round_trip(o.rate, 1))
            raw.append(f"{number + 1} redis-benchmark incr -c 1: {rps:.0f}/s, p50 {p50:.0f} us; -P 64: "
                       f"{pipelined[-1]:.0f}/s; paced: p50 {paced_trip[-1]:.0f} us")
    title = f"Proxy with one policy, alone and with `share: redis`: {o.window} window, {o.conns} connections"
    head = f"{'':14}{'requests/s':>20}{'CPU us/request':>20}{'latency us':>19}{'weir':>9}\n" \
           f"{'share':14}{'median':>10}{'max':>10}{'weir':>10}{'redis':>10}{'p50':>10}{'p99':>9}{'busy':>9}"
    ratio = median(r["rps"] for r in busy["redis"]) / median(r["rps"] for r in busy["local"])
    weir_cpu, total_cpu = ((median(sum(r[n] for n in names) for r in busy["redis"]) /
                            median(sum(r[n] for n in names) for r in busy["local"]))
                           for names in (("proxy_cpu_us",), ("proxy_cpu_us", "redis_cpu_us")))
    added = (median(r["latency_us"]["p50"] for r in paced["redis"]) -
             median(r["latency_us"]["p50"] for r in paced["local"]))
    lines = [f"{title}; {o.rounds} rounds of {o.seconds} s in alternation", "", "as fast as it goes", head,
             *(row(label, results) for label, results in busy.items()), "",
             f"at {o.rate:,.0f} requests/s", head, *(row(label, results) for label, results in paced.items()), "",
             f"throughput, shared to local          {ratio:8.2f}   (goal 0.60)",
             f"CPU of weir, shared to local         {weir_cpu:8.2f}",
             f"CPU of weir and Redis, to local      {total_cpu:8.2f}",
             f"added p50 at {o.rate:,.0f}/s              {added:8.0f} us",
             f"  round trip, redis-benchmark -c 1   {median(trip):8.0f} us   (goal: one round trip + 100 us)",
             f"  round trip at {o.rate:,.0f}/s           {median(paced_trip):8.0f} us",
             f"redis-benchmark incr -c 1            {median(alone):8,.0f} /s",
             f"redis-benchmark incr -c 1 -P 64      {median(pipelined):8,.0f} /s"]
    table = "\n".join(lines)
    print(table)
    if o.save:
        versions = {"weir": Shared.version(), "redis": products.output([products.find("redis-server"), "--version"])}
        conditions.save(o.save, title, versions, table, "\n".join(raw))
    return 0
