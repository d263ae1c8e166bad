"""`scripts/bench redis-sync`: what replicas that exchange their counts (`share: {redis: {sync: ...}}`) ask of Redis.

Real weirs over one redis-server, loaded at once, keys by Zipf's law. The figure is a ratio of counts: it does not
mind what else the machine does, as long as the rate is kept."""

import concurrent.futures
import contextlib
import json
import os
import socket
import time

from . import conditions, load, products
from .process import free_port, scratch
from .redis import Server, Shared

CALLS = ("evalsha", "eval", "fcall", "script|load")  # what weir sends; the rest of commandstats is inside scripts


def add_arguments(parser):
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one run")
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--conns", type=int, default=64, help="to each replica")
    parser.add_argument("--rates", type=float, nargs="+", default=[1000, 4000], help="requests/s to each replica")
    parser.add_argument("--sync", nargs="+", default=["50ms", "200ms", "1s"])
    parser.add_argument("--keys", type=int, default=10_000, help="client addresses, drawn by Zipf's law")
    parser.add_argument("--skew", type=float, default=1.1, help="its exponent")
    parser.add_argument("--limit", type=int, nargs="+", default=[10, 600, products.NEVER],
                        help="requests of a key in 10 s")
    parser.add_argument("--save", metavar="NAME", help="write bench/results/NAME.md")


class Synced(Shared):
    def __init__(self, limit, *arguments):
        super().__init__(*arguments)
        self.limit = limit

    def values(self):
        return super().values() | {"WEIR_LIMIT": self.limit}


def info(server, section):
    """What INFO says, as a map."""
    with socket.create_connection(("127.0.0.1", server.port)) as s, s.makefile("rwb") as f:
        f.write(f"INFO {section}\r\n".encode())
        f.flush()
        text = f.read(int(f.readline()[1:])).decode()
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def spent(server):
    """Commands that came in so far, their bytes both ways, and Redis' CPU time in ns."""
    commands = info(server, "commandstats")
    stats = info(server, "stats")
    calls = sum(int(commands.get(f"cmdstat_{name}", "calls=0").split("calls=")[1].split(",")[0]) for name in CALLS)
    return {"commands": calls, "bytes": int(stats["total_net_input_bytes"]) + int(stats["total_net_output_bytes"]),
            "cpu": server.cpu_ns()}


def one_run(o, directory, sync, limit, rate, number):
    """A Redis and replicas of its own: every run begins with empty windows."""
    with contextlib.ExitStack() as stack:
        server = Server(directory)
        stack.callback(server.child.stop)
        fleet = []
        for n in range(o.replicas):
            product = Synced(limit, "{redis: {sync: %s}}" % sync, "ring", os.path.join(directory, f"{number}-{n}"),
                             f"127.0.0.1:{free_port()}", server)
            stack.callback(product.stop)
            fleet.append(product.start())
        time.sleep(0.3)  # until they have connected and sent their scripts
        before = spent(server)

        def run(n):
            return load.run(["--target", f"127.0.0.1:{fleet[n].port}", "--backend", fleet[n].app, "--conns", o.conns,
                             "--seconds", o.seconds, "--rate", rate, "--addresses", o.keys, "--skew", o.skew, "--seed",
                             n + 1, "--expect", "any"])

        with concurrent.futures.ThreadPoolExecutor(o.replicas) as pool:
            results = list(pool.map(run, range(o.replicas)))
        time.sleep(0.3)
        after = spent(server)
        for product in fleet:
            product.child.check_alive()
    out = {name: after[name] - before[name] for name in after}
    return out | {"sync": sync, "limit": limit, "rate": rate, "requests": sum(r["answered"] for r in results),
                  "passed": sum(r["backend_requests"] for r in results), "errors": sum(r["errors"] for r in results)}


def row(r):
    requests = max(1, r["requests"])
    limit = "none" if r["limit"] == products.NEVER else f"{r['limit']}"
    return (f"{r['sync']:>6}{limit:>8}{r['rate']:12,.0f}{requests:12,}{100 * r['passed'] / requests:9.1f} %"
            f"{r['commands']:10,}{r['commands'] / requests:14.4f}{r['bytes'] / requests:11.0f}"
            f"{r['cpu'] / 1000 / requests:11.2f}")


def run(o):
    runs = [(sync, limit, rate) for rate in o.rates for limit in o.limit for sync in o.sync]
    with scratch() as directory:
        results = [one_run(o, directory, *each, number) for number, each in enumerate(runs)]
    title = f"Redis commands per request with `sync`: {o.replicas} replicas, {o.keys:,} keys, Zipf {o.skew}"
    head = (f"{'sync':>6}{'limit':>8}{'each, 1/s':>12}{'requests':>12}{'passed':>11}{'commands':>10}{'a request':>14}"
            f"{'bytes':>11}{'Redis us':>11}")
    worst = max(r["commands"] / max(1, r["requests"]) for r in results)
    table = "\n".join([f"{title}; windows of 10 s, {o.seconds} s each", "", head, *map(row, results), "",
                       f"most commands a request {worst:.4f}   (goal 0.1)"])
    print(table)
    if o.save:
        versions = {"weir": Shared.version(), "redis": products.output([products.find("redis-server"), "--version"])}
        conditions.save(o.save, title, versions, table, "\n".join(map(json.dumps, results)))
    return 0
