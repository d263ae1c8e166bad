"""An allocation that fails ends a connection, a request or a reload, never the process: whichever allocation it is.

For each thing that weir does the first, second, third ... allocation fails that the thread makes which does it
(failing_new.cc). The process must live, and the next of its kind must be answered."""

import contextlib
import gzip
import mmap
import os
import struct
import tempfile
import time
import unittest

from http2_frames import Peer
from http_client import Cut, once
from origin import Origin, answer
from redis_process import Redis
from weir_process import Weir, eventually, free_port

FAR = 1 << 40
POINTS = int(os.environ.get("WEIR_ALLOCATION_POINTS", "60"))  # of one action; all of them where it makes no more
CHECK = "/envoy.service.auth.v3.Authorization/Check"
# attributes: {source: {address: {socket_address: {address: 192.0.2.1}}}, request: {http: {method: GET, path: /, host: a}}}
CHECK_REQUEST = b'\n \n\x0f\n\r\n\x0b\x12\t192.0.2.1"\r\x12\x0b\x12\x03GET"\x01/*\x01a'

FIRST_POINTS = int(os.environ.get("WEIR_FIRST_POINTS", "40"))  # a new process for each

# One of each kind of policy, view, field and body.
EVERY_KIND = """
fields: {loud: header.x_user.upperAscii()}
events:
  buy: {match: POST /buy, fields: {gold: int(body.gold), lon: body.lon, lat: body.lat}}
  refused: {is: buy, when: 'status == 401'}
  form: {match: POST /form, fields: {name: body.name}}
lists:
  gray_users: {of: header.x_user, kind: gray}
  banned: {of: ip, kind: deny, entries: [203.0.113.0/24]}
tables:
  limits: {by: [header.x_user, method], values: {ann: {POST: 300, "*": 900}, "*": 1000}}
policies:
  - {name: day, watch: request, key: header.x_user, window: {calendar: day, tz: Asia/Shanghai}, then: [{over: 900, do: deny}]}
  - {name: exact, watch: request, key: [ip, header.x_user], window: {last: 1m, exact: true}, missing: same, then: [{over: 900, do: deny}]}
  - {name: users, watch: request, key: ip, metric: distinct(header.x_user), window: 1m, then: [{over: 1, do: graylist, list: gray_users, for: 1m}]}
  - {name: gold, watch: buy, key: ip, metric: sum(gold), window: {last: 30m, exact: true}, then: [{at: limits, do: flag}]}
  - {name: near, watch: buy, key: {near: {lon: lon, lat: lat, radius: 1000m}}, window: 1m, then: [{over: 900, do: flag}]}
  - {name: outcome, watch: refused, key: ip, window: 1m, then: [{over: 2, do: flag}, {over: 900, do: deny, for: 1m}]}
  - {name: cost, watch: buy, key: ip, metric: sum(response.body.usage), reserve: 5, window: 1h, then: [{over: 100000, do: deny}]}
  - {name: then, sequence: [buy, form], key: ip, within: 5s, then: [{do: flag}]}
  - {name: both, pair: [form, buy], key: ip, within: 5s, then: [{do: flag}]}
  - {name: never, sequence: [buy, no form], key: header.x_user, within: 5s, then: [{do: graylist, list: gray_users, for: 1m}]}
  - {name: flying, watch: request, key: header.x_user, metric: in_flight, then: [{over: 900, do: deny}]}
  - {name: paced, watch: request, key: header.x_user, window: {rate: 900/s, burst: 900}, then: [{do: deny}]}
  - {name: latest, watch: request, key: header.x_user, metric: last(path), window: 1m, then: [{if: 'value.matches("^/q+$")', do: flag}]}
  - {name: texts, watch: request, when: 'string(size(path)) != "x" && !inList("gray_users", header.x_user)', key: loud,
     window: 1m, then: [{over: 900, do: deny}]}
views:
  - {name: paths, watch: request, by: path, window: {last: 10s, hop: 1s}, top: 5}
  - {name: callers, watch: request, metric: distinct(ip), by: path, window: {every: 10s}, top: 5}
  - {name: most, watch: buy, metric: max(gold), by: header.x_user, window: {last: 10s, hop: 1s}, top: 5}
"""

