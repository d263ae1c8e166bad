"""All doors in use at once, while hostile peers try each of them, files change, and the process is drained in the end.

WEIR_SOAK_SECONDS: how long it goes on (`scripts/soak 480 asan doors`); the suite has a short version."""

import gzip
import json
import os
import random
import socket
import struct
import threading
import time
import unittest

from http2_frames import (ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, RST_STREAM, SETTINGS, Peer, call_fields,
                          fields, frame, message)
from http_client import Client
from weir_process import Weir, free_port

SECONDS = int(os.environ.get("WEIR_SOAK_SECONDS", "12"))
CHECK = "/envoy.service.auth.v3.Authorization/Check"
LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
GROWTH_MOST = 96 << 20  # bytes of the process, over what it had with the doors in use

LIMITS = "domain: shop\ndescriptors:\n  - {key: user, value_to_metric: true, rate_limit: {unit: hour, requests_per_unit: %d}}\n"
LIMITADOR = "- {namespace: lim, max_value: %d, seconds: 3600, conditions: [], variables: [user]}\n"
POLICIES = """policies:
  - {name: banned, watch: request, when: path == "/banned", then: [{if: true, do: deny, status: 403}]}
  - {name: pages, watch: request, key: ip, window: 1m, then: [{over: 1000000000, do: deny}]}
"""


def part(number, content):
    """One field of a protobuf message that is shorter than 128 bytes."""
    data = content.encode() if isinstance(content, str) else content
    return bytes([number << 3 | 2, len(data)]) + data


def check(path):
    peer = part(1, part(1, part(2, "198.51.100.7")))
    http = part(2, "GET") + part(4, path) + part(5, "shop.example")
    return part(1, part(1, peer) + part(4, part(2, http)))


def limit(user):
    return part(1, "shop") + part(2, part(1, part(1, "user") + part(2, user)))


