"""`scripts/bench doors`: CPU time of weir for each call over gRPC, with h2load as the client: external authorization, and the rate
limit service with a file of envoyproxy/ratelimit. Alternating runs; the client has a core of its own. With --peers, beside a server
on grpc++, envoyproxy/ratelimit with a Redis, and limitador in memory, as far as bench/peers/build could make them."""

import os
import re
import shutil
import statistics
import struct
import subprocess
import time
import urllib.request

from . import conditions, door_peers, products
from .process import Child, Failure, favour, free_port, pinned, scratch
from .start import cpu_ms

LIMITS = door_peers.LIMITS


def add_arguments(parser):
    parser.add_argument("--calls", type=int, default=100_000, help="of one run")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--streams", type=int, default=100, help="of one connection")
    parser.add_argument("--peers", action="store_true", help="beside other servers (bench/peers/build makes them)")
    parser.add_argument("--save", metavar="NAME", help="write bench/results/NAME.md")


def has_grpcpp():
    return bool(door_peers.grpcpp_version())


def field(number, content):
    """One field of a protobuf message: a text, bytes, or a list of fields (a message)."""
    data = b"".join(content) if isinstance(content, list) else content.encode() if isinstance(content, str) else content
    size, rest = b"", len(data)
    while rest > 127:
        size += bytes([rest & 127 | 128])
        rest >>= 7
    return bytes([number << 3 | 2]) + size + bytes([rest]) + data


def framed(message):
    return struct.pack(">BI", 0, len(message)) + message


def check_request():
    """A POST with the headers of a browser, as Envoy sends it."""
    headers = {":method": "POST", ":path": "/login?next=%2F", ":authority": "shop.example", ":scheme": "https", "accept": "*/*",
               "accept-encoding": "gzip, deflate, br", "accept-language": "en-GB,en;q=0.9", "content-type": "application/json",
               "cookie": "session=0123456789abcdef0123456789abcdef; theme=dark", "origin": "https://shop.example",
               "referer": "https://shop.example/", "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
               "x-forwarded-for": "198.51.100.7", "x-forwarded-proto": "https", "x-request-id": "5f0c8a2e-43a1-4a3c-9d3e-6b8e6c1f2a90"}
    http = [field(1, "1234567890123456789"), field(2, "POST"), *(field(3, [field(1, k), field(2, v)]) for k, v in headers.items()),
            field(4, "/login?next=%2F"), field(5, "shop.example"), field(6, "https"), field(10, "HTTP/2")]
    peer = [field(1, [field(1, [field(2, "198.51.100.7"), b"\x18\xd0\x86\x03"])])]
    return field(1, [field(1, peer), field(2, peer), field(4, [field(2, http)])])


def rate_limit_request():
    return field(1, "shop") + field(2, [field(1, [field(1, "remote_address"), field(2, "198.51.100.7")])])


KINDS = {
    "ext_authz": ("/envoy.service.auth.v3.Authorization/Check", check_request()),
    "rate limit": ("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", rate_limit_request()),
}


