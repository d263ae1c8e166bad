"""`scripts/bench redis`: weir with one policy, counting alone and with `share: redis`, beside redis-benchmark.

weir on core 0; load, app and Redis on core 1. Both weirs do the same except for the word after `share:`."""

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
    parser.add_argument("--tls", action="store_true", help="a third weir, that asks Redis over TLS")
    parser.add_argument("--save", metavar="NAME", help="write bench/results/NAME.md")


def certificate(directory):
    """A key and a certificate of its own signing for 127.0.0.1; their files."""
    key, cert = os.path.join(directory, "redis.key"), os.path.join(directory, "redis.crt")
    products.output([products.find("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                     "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                     "-keyout", key, "-out", cert])
    return key, cert


class Server:
    def __init__(self, directory, tls=False):
        self.port, self.tls_port, self.ca = free_port(), None, None
        words = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", directory]
        if tls:
            self.tls_port = free_port()
            key, self.ca = certificate(directory)
            words += ["--tls-port", str(self.tls_port), "--tls-key-file", key, "--tls-cert-file", self.ca,
                      "--tls-ca-cert-file", self.ca, "--tls-auth-clients", "no"]
        self.child = Child("redis-server", pinned(1, [products.find("redis-server"), *words]),
                           os.path.join(directory, "redis.log"))
        try:
            self.child.wait_listening(self.tls_port or self.port)
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

    """A weir whose label says how it counts: `local`, `redis`, or `redis, TLS`."""

    def __init__(self, label, window, directory, app, server):
        super().__init__(label, directory, app)
        self.window, self.server = window, server

    def values(self):
        share, _, tls = self.label.partition(", ")
        url = f"rediss://127.0.0.1:{self.server.tls_port}" if tls else f"redis://127.0.0.1:{self.server.port}"
        return super().values() | {"SHARE": share, "WINDOW": WINDOWS[self.window], "REDIS": url,
                                   "REDIS_MORE": f", tls: {{ca: {self.server.ca}}}" if tls else ""}


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


def compared(label, busy, paced, rate):
    """How one way of sharing does beside counting alone."""
    def ratio(*names):
        shared, local = (median(sum(r[n] for n in names) for r in busy[way]) for way in (label, "local"))
        return shared / local

    added = (median(r["latency_us"]["p50"] for r in paced[label]) -
             median(r["latency_us"]["p50"] for r in paced["local"]))
    return [f"{label}: throughput, to local".ljust(36) + f"{ratio('rps'):8.2f}   (goal 0.60)",
            "  CPU of weir, to local".ljust(36) + f"{ratio('proxy_cpu_us'):8.2f}",
            "  CPU of weir and Redis, to local".ljust(36) + f"{ratio('proxy_cpu_us', 'redis_cpu_us'):8.2f}",
            f"  added p50 at {rate:,.0f}/s".ljust(36) + f"{added:8.0f} us   (goal: one round trip + 100 us)"]


def run(o):
    labels = ["local", "redis"] + ["redis, TLS"] * o.tls
    raw, busy, paced = [], {label: [] for label in labels}, {label: [] for label in labels}
    alone, pipelined, trip, paced_trip = [], [], [], []
    with scratch() as directory, contextlib.ExitStack() as stack:
        server = Server(directory, o.tls)
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
    lines = [f"{title}; {o.rounds} rounds of {o.seconds} s in alternation", "", "as fast as it goes", head,
             *(row(label, results) for label, results in busy.items()), "",
             f"at {o.rate:,.0f} requests/s", head, *(row(label, results) for label, results in paced.items()), "",
             *(line for label in labels[1:] for line in compared(label, busy, paced, o.rate)),
             f"  round trip, redis-benchmark -c 1   {median(trip):8.0f} us",
             f"  round trip at {o.rate:,.0f}/s           {median(paced_trip):8.0f} us",
             f"redis-benchmark incr -c 1            {median(alone):8,.0f} /s",
             f"redis-benchmark incr -c 1 -P 64      {median(pipelined):8,.0f} /s"]
    table = "\n".join(lines)
    print(table)
    if o.save:
        versions = {"weir": Shared.version(), "redis": products.output([products.find("redis-server"), "--version"])}
        conditions.save(o.save, title, versions, table, "\n".join(raw))
    return 0
