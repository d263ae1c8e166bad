"""`scripts/bench syscalls`: system calls per proxied request at saturation, by strace."""

import contextlib
import os
import re
import signal
import subprocess
import threading
import time

from . import conditions, load, products
from .http_bench import load_arguments
from .process import Failure, free_port, scratch


def add_arguments(parser):
    parser.add_argument("--conns", type=int, default=64)
    parser.add_argument("--shape", choices=["bare", "real"], default="real")
    parser.add_argument("--uds", action="store_true", help="a Unix socket towards the app")
    parser.add_argument("--deny", action="store_true", help="the limit refuses everything")
    parser.add_argument("--products", default="weir,haproxy,nginx", help=f"of {', '.join(products.ALL)}")
    parser.add_argument("--save", metavar="NAME", help="write bench/results/NAME.md")
    parser.set_defaults(seconds=3.0, app_bytes=100, login=False, rate=0)


def trace(pid, path, seconds):
    """strace -c for `seconds`: {call: (calls, errors)}."""
    tracer = subprocess.Popen([products.find("strace"), "-c", "-f", "-o", path, "-p", str(pid)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        time.sleep(seconds)
    finally:
        tracer.send_signal(signal.SIGINT)  # detaches and writes its table
        try:
            tracer.wait(10)
        except subprocess.TimeoutExpired:
            tracer.kill()
    calls = {}
    with open(path, encoding="ascii") as f:
        text = f.read()
    for line in text.splitlines():
        found = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(\d+)?\s*(\w+)$", line)
        if found and found.group(3) != "total":
            calls[found.group(3)] = (int(found.group(1)), int(found.group(2) or 0))
    if not calls:
        raise Failure(f"strace saw nothing (may it attach to processes here?): {text[:300]}")
    return calls, text


def run(o):
    lines, raw = [], []
    for name in o.products.split(","):
        with scratch() as directory, contextlib.ExitStack() as stack:
            app = f"unix:{directory}/app.sock" if o.uds else f"127.0.0.1:{free_port()}"
            product = products.ALL[name](name, directory, app, deny=o.deny)
            stack.callback(product.stop)
            product.start()
            result = {}
            loader = threading.Thread(target=lambda p=product: result.update(load.run(load_arguments(o, p))))
            loader.start()
            time.sleep(1)
            calls, text = trace(product.pid, os.path.join(directory, "strace"), 1)
            loader.join()
            load.demand_right(result, name, tolerated=20 if o.deny else 0)
        sends = sum(n - bad for call, (n, bad) in calls.items() if call in SENDS)
        requests = sends if o.deny else sends / 2
        each = ", ".join(f"{n / requests:.2f} {call}" + (f" ({bad / requests:.2f} failed)" if bad else "")
                         for call, (n, bad) in sorted(calls.items(), key=lambda c: -c[1][0]) if n / requests >= 0.005)
        lines.append(f"{name:12}{sum(n for n, _ in calls.values()) / requests:6.2f} calls per request: {each}")
        raw += [name, text]
    table = "\n".join(lines)
    print(table)
    if o.save:
        versions = {name: products.ALL[name].version() for name in o.products.split(",")}
        conditions.save(o.save, "System calls per proxied request", versions, table, "\n".join(raw))
    return 0


SENDS = ("sendto", "sendmsg", "write", "writev", "send")
