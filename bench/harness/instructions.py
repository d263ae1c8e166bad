"""`scripts/bench instructions`: user instructions per proxied request, counted by callgrind.

Two runs of each product with a different number of requests; the difference is free of start-up, shut-down and
connection set-up, and it repeats to about a per cent on any machine however busy, which is why it is the gate."""

import os
import re
import shutil

from . import conditions, load, products, small_sources
from .process import Failure, free_port, scratch

CEILING = os.path.join(products.ROOT, "bench", "instructions.ceiling")
CONNECTIONS = 16
# The most that a request may cost with the access log, a line for one in a hundred or for each, beside one without.
SHARES = {"weir-access-1": 1.05, "weir-access": 1.15}
# The most of a request that may be spent in sources that are compiled for size.
SMALL_SOURCES_MOST = 0.01


def add_arguments(parser):
    parser.add_argument("--products", default=None, help=f"of {', '.join(products.ALL)}; default all three")
    parser.add_argument("--gate", action="store_true", help="weir only, without and with the access log; fail above bench/instructions.ceiling and the log's share")
    parser.add_argument("--fresh", action="store_true", help="remove the build directory first")
    parser.add_argument("--deny", action="store_true", help="the limit refuses everything")
    parser.add_argument("--uds", action="store_true", help="a Unix socket towards the app")
    parser.add_argument("--login", action="store_true", help="POST right logins instead of GET")
    parser.add_argument("--requests", type=int, default=4000, help="requests of the shorter run")
    parser.add_argument("--save", metavar="NAME", help="write bench/results/NAME.md")


def total(path):
    """The instructions of a callgrind file."""
    with open(path, encoding="utf-8", errors="replace") as f:
        found = re.findall(r"^(?:summary|totals): (\d+)", f.read(), re.M)
    if not found:
        raise Failure(f"no total in {path}")
    return int(found[-1])


def count(name, directory, requests, o):
    """Instructions of one life of the product that serves so many requests."""
    out = os.path.join(directory, f"callgrind.{name}.{requests}")
    app = f"unix:{directory}/app.sock" if o.uds else f"127.0.0.1:{free_port()}"
    product = products.ALL[name](name, directory, app, deny=o.deny)
    wrap = [products.find("valgrind"), "--tool=callgrind", f"--callgrind-out-file={out}", "--"]
    product.start(wrap, seconds=60)
    try:
        arguments = ["--target", f"127.0.0.1:{product.port}", "--backend", product.app, "--conns", CONNECTIONS,
                     "--shape", "real", "--requests", requests, "--seconds", 300]
        arguments += ["--login"] if o.login else []
        arguments += ["--expect", "429"] if o.deny else []
        result = load.run(arguments)
        load.demand_right(result, name, tolerated=20 if o.deny else 0)
        if result["answered"] != requests:
            raise Failure(f"{name}: {result['answered']} of {requests} requests answered")
        product.child.check_alive()
    finally:
        product.stop()
    return out


def run(o):
    names = (o.products or (",".join(["weir", *SHARES]) if o.gate else "weir,haproxy,nginx")).split(",")
    figures, raw, small = {}, [], []
    with scratch() as directory:
        for name in names:
            files = [count(name, directory, requests, o) for requests in (o.requests, 3 * o.requests)]
            few, many = map(total, files)
            figures[name] = (many - few) / (2 * o.requests)
            if name == "weir":
                small = small_sources.per_request(os.path.dirname(products.Weir.binary), *files, 2 * o.requests)
            raw.append(f"{name}: {few} for {o.requests} requests, {many} for {3 * o.requests}")
    lines = ["user instructions per request (callgrind), real request, "
             f"{CONNECTIONS} connections{', refused' if o.deny else ''}{', login' if o.login else ''}"]
    for name, figure in figures.items():
        ratio = f"{figure / figures['weir']:6.2f} x weir" if "weir" in figures and name != "weir" else ""
        lines.append(f"{name:12}{figure:10,.0f}  {ratio}".rstrip())
    table = "\n".join(lines)
    print(table)
    if o.save:
        versions = {name: products.ALL[name].version() for name in names}
        conditions.save(o.save, "User instructions per proxied request", versions, table, "\n".join(raw))
    return gate(figures, small) if o.gate else 0


def gate(figures, small):
    figure = figures["weir"]
    with open(CEILING, encoding="ascii") as f:
        ceiling = int(f.read().split()[0])
    verdict = "ok" if figure <= ceiling else "TOO MANY"
    print(f"gate: {figure:,.0f} instructions per request, ceiling {ceiling:,}: {verdict}")
    good = figure <= ceiling
    for name in [name for name in SHARES if name in figures]:
        share, most = figures[name] / figure, SHARES[name]
        print(f"gate: {name} {share:.3f} x weir, at most {most}: {'ok' if share <= most else 'TOO MANY'}")
        good = good and share <= most
    share = sum(spent for _, spent in small) / figure
    print(f"gate: {share:.4f} of weir in sources that are compiled for size, at most {SMALL_SOURCES_MOST}: "
          f"{'ok' if share <= SMALL_SOURCES_MOST else 'TOO MANY'}")
    if share > SMALL_SOURCES_MOST:
        good = False
        print("\n".join(f"gate:   {name} {spent:,.0f}" for name, spent in small[:5]))
    return 0 if good else 1


def remove_build(directory):
    shutil.rmtree(directory, ignore_errors=True)
