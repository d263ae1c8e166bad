"""The real envoyproxy/ratelimit and weir side by side on one Redis: whoever is asked, the calls of both count together."""

import json
import os
import random
import shutil
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import peers  # noqa: E402
from http_client import once  # noqa: E402
from redis_process import Redis  # noqa: E402
from weir_process import Weir, free_port  # noqa: E402

LIMITS = """domain: shop
descriptors:
  - key: user
    rate_limit: {unit: day, requests_per_unit: 6}
    descriptors:
      - {key: path, value: /login, rate_limit: {unit: day, requests_per_unit: 2}}
  - {key: path, value: "/a/*", share_threshold: true, rate_limit: {unit: week, requests_per_unit: 4}}
  - {key: path, value: "/b/*", rate_limit: {unit: month, requests_per_unit: 4}}
  - {key: shadow, shadow_mode: true, rate_limit: {unit: year, requests_per_unit: 1}}
"""
EVERY_KIND = """domain: shop
descriptors:
  - key: user
    rate_limit: {unit: day, requests_per_unit: 50, name: per-user}
    descriptors:
      - {key: path, value: /login, rate_limit: {unit: day, requests_per_unit: 20, replaces: [{name: per-user}]}}
      - {key: path, value: "/a/*", share_threshold: true, rate_limit: {unit: month, requests_per_unit: 40}}
      - {key: path}
  - {key: path, value: /free, rate_limit: {unlimited: true}}
  - {key: path, value: "/a/*", rate_limit: {unit: day, requests_per_unit: 30}, metadata: {of: {a: 1}}}
  - {key: path, quota_mode: true, rate_limit: {unit: day, requests_per_unit: 10}, metadata: {plan: quota}}
  - {key: tier, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 10}}
  - {key: tier, value: none, rate_limit: {unit: day, requests_per_unit: 0}}
  - {key: free, rate_limit: {unlimited: true}, metadata: {plan: free}}
  - key: x
    value: "foo-*"
    detailed_metric: true
    rate_limit: {unit: year, requests_per_unit: 7}
    descriptors:
      - {key: user, value_to_metric: true, rate_limit: {unit: day, requests_per_unit: 9}}
  - key: x
    descriptors:
      - {key: user, rate_limit: {unit: day, requests_per_unit: 3}}
      - {key: user, value: ann}
"""
DAY = 86_400


def binary():
    where = os.environ.get("WEIR_PEERS") or os.path.join(peers.ROOT, "build", "peers")
    path = os.path.join(where, "ratelimit", "service_cmd")
    return path if os.path.exists(path) else None


