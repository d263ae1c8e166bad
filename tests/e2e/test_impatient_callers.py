"""Proxies that ask weir, and wait for less than a policy holds a request: what weir refuses for that has not happened."""

import json
import time
import unittest

from http_client import once
from weir_process import Weir, free_port

POLICIES = """
lists: {noted: {of: ip, kind: gray}}
events: {login: {match: POST /login}}
policies:
  - {name: slow, watch: request, when: 'path == "/login"', key: ip, window: 1h, then: [{over: 0, do: delay, hold: 2s}, {over: 3, do: deny, for: 1h}]}
  - {name: other, watch: request, key: ip, window: 1h, then: [{over: 3, do: graylist, list: noted, for: 1h}]}
  - {name: seq, sequence: [login, login], key: ip, within: 1h, then: [{do: flag}]}
  - {name: pace, watch: request, when: 'path == "/pace"', key: ip, window: {rate: 2/s, burst: 8}, then: [{over: 1, do: delay}, {over: 8, do: deny}]}
"""


class Site(Weir):
    def __init__(self):
        self.api = free_port()
        super().__init__(POLICIES, 1, extra=f"api: {{listen: 127.0.0.1:{self.api}, forward_auth: [nginx], ext_authz: {{prefix: /ask}}}}\n")

    def forward(self, path, ip, wait=1000):
        return once(self.api, "GET", "/forward_auth/nginx", {
            "X-Original-URI": path, "X-Original-Method": "POST", "X-Forwarded-For": ip, "X-Forwarded-Proto": "http",
            "X-Weir-Timeout-Ms": str(wait)}, host=f"127.0.0.1:{self.api}")

    def value(self, policy, ip):
        answer = once(self.api, "POST", "/v1/query", {"Content-Type": "application/json"},
                      json.dumps({"method": "POST", "path": "/login", "ip": ip}).encode(), host=f"127.0.0.1:{self.api}")
        rows = [row for row in json.loads(answer.body)["policies"] if row["policy"] == policy]
        return rows[0]["value"] - 1  # without the request that is asked about


class ImpatientCallers(unittest.TestCase):
    def test_a_refusal_for_the_time_out_counts_nowhere(self):
        with Site() as site:
            answers = [site.forward("/login", "192.0.2.7") for _ in range(5)]
            self.assertEqual([a.status for a in answers], [429] * 5)
            self.assertEqual({a.header("retry-after") for a in answers}, {"2"})
            self.assertEqual((site.value("slow", "192.0.2.7"), site.value("other", "192.0.2.7")), (0, 0))
            self.assertEqual(list(site.entries("noted")), [])
            self.assertEqual(site.metric("weir_verdict_total", 'policy="seq"'), 0)
            for line in site.log().splitlines():
                if '"effect":"delay"' in line:
                    self.assertIn('"status":429', line)
            self.assertEqual(site.stop(), 0)

    def test_a_rate_lets_as_much_through_as_for_patient_callers(self):
        with Site() as site:
            passed, begun = 0, time.monotonic()
            for i in range(16):  # 4 a second; the rate is 2 a second
                time.sleep(max(0.0, begun + i * 0.25 - time.monotonic()))
                passed += site.forward("/pace", "192.0.2.8", 300).status == 200
            self.assertGreaterEqual(passed, 6)
            self.assertEqual(site.stop(), 0)


if __name__ == "__main__":
    unittest.main()
