"""An allocation that fails ends a connection, a request or a reload, never the process: whichever allocation it is.

For each thing that weir does the first, second, third ... allocation fails that the thread makes which does it
(failing_new.cc). The process must live, and the next of its kind must be answered."""

import contextlib
import mmap
import os
import struct
import tempfile
import unittest

from http2_frames import Peer
from http_client import Cut, once
from origin import Origin
from redis_process import Redis
from weir_process import Weir, eventually, free_port

FAR = 1 << 40
POINTS = int(os.environ.get("WEIR_ALLOCATION_POINTS", "60"))  # of one action; all of them where it makes no more
CHECK = "/envoy.service.auth.v3.Authorization/Check"
# attributes: {source: {address: {socket_address: {address: 192.0.2.1}}}, request: {http: {method: GET, path: /, host: a}}}
CHECK_REQUEST = b'\n \n\x0f\n\r\n\x0b\x12\t192.0.2.1"\r\x12\x0b\x12\x03GET"\x01/*\x01a'

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
        self.assertIsNotNone(usual, name)
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
                problem = self.sweep(name)
                if problem:
                    stack.pop_all()
                    self.weir.kill()
                    self.redis.kill()
                self.assertIsNone(problem)


if __name__ == "__main__":
    unittest.main()