POLICIES = """
policies:
  - {name: here, watch: request, key: ip, window: 1m, then: [{over: 100000, do: deny, for: 1m}]}
  - {name: body, watch: request, key: [ip, body.user], missing: skip, window: 1m, then: [{over: 100000, do: deny}]}
  - {name: answers, watch: request, when: status == 401, key: ip, window: 1m, then: [{over: 100000, do: deny}]}
  - {name: shared, watch: request, key: ip, window: 1m, share: redis, then: [{over: 100000, do: deny, for: 1m}]}
  - {name: synced, watch: request, key: ip, window: 1m, share: {redis: {sync: 50ms}}, then: [{over: 100000, do: deny}]}
"""


class FailingNew:
    """Orders to the library in a running process."""

    def __init__(self):
        self.file = tempfile.NamedTemporaryFile(prefix="weir-orders-")
        self.file.truncate(4096)
        self.map = mmap.mmap(self.file.fileno(), 4096)

    def set(self, armed, thread="", wanted=FAR):
        self.map[16:24] = struct.pack("<q", 0)
        self.map[0:16] = thread.encode().ljust(16, b"\0")
        self.map[24:56] = struct.pack("<qqqq", wanted, 0, 0, 1 if os.environ.get("WEIR_ALLOCATION_TRACE") else 0)
        self.map[16:24] = struct.pack("<q", armed)

    @property
    def seen(self):
        return struct.unpack("<q", self.map[32:40])[0]

    @property
    def failed(self):
        return struct.unpack("<q", self.map[40:48])[0]


