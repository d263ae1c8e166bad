"""Redis is away behind each door: what `on_error` says holds there, at once, and no call fails."""

import json
import time
import unittest

from http2_frames import Peer
from http_client import once
from test_doors_soak import CHECK, LIMIT, check, limit, part
from weir_process import Weir, free_port

LIMITADOR = "- {namespace: lim, max_value: 2, seconds: 3600, conditions: [], variables: [user]}\n"
LIMITS = "domain: shop\ndescriptors:\n  - {key: user, rate_limit: {unit: hour, requests_per_unit: 2}}\n"
POLICIES = """defaults: {share: redis, on_error: %s}
policies:
  - {name: callers, watch: {domain: own, descriptors: {user: "*"}}, key: descriptor.user, window: 1h, then: [{over: 2, do: deny}]}
  - {name: paths, watch: request, when: path.startsWith("/of/"), key: path, window: 1h, then: [{over: 2, do: deny}]}
  - {name: pages, watch: request, when: path == "/page", key: header.x_user, window: 1h, then: [{over: 2, do: deny}]}
"""


class DoorsWithoutRedis(unittest.TestCase):
    def site(self, on_error, keys="share: redis"):
        self.api, self.grpc = free_port(), free_port()
        return Weir(POLICIES % on_error, 1, extra=f"api: {{listen: 127.0.0.1:{self.api}, ext_authz: {{prefix: /ext_authz}}, "
                    f"forward_auth: [nginx, traefik, caddy, haproxy]}}\ngrpc: {{listen: 127.0.0.1:{self.grpc}}}\n"
                    f"ratelimit: {{files: [limits.yaml], limitador: lim.yaml, {keys}}}\n"
                    f"redis: {{url: 'redis://127.0.0.1:{free_port()}', secret: {'s' * 32}}}\n",
                    files={"limits.yaml": LIMITS, "lim.yaml": LIMITADOR})

    def http(self, method, path, headers=(), body=b""):
        return once(self.api, method, path, headers, body, host=f"127.0.0.1:{self.api}").status == 200

    def ext_authz(self, user):
        return self.http("GET", "/ext_authz/page", [("X-User", user), ("X-Forwarded-For", "198.51.100.7")])

    def forwarded(self, caller):
        family = "X-Original-" if caller in ("nginx", "haproxy") else "X-Forwarded-"
        return lambda user: self.http("GET", "/forward_auth/" + caller, [("X-User", user), (family + "URI", "/page"),
                                                                         (family + "Method", "GET"),
                                                                         ("X-Forwarded-For", "198.51.100.7")])

    def check(self, user):
        """Allowed is what has no status: google.rpc.Status comes first in the answer, code first in it."""
        answer = self.peer.call(CHECK, check("/of/" + user))
        self.assertIsNotNone(answer)
        return not answer.startswith(b"\x0a") or answer[2:3] != b"\x08"

    def own(self, user):
        return self.peer.call(LIMIT, part(1, "own") + part(2, part(1, part(1, "user") + part(2, user))))[:2] == b"\x08\x01"

    def limitador_by_grpc(self, user):
        return self.peer.call(LIMIT, part(1, "lim") + part(2, part(1, part(1, "user") + part(2, user))))[:2] == b"\x08\x01"

    def limitador(self, user):
        call = {"namespace": "lim", "values": {"user": user}, "delta": 1}
        return self.http("POST", "/check_and_report", [], json.dumps(call).encode())

    def json(self, user):
        call = {"domain": "shop", "descriptors": [{"entries": [{"key": "user", "value": user}]}]}
        return self.http("POST", "/json", [], json.dumps(call).encode())

    def rate_limit(self, user):
        return self.peer.call(LIMIT, limit(user))[:2] == b"\x08\x01"

    def doors(self):
        return {"ext_authz": self.ext_authz, "nginx": self.forwarded("nginx"), "json": self.json, "rate limit": self.rate_limit,
                "traefik": self.forwarded("traefik"), "caddy": self.forwarded("caddy"), "haproxy": self.forwarded("haproxy"),
                "ext_authz over gRPC": self.check, "own policies by descriptors": self.own, "limitador": self.limitador,
                "limitador over gRPC": self.limitador_by_grpc}

    def test_each_door_does_as_on_error_says(self):
        for on_error, wanted in (("local", [True, True, False]), ("allow", [True] * 3), ("deny", [False] * 3)):
            with self.site(on_error) as weir, Peer(self.grpc) as self.peer:
                for number, (name, ask) in enumerate(self.doors().items()):
                    with self.subTest(on_error=on_error, door=name):
                        begin = time.monotonic()
                        self.assertEqual([ask(f"u{number}") for _ in range(3)], wanted)
                        self.assertLess(time.monotonic() - begin, 2)
                self.assertEqual(weir.stop(), 0)

    def test_the_keys_of_the_other_service_change_nothing_in_that(self):
        for on_error, wanted in (("local", [True, True, False]), ("allow", [True] * 3), ("deny", [False] * 3)):
            with self.subTest(on_error=on_error), self.site(on_error, "redis_keys: envoyproxy") as weir, \
                    Peer(self.grpc) as self.peer:
                self.assertEqual([self.rate_limit("ann") for _ in range(3)], wanted)
                self.assertEqual([self.json("bob") for _ in range(3)], wanted)
                self.assertEqual(weir.stop(), 0)


if __name__ == "__main__":
    unittest.main()
