"""`scripts/bench fair`: what small requests wait for beside bulk downloads, the products in strict alternation.

The app and all clients run on core 1, the proxy on core 0. The downloads never end; each takes what it gets."""

import contextlib
import json
import os
import selectors
import signal
import socket
import tempfile
import threading
import time
from statistics import median

from . import conditions, products
from .process import Failure, favour, free_port, scratch

BULK_BYTES = 1 << 40
FILE_BYTES = 8 << 20
PAUSE = 0.001  # between two small requests
SMALL = b"GET /small HTTP/1.1\r\nHost: shop.example\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"
BULK = SMALL.replace(b"/small", b"/bulk")


def add_arguments(parser):
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one run")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each product")
    parser.add_argument("--bulk", type=int, default=16, help="downloads")
    parser.add_argument("--products", default="weir,haproxy,nginx", help=f"of {', '.join(products.ALL)}")
    parser.add_argument("--save", metavar="NAME", help="write bench/results/NAME.md")


def on_core(core):
    cores = sorted(os.sched_getaffinity(0))
    if core < len(cores):
        os.sched_setaffinity(0, {cores[core]})


@contextlib.contextmanager
def forked(function):
    """A process of its own that runs `function` until the end of the block."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            on_core(1)
            favour(os.getpid())
            function()
        finally:
            os._exit(0)
    try:
        yield pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def serve_one(connection, file):
    with connection, contextlib.suppress(OSError):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        received = b""
        while True:
            while b"\r\n\r\n" not in received:
                more = connection.recv(65536)
                if not more:
                    return
                received += more
            head, received = received.split(b"\r\n\r\n", 1)
            if b" /bulk" not in head.split(b"\r\n", 1)[0]:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 100)
                continue
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % BULK_BYTES)
            while True:
                sent = 0
                while sent < FILE_BYTES:
                    sent += os.sendfile(connection.fileno(), file.fileno(), sent, FILE_BYTES - sent)


def serve(listener):
    with tempfile.TemporaryFile() as file:
        file.write(b"d" * FILE_BYTES)
        file.flush()
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve_one, args=(connection, file), daemon=True).start()


def download(port, count):
    selector = selectors.DefaultSelector()
    for _ in range(count):
        client = socket.create_connection(("127.0.0.1", port), timeout=10)
        client.sendall(BULK)
        client.setblocking(False)
        selector.register(client, selectors.EVENT_READ)
    room = bytearray(256 << 10)
    while True:
        for key, _ in selector.select():
            with contextlib.suppress(BlockingIOError):
                if key.fileobj.recv_into(room) == 0:
                    raise Failure("a download has ended")


def ask(client):
    client.sendall(SMALL)
    answer = b""
    while not answer.endswith(b"x" * 100):
        more = client.recv(65536)
        if not more:
            raise Failure("a small request got no answer")
        answer += more
    if not answer.startswith(b"HTTP/1.1 200"):
        raise Failure(f"a small request got {answer[:60]}")


def measure(port, seconds, warm=0.3):
    """Latencies in microseconds, of one connection in a closed loop."""
    out = []
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end = time.perf_counter() + warm + seconds
        begin = end - seconds
        while (now := time.perf_counter()) < end:
            ask(client)
            if now >= begin:
                out.append((time.perf_counter() - now) * 1e6)
            time.sleep(PAUSE)
    return sorted(out)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def network_bytes():
    with open("/proc/net/dev", encoding="ascii") as f:
        return next(int(line.split(":")[1].split()[0]) for line in f if line.strip().startswith("lo:"))


def one_run(product, o):
    alone = measure(product.port, min(o.seconds, 1.0))
    with forked(lambda: download(product.port, o.bulk)):
        time.sleep(0.5)
        cpu, received, begin = cpu_seconds(product.pid), network_bytes(), time.perf_counter()
        times = measure(product.port, o.seconds)
        took = time.perf_counter() - begin
        busy = (cpu_seconds(product.pid) - cpu) / took
        rate = (network_bytes() - received) / took / 2  # what passes the proxy passes lo twice
    if len(times) < 10:
        raise Failure(f"{product.label}: {len(times)} small requests in {took:.1f} s")
    at = lambda sample, q: sample[min(len(sample) - 1, int(q * len(sample)))]  # noqa: E731
    return {"alone_p50": at(alone, .5), "p50": at(times, .5), "p99": at(times, .99), "max": times[-1], "asked": len(times),
            "bulk_mb_s": rate / 1e6, "proxy_busy": busy}


def row(label, results):
    def spread(name, width, digits=0):
        values = [r[name] for r in results]
        return f"{median(values):{width},.{digits}f}{min(values):{width},.{digits}f}{max(values):{width},.{digits}f}"
    return (f"{label:10}{median(r['alone_p50'] for r in results):8,.0f}{spread('p50', 9)}{spread('p99', 9)}"
            f"{median(r['bulk_mb_s'] for r in results):9,.0f}{100 * median(r['proxy_busy'] for r in results):7.0f} %")


def run(o):
    names = o.products.split(",")
    raw, results = [], {name: [] for name in names}
    with scratch() as directory, contextlib.ExitStack() as stack:
        port = free_port()
        listener = stack.enter_context(socket.create_server(("127.0.0.1", port), backlog=256))
        stack.enter_context(forked(lambda: serve(listener)))
        running = []
        for name in names:
            product = products.ALL[name](name, directory, f"127.0.0.1:{port}")
            stack.callback(product.stop)
            running.append(product.start())
        everywhere = os.sched_getaffinity(0)
        stack.callback(os.sched_setaffinity, 0, everywhere)
        on_core(1)
        for number in range(o.rounds):
            for product in running if number % 2 == 0 else reversed(running):  # A B C C B A ...
                product.child.check_alive()
                result = one_run(product, o)
                results[product.label].append(result)
                raw.append(f"{number + 1} {product.label} {json.dumps({k: round(v, 3) for k, v in result.items()})}")
    title = f"Small requests beside {o.bulk} bulk downloads, one proxy thread, one small request at a time"
    lines = [f"{title}; {o.rounds} rounds of {o.seconds} s in alternation", "",
             "          alone us    p50 us, beside the downloads         p99 us              bulk     busy",
             "product        p50   median      min      max   median      min      max     MB/s    proxy"]
    lines += [row(name, results[name]) for name in names]
    table = "\n".join(lines)
    print(table)
    if o.save:
        versions = {name: products.ALL[name].version() for name in names}
        conditions.save(o.save, title, versions, table, "\n".join(raw))
    return 0