def configuration(directory, port, health):
    with open(os.path.join(directory, "limits.yaml"), "w", encoding="utf-8") as f:
        f.write(LIMITS)
    path = os.path.join(directory, "weir.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"""weir: 1
grpc: {{listen: 127.0.0.1:{port}}}
api: {{listen: none}}
admin: {{listen: 'unix:{directory}/admin.sock'}}
health: {{listen: 127.0.0.1:{health}}}
log: {{level: error}}
threads: 1
ratelimit: {{files: [limits.yaml]}}
policies:
  - {{name: logins, watch: request, when: path == "/login", key: ip, window: 10m, then: [{{over: 1000000000, do: deny}}]}}
  - {{name: quota, watch: request, key: header.user_agent, window: 1h, then: [{{over: 1000000000, do: deny}}]}}
""")
    return path


def run_client(o, port, path, message_file):
    command = pinned(1, ["h2load", "-c", "1", "-m", str(o.streams), "-n", str(o.calls), "-d", message_file,
                         "-H", "content-type: application/grpc", "-H", "te: trailers", f"http://127.0.0.1:{port}{path}"])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    succeeded = re.search(r"(\d+) succeeded, (\d+) failed", done.stdout)
    if done.returncode != 0 or not succeeded or int(succeeded[1]) != o.calls:
        raise Failure("h2load: " + done.stdout[-2000:])
    return float(re.search(r"([\d.]+) req/s", done.stdout)[1]), done.stdout


def passed(health):
    """Calls that weir has let pass so far, by kind: a failure is an answer with status 200 as well."""
    with urllib.request.urlopen(f"http://127.0.0.1:{health}/metrics", timeout=10) as page:
        text = page.read().decode()
    names = {"ext_authz": 'weir_checks_total{door="ext_authz",result="allowed"}', "rate limit": 'weir_rate_limit_calls_total{result="ok"}'}
    return {kind: int(re.search(re.escape(name) + r" (\d+)", text)[1]) for kind, name in names.items()}


class Weir:
    """weir as one of the servers."""

    label, kinds = "weir", tuple(KINDS)

    def __init__(self, directory):
        self.port, self.health = free_port(), free_port()
        self.child = Child("weir", pinned(0, [products.Weir.binary, "serve", "-c", configuration(directory, self.port, self.health)]),
                           os.path.join(directory, "output.log"))

    def pids(self):
        return [self.child.pid]

    def stop(self):
        self.child.stop()


def measure(o, server, kind, directory, raw):
    """(us of CPU time of the server a call, calls/s, us of the server beside it)."""
    path, message = KINDS[kind]
    name = os.path.join(directory, "message")
    with open(name, "wb") as f:
        f.write(framed(message))
    beside = getattr(server, "beside", dict)()
    before = [sum(map(cpu_ms, pids)) for pids in (server.pids(), beside.values())]
    rate, text = run_client(o, server.port, path, name)
    after = [sum(map(cpu_ms, pids)) for pids in (server.pids(), beside.values())]
    micros, others = ((b - a) * 1000 / o.calls for a, b in zip(before, after))
    raw.append(f"{server.label}, {kind}: {micros:.2f} us, {rate:.0f} calls/s\n{text}")
    return micros, rate, others


def table_of(o, results, missing):
    lines = [f"1 connection, {o.streams} streams, {o.calls} calls a run, {o.runs} runs in alternation, each server on one core",
             "", f"{'CPU us a call':46}{'least':>9}{'median':>9}{'most':>9}{'calls/s':>10}{'beside':>9}{'/ weir':>8}"]
    for kind in KINDS:
        own = statistics.median(row[0] for row in results["weir", kind])
        for (label, of), rows in results.items():
            if of != kind:
                continue
            micros = [row[0] for row in rows]
            others = statistics.median(row[2] for row in rows)
            lines.append(f"{kind + ': ' + label:46}{min(micros):9.2f}{statistics.median(micros):9.2f}{max(micros):9.2f}"
                         f"{statistics.median(row[1] for row in rows):10.0f}{f'{others:.2f}' if others else '':>9}"
                         f"{statistics.median(micros) / own:8.1f}")
    if any(label == door_peers.RateLimit.label for label, _ in results):
        lines += ["", "beside: Redis, for envoyproxy/ratelimit. weir counts in memory here, as limitador does."]
    if o.peers and missing:
        lines += ["", "not here (bench/README.md says how to build them): " + ", ".join(missing)]
    return "\n".join(lines)


def run(o):
    if shutil.which("h2load") is None:
        raise Failure("h2load is the client, and not on this machine: apt install nghttp2-client")
    favour(os.getpid())
    results, raw, missing = {}, [], []
    with scratch() as directory:
        servers = [Weir(directory)]
        weir = servers[0]
        try:
            weir.child.wait_listening(weir.port)
            if o.peers:
                others, missing = door_peers.started(directory)
                servers += others
            for turn in range(o.runs + 1):  # the first one warms up
                for server in servers if turn % 2 else servers[::-1]:
                    for kind in server.kinds:
                        row = measure(o, server, kind, directory, raw)
                        if turn > 0:
                            results.setdefault((server.label, kind), []).append(row)
            end = time.monotonic() + 10  # the page is made once in a while
            while any(count != o.calls * (o.runs + 1) for count in passed(weir.health).values()):
                if time.monotonic() > end:
                    raise Failure(f"not all calls passed: {passed(weir.health)}")
                time.sleep(0.2)
        finally:
            for server in servers:
                server.stop()
    order = {server.label: i for i, server in enumerate(servers)}
    results = dict(sorted(results.items(), key=lambda item: order[item[0][0]]))
    table = table_of(o, results, missing)
    print(table)
    if o.save:
        h2load = subprocess.run(["h2load", "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
        others = {server.label: server.version() for server in servers[1:]}
        conditions.save(o.save, "Checks over gRPC", {"weir": products.Weir.version(), **others, "client": h2load}, table, "\n".join(raw))
    return 0
