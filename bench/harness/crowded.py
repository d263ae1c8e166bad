"""A weir with much in it: thousands of policies, listed keys and counted keys; for `scripts/bench operator`."""

import http.client
import json
import os
import random
import socket
import threading
import time

from . import load, products
from .process import Child, Failure, favour, free_port, pinned

LIST = "banned"
WATCHED = "per-address"  # counts: as many keys at few readings
AMOUNTS = "per-amount"   # sums of real amounts: as many readings as keys
PAGES = 10
POLLED = ("/v1/status", "/v1/replicas", "/v1/views/hot?windows=30", "/v1/tables/limits", "/v1/overrides")


def configuration(o, ports, directory):
    lines = ["weir: 1", "threads: 1",
             f"proxy: {{listen: 127.0.0.1:{ports['proxy']}, upstream: http://127.0.0.1:{ports['app']}, "
             "client_ip: {trust: [127.0.0.0/8], header: x-forwarded-for}}",
             f"admin: {{listen: 127.0.0.1:{ports['admin']}}}", f"health: {{listen: 127.0.0.1:{ports['health']}}}",
             f"api: {{listen: 127.0.0.1:{ports['api']}}}", "grpc: {listen: none}", f"state: {{dir: {directory}/state}}",
             f"limits: {{memory: {o.memory}, keys: {max(10_000, 3 * o.keys)}}}", "drain: {delay: 0s}", "log: {level: error}",
             f"lists: {{{LIST}: {{of: ip, kind: deny, max: {2 * o.entries + 1000}}}}}",
             "tables: {limits: {by: [path], values: {" + ", ".join(f"/shop/{n}: {n + 10}" for n in range(200)) + ", '*': 5}}}",
             "views:",
             "  - {name: hot, watch: request, by: ip, window: {last: 1h, hop: 5m}, top: 10}",
             "  - {name: visitors, watch: request, metric: distinct(ip), method: hll, window: {every: 1h}}",
             "policies:",
             f"  - {{name: {WATCHED}, watch: request, key: ip, window: 1h, then: [{{over: 100, do: flag}}, {{over: 1000000000, do: deny, for: 1h}}]}}"]
    lines.append(f"  - {{name: {AMOUNTS}, watch: reward, key: ip, metric: sum(amount), window: 1h, then: [{{over: 900, do: flag}}]}}")
    keys = ("ip", "body.user", "header.x_user_id", "[ip, header.x_device_id]")
    for n in range(2, o.policies):
        lines.append(f"  - {{name: policy-{n}, watch: event_{n}, key: {keys[n % 4]}, missing: skip, window: {1 + n % 50}m, "
                     f"then: [{{over: {5 + n}, do: flag}}, {{over: {10 + n}, do: deny, for: 1h}}]}}")
    lines += ["events:", "  reward: {match: POST /reward, fields: {amount: double(body.amount)}}"]
    for n in range(2, o.policies):
        lines.append(f"  event_{n}: {{match: POST /api/route/{n}}}")
    path = os.path.join(directory, "weir.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return path


class Crowded:
    """Started with the state of `directory`, if there is one."""

    def __init__(self, o, directory, wrap=(), seconds=20):
        self.o, self.directory = o, directory
        self.ports = {name: free_port() for name in ("proxy", "app", "admin", "api", "health")}
        path = configuration(o, self.ports, directory)
        command = pinned(0, [*wrap, products.Weir.binary, "serve", "-c", path])
        self.child = Child("weir", command, os.path.join(directory, "output.log"))
        try:
            self.child.wait_listening(self.ports["proxy"], seconds)
            self.child.wait_listening(self.ports["admin"], seconds)
        except BaseException:
            self.child.stop()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stop(60)

    def client(self, timeout=30):
        return http.client.HTTPConnection("127.0.0.1", self.ports["admin"], timeout=timeout)

    def ask(self, method, path, body=None, client=None):
        """Status and bytes of an answer."""
        client = client or self.client()
        headers = {"Content-Type": "application/json"} if body is not None else {"X-Weir-Admin": "1"}
        client.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = client.getresponse()
        return answer.status, answer.read()

    def fill(self):
        """Listed keys by the admin API, as an import brings them; counted keys by events that are told."""
        client = self.client()
        for begin in range(0, self.o.entries, 1000):
            rows = [{"key": [f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}"], "for": "24h", "why": f"ticket {n}"}
                    for n in range(begin, min(begin + 1000, self.o.entries))]
            status, answer = self.ask("POST", f"/v1/lists/{LIST}/import", {"entries": rows}, client)
            if status != 200:
                raise Failure(f"an import was refused: {answer[:300]}")
            time.sleep(0.025)  # changes are limited to 50 a second
        draw = random.Random(1)
        client = http.client.HTTPConnection("127.0.0.1", self.ports["api"], timeout=60)
        for begin in range(0, self.o.keys, 10_000):
            # The addresses that weir_load takes by turns.
            lines = [f'{{"event":"reward","ip":"{address(n)}","body":{{"amount":{draw.lognormvariate(3, 2):.2f}}}}}'
                     for n in range(begin, min(begin + 10_000, self.o.keys))]
            client.request("POST", "/v1/events", "\n".join(lines), {"Content-Type": "application/x-ndjson"})
            answer = client.getresponse()
            told = answer.read()
            if answer.status != 200 or told.count(b'"verdict"') != len(lines):
                raise Failure(f"events were refused: {answer.status} {told[:300]}")
        self.check_full()

    def check_full(self):
        lists = json.loads(self.ask("GET", "/v1/lists")[1])["lists"]
        listed = next(row["entries"] for row in lists if row["name"] == LIST)
        for policy in (WATCHED, AMOUNTS):
            read = json.loads(self.ask("GET", f"/v1/policies/{policy}/readings")[1])["counters"][0]["keys"]
            if listed < self.o.entries or read < 0.99 * self.o.keys:
                raise Failure(f"{policy}: {listed} of {self.o.entries} entries, {read} of {self.o.keys} keys")

    def proxy_load(self, seconds, rate, requests=0):
        arguments = ["--target", f"127.0.0.1:{self.ports['proxy']}", "--backend", f"127.0.0.1:{self.ports['app']}", "--conns", 16,
                     "--seconds", seconds, "--addresses", self.o.keys, "--random", "--proxy-pid", self.child.pid]
        arguments += ["--rate", rate] if rate else []
        arguments += ["--requests", requests] if requests else []
        result = load.run(arguments)
        load.demand_right(result, "weir")
        return result


def address(number):
    """As weir_load counts its addresses."""
    return ".".join(str(100 + (number >> shift & 127)) for shift in (21, 14, 7, 0))


def control_ms(pid):
    """CPU time of the control thread, which renders the pages."""
    with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="ascii") as f:
        return int(f.read().split()[0]) / 1e6


class OpenPages:
    """So many browsers: each reads the live feed, and asks once in five seconds for what its view shows."""

    def __init__(self, site, count=PAGES):
        self.site, self.count = site, count
        self.seconds = [0] * count  # of the feed, heard by each
        self.broken = []
        self.ended = threading.Event()

    def __enter__(self):
        self.threads = [threading.Thread(target=self.run, args=(n,), daemon=True) for n in range(self.count)]
        for thread in self.threads:
            thread.start()
        deadline = time.monotonic() + 60
        while self.count and min(self.seconds) == 0:
            if self.broken or time.monotonic() > deadline:
                raise Failure(f"the live feed was not heard: {self.broken}")
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join(10)
        if self.broken:
            raise Failure(f"a page was cut off: {self.broken[0]}")
        time.sleep(2.5 if self.count else 0)  # weir notices with the next seconds that they are gone, and makes room for as many

    def run(self, number):
        favour(threading.get_native_id())
        try:
            with socket.create_connection(("127.0.0.1", self.site.ports["admin"]), 60) as feed:
                feed.sendall(b"GET /v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
                feed.settimeout(60)
                client, asked = self.site.client(60), time.monotonic() + number * 0.5
                while not self.ended.is_set():
                    heard = feed.recv(1 << 20)
                    if not heard:
                        raise Failure("the feed ended")
                    self.seconds[number] += heard.count(b"event: second")
                    if time.monotonic() > asked:
                        asked = time.monotonic() + 5
                        status, _ = self.site.ask("GET", POLLED[number % len(POLLED)], None, client)
                        if status != 200:
                            raise Failure(f"{POLLED[number % len(POLLED)]}: {status}")
        except (OSError, http.client.HTTPException, Failure) as problem:
            self.broken.append(repr(problem))