class Beside(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if binary() is None or shutil.which("redis-server") is None:
            raise unittest.SkipTest("there is no envoyproxy/ratelimit on this machine: scripts/deps peers")

    def start(self, prefix="", limits=LIMITS, settings=None):
        left = DAY - time.time() % DAY
        if left < 60:  # the day ends within the test
            peers.wait(left + 1)
        self.redis = Redis().start()
        self.addCleanup(self.redis.kill)
        scratch = tempfile.TemporaryDirectory(prefix="weir-ratelimit-")
        self.addCleanup(scratch.cleanup)
        os.makedirs(os.path.join(scratch.name, "config"))
        with open(os.path.join(scratch.name, "config", "shop.yaml"), "w", encoding="utf-8") as f:
            f.write(limits)
        self.their_port = free_port()
        environment = dict(os.environ, USE_STATSD="false", LOG_LEVEL="warn", REDIS_SOCKET_TYPE="unix", REDIS_URL=self.redis.path,
                           RUNTIME_ROOT=scratch.name, RUNTIME_SUBDIRECTORY="", RUNTIME_WATCH_ROOT="false", HOST="127.0.0.1",
                           PORT=str(self.their_port), GRPC_HOST="127.0.0.1", GRPC_PORT=str(free_port()), DEBUG_HOST="127.0.0.1",
                           DEBUG_PORT=str(free_port()), CACHE_KEY_PREFIX=prefix, EXPIRATION_JITTER_MAX_SECONDS="0",
                           LIMIT_RESPONSE_HEADERS_ENABLED="true", RESPONSE_DYNAMIC_METADATA="true")
        theirs = peers.Peer([binary()], scratch.name, self.their_port, environment)
        self.addCleanup(theirs.stop)
        self.our_port = free_port()
        if settings is None:
            settings = f"redis_keys: envoyproxy{f', redis_prefix: {prefix!r}' if prefix else ''}"
        ours = Weir("policies: []\n", 1, extra=f"api: {{listen: 127.0.0.1:{self.our_port}}}\ngrpc: {{listen: none}}\n"
                    f"ratelimit: {{files: [shop.yaml], {settings}}}\n"
                    f"redis: {{{self.redis.where}, timeout: 5s, budget: 1s, secret: {'s' * 32}}}\n", files={"shop.yaml": limits})
        ours.start()
        self.addCleanup(ours.kill)

    def ask(self, port, *entries, hits=1, limit=None):
        descriptor = {"entries": [{"key": key, "value": value} for key, value in entries]}
        if hits != 1:
            descriptor["hitsAddend"] = hits
        if limit is not None:
            descriptor["limit"] = {"requestsPerUnit": limit, "unit": "DAY"}
        answer = once(port, "POST", "/json", {"Content-Type": "application/json"},
                      json.dumps({"domain": "shop", "descriptors": [descriptor]}).encode(), host=f"127.0.0.1:{port}")
        body = json.loads(answer.body)
        return answer.status, body["statuses"][0].get("limitRemaining", 0)

    def test_what_one_counts_the_other_knows(self):
        self.start()
        for entries, most, limit in (((("user", "ann"),), 6, None), ((("user", "ann"), ("path", "/login")), 2, None),
                                     ((("path", "/a/1"),), 4, None), ((("path", "/b/1"),), 4, None),
                                     ((("user", "a_b c{d}"),), 6, None), ((("user", ""),), 6, None),
                                     ((("unknown", "x"), ("y", "z")), 3, 3)):
            with self.subTest(entries=entries):
                got = [self.ask((self.their_port, self.our_port)[n % 2], *entries, limit=limit) for n in range(most + 2)]
                self.assertEqual(got, [(200, most - n - 1) for n in range(most)] + [(429, 0)] * 2)
        # All values of a pattern that shares its threshold; hits of a call; a rule that only looks.
        self.assertEqual(self.ask(self.our_port, ("path", "/a/2"))[0], 429)
        self.assertEqual(self.ask(self.their_port, ("user", "bob"), hits=4), (200, 2))
        self.assertEqual(self.ask(self.our_port, ("user", "bob"), hits=2), (200, 0))
        self.assertEqual(self.ask(self.their_port, ("user", "bob")), (429, 0))
        self.assertEqual([self.ask(port, ("shadow", "x")) for port in (self.our_port, self.their_port, self.our_port)],
                         [(200, 0)] * 3)
        keys = self.redis.keys()
        self.assertFalse([key for key in keys if key.startswith("weir:")])
        for key in keys:
            self.assertGreater(self.redis.command("TTL", key), 0, key)

    def test_answers_are_the_same_to_the_last_field(self):
        """But for the reset: the two are not asked within the same instant."""
        self.start(limits=EVERY_KIND, settings="headers: true, metadata: true")
        seed = random.randrange(1 << 30)
        dice = random.Random(seed)
        keys = ("user", "path", "tier", "x", "free")
        values = ("ann", "bob", "/login", "/a/1", "/a/2", "/a/b/c", "gold", "none", "", "a_b", "*", "\u00e9", "foo-bar-baz")

        def told(port, call):
            answer = once(port, "POST", "/json", {"Content-Type": "application/json"}, json.dumps(call).encode(),
                          host=f"127.0.0.1:{port}")
            body = json.loads(answer.body)
            for status in body["statuses"]:
                status.pop("durationUntilReset", None)
            for header in body.get("responseHeadersToAdd", ()):
                header["value"] = "some seconds" if header["key"] == "RateLimit-Reset" else header["value"]
            return answer.status, body
        over = 0
        for _ in range(2_000):
            call = {"domain": dice.choice(("shop",) * 9 + ("other",)), "descriptors": []}
            for _ in range(dice.randint(1, 3)):
                descriptor = {"entries": [{"key": dice.choice(keys), "value": dice.choice(values)} for _ in range(dice.randint(1, 3))]}
                if dice.random() < 0.15:
                    descriptor["hitsAddend"] = dice.choice((0, 1, 2, 5))
                call["descriptors"].append(descriptor)
            if dice.random() < 0.2:
                call["hitsAddend"] = dice.choice((0, 2, 3))
            ours = told(self.our_port, call)
            self.assertEqual(ours, told(self.their_port, call), f"seed {seed}: {call}")
            over += ours[0] == 429
        self.assertGreater(over, 20)

    def test_with_a_prefix(self):
        self.start("rl:")
        self.assertEqual([self.ask(port, ("user", "ann"), hits=3) for port in (self.our_port, self.their_port, self.our_port)],
                         [(200, 3), (200, 0), (429, 0)])
        self.assertTrue(all(key.startswith("rl:shop_") for key in self.redis.keys()))


if __name__ == "__main__":
    unittest.main()
