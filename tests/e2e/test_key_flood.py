"""A flood of invented keys neither frees callers that are over their limit nor grows the memory."""

import unittest

from http_client import Client, once
from weir_process import SANITIZED, Load, Weir, eventually, free_port

LIMIT = 5
KEYS = 200_000
POLICIES = f"""
limits: {{memory: 32MiB, keys: 50000}}
policies:
  - {{name: per-ip, watch: request, key: ip, window: 1h, then: [{{over: {LIMIT}, do: deny}}]}}
"""


def answers(port):
    try:
        return once(port, "GET", "/").status == 200
    except OSError:
        return False


class KeyFlood(unittest.TestCase):
    def test_ten_exhausted_callers_stay_refused_after_200000_new_keys(self):
        app = free_port()
        with Weir(POLICIES, app) as weir:
            callers = [f"198.51.100.{n}" for n in range(1, 11)]  # not among the flood's addresses
            backend = Load("--backend", f"127.0.0.1:{app}", "--seconds", 290)
            with backend, Client(weir.port) as client:
                def ask(ip):
                    return client.request("GET", "/", {"X-Forwarded-For": ip}).status

                eventually(lambda: answers(app), what="the app")
                for caller in callers:
                    self.assertEqual([ask(caller) for _ in range(LIMIT + 2)], [200] * LIMIT + [429] * 2, caller)
                before = weir.rss_kib()
                flood = Load("--target", f"127.0.0.1:{weir.port}", "--conns", 64, "--seconds", 280, "--requests", KEYS,
                             "--addresses", KEYS)
                with flood:
                    result = flood.finish(280)
                self.assertEqual((result["answered"], result["errors"]), (KEYS, 0), result)
                self.assertEqual([ask(caller) for caller in callers], [429] * 10)
                # Four times the keys that fit: the idlest lost their counts, and weir says so.
                self.assertGreater(weir.metric("weir_evicted_total"), 0)
                self.assertLessEqual(weir.metric("weir_memory_used_bytes"), weir.metric("weir_memory_limit_bytes"))
                if not SANITIZED:  # a sanitizer's shadow grows with whatever is touched
                    self.assertLess(weir.rss_kib() - before, (32 + 16) * 1024)
                backend.stop()


if __name__ == "__main__":
    unittest.main()