class Doors(unittest.TestCase):
    def setUp(self):
        self.api, self.grpc = free_port(), free_port()
        self.weir = Weir(POLICIES, 1, extra=f"api: {{listen: 127.0.0.1:{self.api}, ext_authz: {{prefix: /ext_authz}}, "
                         f"forward_auth: [nginx]}}\ngrpc: {{listen: 127.0.0.1:{self.grpc}}}\n"
                         "ratelimit: {files: [limits.yaml], limitador: lim.yaml}\nlimits: {buffers: 16MiB}\n",
                         files={"limits.yaml": LIMITS % 5, "lim.yaml": LIMITADOR % 5})
        self.end, self.wrong, self.served, self.attacks = 0.0, [], 0, 0
        self.numbers = iter(range(10**9))
        self.lock = threading.Lock()

    def going(self):
        return time.monotonic() < self.end and not self.wrong

    def expect(self, what, got, wanted):
        with self.lock:
            self.served += 1
            if got != wanted:
                self.wrong.append(f"{what}: {got!r}, not {wanted!r}")

    def fresh(self):
        with self.lock:
            return f"u{next(self.numbers)}"

    # Who uses the doors as they are meant: each answer is checked.
    def over_grpc(self):
        while self.going():
            with Peer(self.grpc) as peer:
                for _ in range(50):
                    user = self.fresh()
                    codes = [peer.call(LIMIT, limit(user))[:2] for _ in range(6)]
                    self.expect("rate limit", codes, [b"\x08\x01"] * 5 + [b"\x08\x02"])
                    refused = peer.call(CHECK, check("/banned"))
                    self.expect("a check that is refused", refused is not None and b"\x12" in refused, True)
                    # Nothing, or an empty status: it may pass.
                    passed = peer.call(CHECK, check("/fine"))
                    self.expect("a check that passes", passed is None or b"\x08\x07" not in passed[:6], True)

    def over_http(self):
        while self.going():
            with Client(self.api, 20, f"127.0.0.1:{self.api}") as client:
                for _ in range(30):
                    uri = random.choice(["/fine", "/banned"])
                    answer = client.request("GET", "/forward_auth/nginx", [("X-Original-URI", uri), ("X-Original-Method", "GET")], b"")
                    self.expect("forward_auth", answer.status, 200 if uri == "/fine" else 403)
                    answer = client.request("GET", "/ext_authz" + uri, [("X-Forwarded-For", "198.51.100.7")], b"")
                    self.expect("ext_authz", answer.status, 200 if uri == "/fine" else 403)

    def over_json(self):
        while self.going():
            with Client(self.api, 20, f"127.0.0.1:{self.api}") as client:
                for _ in range(10):
                    user = self.fresh()
                    call = {"domain": "shop", "descriptors": [{"entries": [{"key": "user", "value": user}]}]}
                    codes = [client.request("POST", "/json", [], json.dumps(call).encode()).status for _ in range(6)]
                    self.expect("/json", codes, [200] * 5 + [429])
                    call = {"namespace": "lim", "values": {"user": user}, "delta": 2}
                    codes = [client.request("POST", "/check_and_report", [], json.dumps(call).encode()).status for _ in range(3)]
                    self.expect("/check_and_report", codes, [200, 200, 429])

    # Who means harm. None of them may hold up the others, or make the process grow.
    def attack(self):
        head = call_fields(LIMIT)
        call = frame(HEADERS, END_HEADERS, 1, head)
        bomb = gzip.compress(b"\0" * (64 << 20))
        packed = call_fields(LIMIT) + fields([("grpc-encoding", "gzip")])

        def answers_unread(peer):
            for n in range(1, 4001, 2):
                if not peer.send(frame(HEADERS, END_HEADERS, n, head) + frame(DATA, END_STREAM, n, message(limit("unread")))):
                    break
            time.sleep(0.3)

        def closed_windows(peer):
            peer.send(frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 0)))  # INITIAL_WINDOW_SIZE 0
            answers_unread(peer)

        kinds = {
            "rapid reset": b"".join(frame(HEADERS, END_HEADERS, n, head) + frame(RST_STREAM, 0, n, b"\0\0\0\x08")
                                    for n in range(1, 6001, 2)),
            "PINGs": frame(PING, 0, 0, b"12345678") * 20_000,
            "SETTINGS": frame(SETTINGS) * 20_000,
            "CONTINUATION": frame(HEADERS, 0, 1, head) + frame(CONTINUATION, 0, 1, fields([("x-a", "a" * 126)])) * 5_000,
            "a call without a message": frame(HEADERS, END_HEADERS | END_STREAM, 1, head),
            "half a message": call + frame(DATA, 0, 1, message(limit("half"))[:9]),
            "half a frame": call[:17],
            "a message of 4 GiB": call + frame(DATA, 0, 1, b"\0\xff\xff\xff\xff" + b"x" * 16_000),
            "a gzip bomb": frame(HEADERS, END_HEADERS, 1, packed) + b"".join(
                frame(DATA, END_STREAM if at + 16_000 >= len(bomb) + 5 else 0, 1, (b"\1" + struct.pack(">I", len(bomb)) + bomb)[at:at + 16_000])
                for at in range(0, len(bomb) + 5, 16_000)),
            "no UTF-8": call + frame(DATA, END_STREAM, 1, message(part(1, b"\xff\xfe"))),
            "ACKs": frame(SETTINGS, ACK) * 10_000,
            "answers unread": answers_unread,
            "closed windows": closed_windows,
        }
        http = [b"GET /forward_auth/nginx HTTP/1.1\r\nHost: x\r\nX-Original-URI: /\r\n", b"POST /json HTTP/1.1\r\nHost: x\r\n\r\n",
                b"POST /ext_authz/a HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\nx",
                b"POST /check HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n", b"\0" * 70_000,
                b"GET /ext_authz/ HTTP/1.1\r\nHost: x\r\n\r\n" * 3_000, b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000]
        while self.going():
            name = random.choice(list(kinds))
            try:
                with Peer(self.grpc) as peer:
                    peer.socket.settimeout(2)
                    what = kinds[name]
                    if callable(what):
                        what(peer)
                    else:
                        peer.send(what)
                    if name == "a call without a message":
                        while (got := peer.read()) is not None and not (got[0] == HEADERS and got[1] & END_STREAM):
                            pass
                        self.expect(name, got is not None, True)
                with socket.create_connection(("127.0.0.1", self.api), timeout=2) as s:
                    s.sendall(random.choice(http))
            except OSError:
                pass  # it has been shut out
            with self.lock:
                self.attacks += 1

    def change_files(self):
        while self.going():
            time.sleep(1)
            # Another limit of another name, so that counts and limits in use stay what they are.
            more = f"  - {{key: k{random.randrange(5)}, rate_limit: {{unit: day, requests_per_unit: 3}}}}\n"
            self.weir.replace(os.path.join(self.weir.directory, "limits.yaml"), LIMITS % 5 + more)

    def resident(self):
        return self.weir.rss_kib() << 10

    def test_nobody_is_held_up_or_answered_wrongly(self):
        with self.weir:
            users = [self.over_grpc, self.over_http, self.over_json, self.change_files]
            self.end = time.monotonic() + 2
            self.run_all(users)
            before = self.resident()
            self.end = time.monotonic() + SECONDS
            self.run_all(users + [self.attack, self.attack])
            self.assertEqual(self.wrong, [])
            self.assertGreater(self.attacks, 10)
            self.assertGreater(self.served, 100)
            if not os.environ.get("WEIR_SANITIZE"):
                self.assertLess(self.resident() - before, GROWTH_MOST)
            print(f"{self.served} checked answers, {self.attacks} attacks, {(self.resident() - before) >> 10} KiB more", flush=True)
            self.assertEqual(self.weir.stop(), 0)

    def run_all(self, what):
        def guarded(work):
            try:
                work()
            except Exception as error:  # pylint: disable=broad-except
                self.wrong.append(f"{work.__name__}: {error!r}")
        threads = [threading.Thread(target=guarded, args=(work,)) for work in what]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    unittest.main()
