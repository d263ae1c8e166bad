"""Redis is away behind each door: what `on_error` says holds there, at once, and no call fails."""

import json
import time
import unittest

from http2_frames import Peer
from http_client import once
from test_doors_soak import LIMIT, limit
from weir_process import Weir, free_port

LIMITS = "domain: shop\ndescriptors:\n  - {key: user, rate_limit: {unit: hour, requests_per_unit: 2}}\n"
POLICIES = """defaults: {share: redis, on_error: %s}
policies:
  - {name: pages, watch: request, when: path == "/page", key: header.x_user, window: 1h, then: [{over: 2, do: deny}]}
"""


class DoorsWithoutRedis(unittest.TestCase):
    def site(self, on_error):
        self.api, self.grpc = free_port(), free_port()
        return Weir(POLICIES % on_error, 1, extra=f"api: {{listen: 127.0.0.1:{self.api}, ext_authz: {{prefix: /ext_authz}}, "
                    f"forward_auth: [nginx]}}\ngrpc: {{listen: 127.0.0.1:{self.grpc}}}\n"
                    f"ratelimit: {{files: [limits.yaml], share: redis}}\nredis: {{url: 'redis://127.0.0.1:{free_port()}', secret: {'s' * 32}}}\n",
                    files={"limits.yaml": LIMITS})

    def http(self, method, path, headers=(), body=b""):
        return once(self.api, method, path, headers, body, host=f"127.0.0.1:{self.api}").status == 200

    def ext_authz(self, user):
        return self.http("GET", "/ext_authz/page", [("X-User", user), ("X-Forwarded-For", "198.51.100.7")])

    def nginx(self, user):
        return self.http("GET", "/forward_auth/nginx", [("X-User", user), ("X-Original-URI", "/page"), ("X-Original-Method", "GET")])

    def json(self, user):
        call = {"domain": "shop", "descriptors": [{"entries": [{"key": "user", "value": user}]}]}
        return self.http("POST", "/json", [], json.dumps(call).encode())

    def rate_limit(self, user):
        return self.peer.call(LIMIT, limit(user))[:2] == b"\x08\x01"

    def test_each_door_does_as_on_error_says(self):
        doors = {"ext_authz": self.ext_authz, "nginx": self.nginx, "json": self.json, "rate limit": self.rate_limit}
        for on_error, wanted in (("local", [True, True, False]), ("allow", [True] * 3), ("deny", [False] * 3)):
            with self.site(on_error) as weir, Peer(self.grpc) as self.peer:
                for number, (name, ask) in enumerate(doors.items()):
                    with self.subTest(on_error=on_error, door=name):
                        begin = time.monotonic()
                        self.assertEqual([ask(f"u{number}") for _ in range(3)], wanted)
                        self.assertLess(time.monotonic() - begin, 2)
                self.assertEqual(weir.stop(), 0)


if __name__ == "__main__":
    unittest.main()
