"""Paths of other rate limit services on the api door, as their callers use them."""

import json
import unittest
from concurrent.futures import ThreadPoolExecutor

from http_client import once
from weir_process import Weir, eventually, free_port

FILE = """domain: shop
descriptors:
  - {key: path, value: /login, rate_limit: {unit: hour, requests_per_unit: 100, name: logins}}
"""
CALL = {"domain": "shop", "descriptors": [{"entries": [{"key": "path", "value": "/login"}]}]}


class Site(Weir):
    def __init__(self, policies="policies: []\n", ratelimit="{files: [limits.yaml]}", api="", extra="", files=None):
        self.api_port = free_port()
        super().__init__(policies, 1, extra=f"api: {{listen: 127.0.0.1:{self.api_port}{api}}}\ngrpc: {{listen: none}}\n"
                         f"ratelimit: {ratelimit}\n" + extra, files=files or {"limits.yaml": FILE})

    def ask(self, path, body=None, headers=(), method=None):
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        return once(self.api_port, method or ("GET" if body is None else "POST"), path, headers, data,
                    host=f"127.0.0.1:{self.api_port}")


class EnvoyProxyRateLimit(unittest.TestCase):
    def test_a_limit_holds_exactly_under_parallel_calls(self):
        for api in ("", ", forward_auth: [nginx]"):  # also where the workers take the connections
            with self.subTest(api=api), Site(api=api) as site:
                with ThreadPoolExecutor(16) as pool:
                    codes = [r.status for r in pool.map(lambda _: site.ask("/json", CALL), range(150))]
                self.assertEqual((codes.count(200), codes.count(429)), (100, 50))
                self.assertEqual(site.stop(), 0)

    def test_answers_of_every_kind(self):
        with Site() as site:
            first = json.loads(site.ask("/json", CALL, [("Content-Type", "application/x-www-form-urlencoded")]).body)
            self.assertEqual(first["overallCode"], "OK")
            self.assertEqual(first["statuses"][0]["currentLimit"], {"requestsPerUnit": 100, "unit": "HOUR", "name": "logins"})
            self.assertEqual(first["statuses"][0]["limitRemaining"], 99)
            for body in (b"", b"{", b"[]", {"domain": "shop"}, {"domain": "shop", "descriptor": []}, b"\xff"):
                self.assertEqual(site.ask("/json", body).status, 400, body)
            self.assertEqual(site.ask("/json").status, 405)
            self.assertEqual(site.ask("/json", CALL, [("Origin", "http://elsewhere.example")]).status, 403)
            self.assertEqual(site.ask("/elsewhere").status, 404)
            self.assertEqual(site.ask("/check", {}).status, 404)
            self.assertEqual(site.ask("/v1/else", {}).status, 404)
            self.assertEqual(site.stop(), 0)

    def test_health_ends_with_the_drain(self):
        with Site() as site:
            self.assertEqual((site.ask("/healthcheck").status, site.ask("/healthcheck").body), (200, b"OK"))
            site.admin("POST", "/v1/drain", {"begin": True})
            eventually(lambda: site.ask("/healthcheck").status == 500, what="the health check to fail")
            self.assertEqual(site.ask("/json", CALL).status, 200)  # whoever still asks is answered

    def test_nothing_is_served_that_nobody_configured(self):
        with Site(ratelimit="{shadow: false}") as site:
            self.assertEqual([site.ask("/json", CALL).status, site.ask("/healthcheck").status], [404, 404])
        with Site(ratelimit="{json: true}", policies="""policies:
  - {name: own, watch: {domain: shop, descriptors: {path: "*"}}, window: 1h, then: [{over: 1, do: deny}]}
""") as site:
            self.assertEqual([site.ask("/json", CALL).status for _ in range(2)], [200, 429])


if __name__ == "__main__":
    unittest.main()
