"""`scripts/bench http`: the products in strict alternation, proxy on core 0, load and app on core 1."""

import contextlib
import json
from statistics import median

from . import conditions, load, products
from .process import Failure, free_port, scratch


def add_arguments(parser):
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one run")
    parser.add_argument("--rounds", type=int, default=7, help="runs of each product")
    parser.add_argument("--conns", type=int, default=64)
    parser.add_argument("--shape", choices=["bare", "real"], default="real")
    parser.add_argument("--login", action="store_true", help="POST right logins instead of GET")
    parser.add_argument("--rate", type=float, default=0, help="fixed rate in requests/s; 0 = closed loop")
    parser.add_argument("--app-bytes", type=int, default=100, help="length of the app's answers")
    parser.add_argument("--uds", action="store_true", help="a Unix socket towards the app")
    parser.add_argument("--deny", action="store_true", help="the limit refuses everything")
    parser.add_argument("--products", default="weir,haproxy,nginx", help=f"of {', '.join(products.ALL)}")
    parser.add_argument("--save", metavar="NAME", help="write bench/results/NAME.md")


def load_arguments(o, product):
    arguments = ["--target", f"127.0.0.1:{product.port}", "--backend", product.app, "--conns", o.conns, "--shape",
                 o.shape, "--seconds", o.seconds, "--warmup", 0.2, "--app-bytes", o.app_bytes, "--rate", o.rate,
                 "--proxy-pid", product.pid]
    if o.login:
        arguments += ["--login"]
    if o.deny:
        arguments += ["--expect", "429"]
    return arguments


def row(label, results, base):
    cpu = [r["proxy_cpu_us"] for r in results]
    ratio = f"{median(cpu) / median(base):9.2f}{min(cpu) / min(base):7.2f}" if base else "        -      -"
    p50, p99 = (median(r["latency_us"][q] for r in results) for q in ("p50", "p99"))
    rps = [r["rps"] for r in results]
    busy = median(r["proxy_busy"] for r in results)
    return (f"{label:12}{median(cpu):8.2f}{min(cpu):8.2f}{max(cpu):8.2f}{ratio}{median(rps):11,.0f}{max(rps):10,.0f}"
            f"{p50:9.0f}{p99:9.0f}{100 * busy:6.0f} %{100 * median(r['load_busy'] for r in results):6.0f} %")


def run(o):
    names = o.products.split(",")
    if o.deny and "relay" in names:
        raise Failure("relay refuses nothing")
    raw, results = [], {name: [] for name in names}
    with scratch() as directory, contextlib.ExitStack() as stack:
        app = f"unix:{directory}/app.sock" if o.uds else f"127.0.0.1:{free_port()}"
        running = []
        for name in names:
            product = products.ALL[name](name, directory, app, deny=o.deny)
            stack.callback(product.stop)
            running.append(product.start())
        for number in range(o.rounds):
            for product in running if number % 2 == 0 else reversed(running):  # A B C C B A ...
                product.child.check_alive()
                result = load.run(load_arguments(o, product))
                # Until its own window is full a product lets a few pass: in the warm-up, or right after it.
                load.demand_right(result, product.label, tolerated=20 if o.deny else 0)
                results[product.label].append(result)
                raw.append(f"{number + 1} {product.label} {json.dumps(result)}")
    what = "everything refused" if o.deny else "a limit per address that never refuses"
    hop = "Unix socket" if o.uds else "TCP"
    title = (f"HTTP proxy: {o.conns} connections, {o.shape} {'login' if o.login else 'request'}, {what}, {hop} to the app"
             + (f", {o.rate:,.0f} requests/s" if o.rate else ""))
    base = [r["proxy_cpu_us"] for r in results.get("weir", [])]
    lines = [f"{title}; {o.rounds} rounds of {o.seconds} s in alternation", "",
             "              CPU us/request         ratio to weir     requests/s     latency us      busy",
             "product      median     min     max   median    min     median       max      p50      p99  proxy    load"]
    lines += [row(name, results[name], base) for name in names]
    table = "\n".join(lines)
    print(table)
    if o.save:
        versions = {name: products.ALL[name].version() for name in names}
        conditions.save(o.save, title, versions, table, "\n".join(raw))
    return 0