class Allocations(unittest.TestCase):
    def start(self, stack, redis):
        origin = stack.enter_context(Origin())
        grpc, api = free_port(), free_port()
        weir = Weir(POLICIES, origin.port,
                    extra=f"threads: 1\nredis: {{{redis.where}, secret: s}}\ngrpc: {{listen: '127.0.0.1:{grpc}'}}\n"
                          f"api: {{listen: 127.0.0.1:{api}, ext_authz: {{prefix: /check}}}}\n")
        self.orders = FailingNew()
        weir.environment = {"LD_PRELOAD": os.environ["WEIR_FAILING_NEW"], "FAILING_NEW": self.orders.file.name,
                            "ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")}
        self.weir, self.grpc, self.api, self.redis = stack.enter_context(weir), grpc, api, redis
        return weir

    def http(self, port, method, path, body=b"", headers=None):
        """The status, or None where there was no answer."""
        with contextlib.suppress(OSError, Cut):
            return once(port, method, path, headers or {}, body, timeout=3, host=f"127.0.0.1:{port}").status
        return None

    def call(self):
        with contextlib.suppress(OSError, Cut), Peer(self.grpc) as peer:
            peer.socket.settimeout(3)
            return 200 if peer.call(CHECK, CHECK_REQUEST) is not None else None
        return None

    def through(self):
        body = b'{"user": "u"}'
        return self.http(self.weir.port, "POST", "/", body, {"Content-Type": "application/json"})

    def after_redis_was_away(self):
        self.redis.command("CLIENT", "KILL", "TYPE", "normal")
        # Each worker has one connection, the thread of lists another; this question needs one too.
        eventually(lambda: b"connected_clients:1\r" not in self.redis.command("INFO", "clients"), 10, "a connection to Redis")
        return self.through()

    def actions(self):
        json = {"Content-Type": "application/json"}
        event = b'{"event": "request", "method": "GET", "path": "/", "ip": "192.0.2.1"}'
        admin = self.weir.admin_port
        return {
            "a request": ("weir/0", self.through),
            "a check over gRPC": ("weir/0", self.call),
            "a check over HTTP": ("weir/0", lambda: self.http(self.api, "GET", "/check/x")),
            "a Redis that comes back": ("weir/0", self.after_redis_was_away),
            "an event, at the worker": ("weir/0", lambda: self.http(self.api, "POST", "/v1/events", event, json)),
            "an event, at the door": ("weir", lambda: self.http(self.api, "POST", "/v1/events", event, json)),
            "a question of operators": ("weir", lambda: self.http(admin, "GET", "/v1/status")),
            "a question about a key": ("weir", lambda: self.http(admin, "GET", "/v1/why?key=192.0.2.1")),
            "a page of metrics": ("weir", lambda: self.http(self.weir.health_port, "GET", "/metrics")),
            "a probe": ("weir", lambda: self.http(self.weir.health_port, "GET", "/readyz?verbose")),
            "a reload, at the worker": ("weir/0", self.reload),
            "a reload": ("weir", self.reload),
        }

    def reload(self):
        return self.http(self.weir.admin_port, "POST", "/v1/reload", b"{}", {"Content-Type": "application/json"})

    def sweep(self, name):
        """What went wrong, in words."""
        thread, action = self.actions()[name]
        for _ in range(3):  # until buffers have grown
            action()
        self.orders.set(1, thread)
        usual = action()
        count = self.orders.seen
        self.orders.set(0)
        self.assertIsNotNone(usual, name)  # count may be 0: a request allocates nothing once buffers have grown
        for wanted in range(0, count + 1, max(1, count // POINTS)):
            self.orders.set(1, thread, wanted)
            action()
            failed = self.orders.failed
            self.orders.set(0)
            where = f"allocation {wanted} of {count} failed"
            if self.weir.process.poll() is not None:
                return f"{where}: the process ended with {self.weir.process.returncode}\n{self.weir.log()}"
            try:
                if failed:
                    eventually(lambda: action() == usual, 10, f"{name} after {where}")
            except AssertionError as error:
                return f"{error}\n{self.weir.log()}"
        eventually(lambda: self.weir.metric("weir_connections_open") == 0, 10, "no connection")
        self.assertEqual(self.weir.metric("weir_requests_waiting"), 0)
        return None

    def test_end_no_process(self):
        for name in ("a request", "a check over gRPC", "a check over HTTP", "a Redis that comes back", "an event, at the worker",
                     "an event, at the door", "a question of operators", "a question about a key", "a page of metrics", "a probe",
                     "a reload, at the worker", "a reload"):
            with self.subTest(name), contextlib.ExitStack() as stack:
                self.start(stack, stack.enter_context(Redis()))
                with open(f"/proc/{self.weir.process.pid}/maps", encoding="ascii") as maps:
                    self.assertIn(self.orders.file.name, maps.read(), "the library that lets allocations fail is not there")
                problem = self.sweep(name)
                if problem:
                    stack.pop_all()
                    self.weir.kill()
                    self.redis.kill()
                self.assertIsNone(problem)


class FirstOfTheirKind(unittest.TestCase):
    """What is made where it is used first: the reader of bodies, the panes of views, open matches, keys."""

    def requests(self):
        """The statuses; None where a connection ended."""
        json = {"Content-Type": "application/json", "X-User": "somebody with a name that is long"}
        form = {"Content-Type": "application/x-www-form-urlencoded", "X-User": "bob"}
        parts = {"Content-Type": "multipart/form-data; boundary=xx", "X-User": "bob"}
        multipart = b'--xx\r\nContent-Disposition: form-data; name="name"\r\n\r\nv\r\n--xx--\r\n'
        asked = [("POST", "/buy", json, b'{"gold": 12, "lon": 1.5, "lat": 2.5, "x": 123456789012345678901234567890}'),
                 ("POST", "/buy", json, b'{"gold": 12, "lon": 1.5, "lat": 2.5, "y": "%s"}' % (b"z" * 20_000)),
                 ("POST", "/form", form, b"name=a%20b&c=d"), ("POST", "/form", parts, multipart),
                 ("GET", "/" + "p" * 300 + "?a=b", {"Cookie": "a=b", "X-Forwarded-For": "198.51.100.9"}, b""),
                 ("GET", "/qq", {"X-User": "ann", "X-Forwarded-For": "2001:db8::1"}, b"")]
        out = []
        for method, path, headers, body in asked:
            status = None
            with contextlib.suppress(OSError, Cut):
                status = once(self.weir.port, method, path, headers, body, timeout=3).status
            out.append(status)
        return out

    def weir_with(self, origin, orders):
        weir = Weir(EVERY_KIND, origin.port, extra="threads: 1\n")
        weir.environment = {"LD_PRELOAD": os.environ["WEIR_FAILING_NEW"], "FAILING_NEW": orders.file.name,
                            "ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")}
        return weir

    def test_end_no_process(self):
        usage = answer(401, gzip.compress(b'{"usage": 7}'), [("Content-Type", "application/json"), ("Content-Encoding", "gzip")])
        with Origin(lambda request: usage if request.path == "/buy" else answer()) as origin:
            orders = FailingNew()
            with self.weir_with(origin, orders) as self.weir:
                orders.set(1, "weir/0")
                usual = self.requests()
                count = orders.seen
                orders.set(0)
            self.assertNotIn(None, usual)
            self.assertGreater(count, 0, "the library that lets allocations fail is not there")
            for wanted in range(0, count + 1, max(1, count // FIRST_POINTS)):
                with self.subTest(allocation=wanted, of=count):
                    orders = FailingNew()
                    with self.weir_with(origin, orders) as self.weir:  # checks that it ends with 0
                        orders.set(1, "weir/0", wanted)
                        self.requests()
                        orders.set(0)
                        self.assertIsNone(self.weir.process.poll(), "the process ended")
                        self.assertEqual(self.requests(), usual)


class HelperThreads(unittest.TestCase):
    """The threads that no request waits for: what lacks memory is written, read or sent the next time."""

    ROUND = 0.7  # each of them looks at least twice a second

    def act(self):
        self.number += 1
        self.weir.replace(self.file, "".join(f"198.51.{self.number}.{n}\n" for n in range(200)))
        self.weir.admin("POST", "/v1/lists/banned/entries",
                        {"key": [f"203.0.113.{self.number}"], "for": "1h", "why": "a reason that takes some room"})
        for _ in range(5):
            once(self.weir.port, "GET", "/")

    def read(self, *path):
        with contextlib.suppress(FileNotFoundError), open(os.path.join(self.weir.directory, *path), "rb") as f:
            return f.read()
        return b""

    def test_go_on(self):
        lists = "lists:\n  banned: {of: ip, kind: deny}\n  scanners: {of: ip, kind: deny, file: scanners.txt}\n"
        with Origin() as origin:
            orders = FailingNew()
            self.weir = Weir(lists, origin.port, files={"scanners.txt": "198.51.0.1\n"})
            self.file = os.path.join(self.weir.directory, "scanners.txt")
            self.weir.head += (f"state: {{dir: {self.weir.directory}/state}}\naccess_log: {{path: {self.weir.directory}/access}}\n"
                               f"tracing: {{endpoint: 'http://127.0.0.1:{origin.port}', sample: 100%}}\n")
            self.weir.write(lists)
            self.weir.environment = {"LD_PRELOAD": os.environ["WEIR_FAILING_NEW"], "FAILING_NEW": orders.file.name,
                                     "ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")}
            self.number = 0
            with self.weir:
                for thread in ("weir/state", "weir/feeds", "weir/trace"):  # that of the access log allocates nothing
                    with self.subTest(thread=thread):
                        orders.set(1, thread)
                        self.act()
                        time.sleep(2 * self.ROUND)
                        count = orders.seen
                        self.assertGreater(count, 0)
                        failed = 0
                        for wanted in range(0, count + 1, max(1, count // 6)):
                            orders.set(1, thread, wanted)
                            self.act()
                            time.sleep(self.ROUND)
                            failed += orders.failed
                            orders.set(0)
                            self.assertIsNone(self.weir.process.poll(), f"allocation {wanted} of {count}: the process ended")
                        self.assertGreater(failed, 0)
                self.act()
                eventually(lambda: once(self.weir.port, "GET", "/", {"X-Forwarded-For": f"198.51.{self.number}.7"}).status == 403,
                           10, "the file of the list is read")
                eventually(lambda: f"203.0.113.{self.number}".encode() in self.read("state", "lists.journal"), 10, "the journal")
                once(self.weir.port, "GET", "/the-last-one")
                eventually(lambda: b"/the-last-one" in self.read("access"), 10, "the access log")


if __name__ == "__main__":
    unittest.main()
