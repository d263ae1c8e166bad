"""The real envoyproxy/ratelimit and weir side by side on one Redis: whoever is asked, the calls of both count together."""

import contextlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import peers  # noqa: E402
from http_client import Cut, once  # noqa: E402
from redis_process import Redis  # noqa: E402
from weir_process import Weir, eventually, free_port  # noqa: E402

sys.path.insert(0, os.path.join(os.environ.get("WEIR_PEERS") or os.path.join(peers.ROOT, "build", "peers"), "grpcio"))
try:
    import grpc
    from envoy.service.ratelimit.v3 import rls_pb2, rls_pb2_grpc
except ImportError:
    grpc = None

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
WHERE = os.path.join(os.environ.get("WEIR_PEERS") or os.path.join(peers.ROOT, "build", "peers"), "ratelimit")


def binary():
    path = os.path.join(WHERE, "service_cmd")
    return path if os.path.exists(path) else None


def since(day):
    """Whether the installed one is of that day or newer, such as "20260701": tests/integrations/install_ratelimit writes it."""
    try:
        with open(os.path.join(WHERE, "version"), encoding="utf-8") as f:
            return f.read().strip().split("-")[-2].rpartition(".")[2][:8] >= day
    except OSError:
        return False


def its_quotas():
    """Quotas refuse a call together since 2026-03-17; before, no quota refuses, whatever it counts."""
    return since("20260317")


def its_metadata():
    """A rule has `metadata` since 2026-07-01; before, no file with it loads, and an answer tells of quotas in its metadata."""
    return since("20260701")


def understood(limits):
    """The rules without what the installed one does not know yet: weir does as the newest one does."""
    if not its_metadata():
        limits = re.sub(r", metadata: \{\w+: (\w+|\{\w+: \w+\})\}", "", limits)
    return limits if its_quotas() else limits.replace("quota_mode: true, ", "")


class Sides:
    """Starts the other service, or weir, or both."""

    @classmethod
    def setUpClass(cls):
        if binary() is None or shutil.which("redis-server") is None:
            raise unittest.SkipTest("there is no envoyproxy/ratelimit on this machine: scripts/deps peers")

    def begin(self):
        left = DAY - time.time() % DAY
        if left < 60:  # the day ends within the test
            peers.wait(left + 1)
        self.redis = Redis().start()
        self.addCleanup(self.redis.kill)

    def start_theirs(self, limits, **settings):
        scratch = tempfile.TemporaryDirectory(prefix="weir-ratelimit-")
        self.addCleanup(scratch.cleanup)
        os.makedirs(os.path.join(scratch.name, "config"))
        with open(os.path.join(scratch.name, "config", "shop.yaml"), "w", encoding="utf-8") as f:
            f.write(limits)
        self.their_port, self.their_grpc = free_port(), free_port()
        environment = dict(os.environ, USE_STATSD="false", LOG_LEVEL="warn", REDIS_SOCKET_TYPE="unix", REDIS_URL=self.redis.path,
                           RUNTIME_ROOT=scratch.name, RUNTIME_SUBDIRECTORY="", RUNTIME_WATCH_ROOT="false", HOST="127.0.0.1",
                           PORT=str(self.their_port), GRPC_HOST="127.0.0.1", GRPC_PORT=str(self.their_grpc), DEBUG_HOST="127.0.0.1",
                           DEBUG_PORT=str(free_port()), EXPIRATION_JITTER_MAX_SECONDS="0", LIMIT_RESPONSE_HEADERS_ENABLED="true",
                           RESPONSE_DYNAMIC_METADATA="true", **settings)
        theirs = peers.Peer([binary()], scratch.name, self.their_port, environment)
        self.addCleanup(theirs.stop)
        return theirs

    def start_ours(self, limits, settings=""):
        self.our_port, self.our_grpc = free_port(), free_port()
        ours = Weir("policies: []\n", 1, extra=f"api: {{listen: 127.0.0.1:{self.our_port}}}\ngrpc: {{listen: 127.0.0.1:{self.our_grpc}}}\n"
                    f"ratelimit: {{files: [shop.yaml]{', ' + settings if settings else ''}}}\n"
                    f"redis: {{{self.redis.where}, timeout: 5s, budget: 1s, secret: {'s' * 32}}}\n", files={"shop.yaml": limits})
        ours.start()
        self.addCleanup(ours.kill)
        return ours

    @staticmethod
    def told(port, call):
        """The status, and the answer as JSON; or as text, where it is none."""
        answer = once(port, "POST", "/json", {"Content-Type": "application/json"}, json.dumps(call).encode(), host=f"127.0.0.1:{port}")
        with contextlib.suppress(ValueError):
            return answer.status, json.loads(answer.body)
        return answer.status, answer.body.decode()

    def ask(self, port, *entries, hits=1, limit=None):
        descriptor = {"entries": [{"key": key, "value": value} for key, value in entries]}
        if hits != 1:
            descriptor["hitsAddend"] = hits
        if limit is not None:
            descriptor["limit"] = {"requestsPerUnit": limit, "unit": "DAY"}
        status, body = self.told(port, {"domain": "shop", "descriptors": [descriptor]})
        self.assertIn("statuses", body)
        return status, body["statuses"][0].get("limitRemaining", 0)


class Beside(Sides, unittest.TestCase):
    def start(self, prefix="", limits=LIMITS, settings=None):
        self.begin()
        self.start_theirs(limits, CACHE_KEY_PREFIX=prefix)
        self.start_ours(limits, settings or f"redis_keys: envoyproxy{f', redis_prefix: {prefix!r}' if prefix else ''}")

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
        self.start(limits=understood(EVERY_KIND), settings="headers: true, metadata: true")
        seed = random.randrange(1 << 30)
        dice = random.Random(seed)
        keys = ("user", "path", "tier", "x", "free")
        values = ("ann", "bob", "/login", "/a/1", "/a/2", "/a/b/c", "gold", "none", "", "a_b", "*", "\u00e9", "foo-bar-baz")

        def told(port, call):
            status_of_all, body = self.told(port, call)
            self.assertIn("statuses", body)
            for status in body["statuses"]:
                status.pop("durationUntilReset", None)
            for header in body.get("responseHeadersToAdd", ()):
                header["value"] = "some seconds" if header["key"] == "RateLimit-Reset" else header["value"]
            if not its_metadata():
                body.get("dynamicMetadata", {}).pop("quotaModeEnabled", None)
            return status_of_all, body
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


class WhatDiffers(Sides, unittest.TestCase):
    """What docs/migrating.md says of the other service, where weir does otherwise: each is true of both."""

    def both(self, limits, settings=""):
        self.begin()
        self.start_theirs(limits)
        self.start_ours(limits, settings)

    def remaining(self, *entries, **options):
        return [self.ask(port, *entries, **options)[1] for port in (self.their_port, self.our_port)]

    def loads(self, limits):
        """Whether each takes the file: theirs, weir."""
        with self.subTest(limits=limits):
            theirs = self.start_theirs(limits)
            call = {"domain": "shop", "descriptors": [{"entries": [{"key": "probe", "value": "x"}]}]}
            takes = self.told(self.their_port, call)[0] == 200
            theirs.stop()
            with tempfile.TemporaryDirectory() as directory:
                for name, text in (("weir.yaml", "weir: 1\nratelimit: {files: [shop.yaml]}\npolicies: []\n"), ("shop.yaml", limits)):
                    with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
                        f.write(text)
                done = subprocess.run([os.environ["WEIR_BINARY"], "check", os.path.join(directory, "weir.yaml")], capture_output=True,
                                      text=True, timeout=60, check=False)
            return takes, done.returncode == 0

    def test_entries_that_spell_the_same_share_a_counter_there(self):
        self.both("""domain: shop
descriptors:
  - key: m
    rate_limit: {unit: day, requests_per_unit: 9}
    descriptors: [{key: n, rate_limit: {unit: day, requests_per_unit: 9}}]
""")
        self.assertEqual(self.remaining(("m", "y_n_q")), [8, 8])
        self.assertEqual(self.remaining(("m", "y"), ("n", "q")), [7, 8])

    def test_a_limit_that_a_call_brings_along_shares_the_counter_of_the_rule_there(self):
        self.both("{domain: shop, descriptors: [{key: m, rate_limit: {unit: day, requests_per_unit: 9}}]}\n")
        self.assertEqual(self.remaining(("m", "a")), [8, 8])
        self.assertEqual(self.remaining(("m", "a"), limit=5), [3, 4])

    def test_a_call_without_domain_or_descriptors(self):
        self.both("{domain: shop, descriptors: [{key: m, rate_limit: {unit: day, requests_per_unit: 9}}]}\n")
        for call in ({"descriptors": [{"entries": [{"key": "m"}]}]}, {"domain": "shop"}):
            for port in (self.their_port, self.our_port):
                self.assertEqual(self.told(port, call)[0], 400, call)
        if grpc is None:
            self.skipTest("grpcio is not installed: scripts/deps peers")
        for request in (rls_pb2.RateLimitRequest(domain="shop"), rls_pb2.RateLimitRequest(descriptors=[{"entries": [{"key": "m"}]}])):
            codes = []
            for port in (self.their_grpc, self.our_grpc):
                with grpc.insecure_channel(f"127.0.0.1:{port}") as channel, self.assertRaises(grpc.RpcError) as raised:
                    rls_pb2_grpc.RateLimitServiceStub(channel).ShouldRateLimit(request, timeout=10, wait_for_ready=True)
                codes.append(raised.exception.code())
            self.assertEqual(codes, [grpc.StatusCode.UNKNOWN, grpc.StatusCode.INVALID_ARGUMENT])

    def test_a_limit_without_a_unit(self):
        """Over gRPC it ends the old service; over /json only the connection."""
        self.begin()
        limits = "{domain: shop, descriptors: [{key: m, rate_limit: {unit: day, requests_per_unit: 9}}]}\n"
        theirs = self.start_theirs(limits)
        self.start_ours(limits)
        call = {"domain": "shop", "descriptors": [{"entries": [{"key": "m", "value": "a"}], "limit": {"requestsPerUnit": 5}}]}
        self.assertEqual(self.told(self.our_port, call)[0], 400)
        with self.assertRaises((OSError, Cut)):
            self.told(self.their_port, call)
        self.assertEqual([self.ask(port, ("m", "a")) for port in (self.our_port, self.their_port)], [(200, 8)] * 2)
        if grpc is None:
            self.skipTest("grpcio is not installed: scripts/deps peers")
        request = rls_pb2.RateLimitRequest(domain="shop", descriptors=[{"entries": [{"key": "m", "value": "a"}], "limit": {"requests_per_unit": 5}}])
        codes = []
        for port in (self.our_grpc, self.their_grpc):
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel, self.assertRaises(grpc.RpcError) as raised:
                rls_pb2_grpc.RateLimitServiceStub(channel).ShouldRateLimit(request, timeout=10, wait_for_ready=True)
            codes.append(raised.exception.code())
        self.assertEqual(codes, [grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNAVAILABLE])
        eventually(lambda: theirs.process.poll() is not None, what="the end of the old service")
        self.assertEqual(self.ask(self.our_port, ("m", "a")), (200, 7))

    def test_key_and_value_are_one_text_there(self):
        self.both("""domain: shop
descriptors:
  - {key: a, value: yes, rate_limit: {unit: day, requests_per_unit: 9}}
  - {key: "wild*", rate_limit: {unit: day, requests_per_unit: 9}}
""")
        self.assertEqual(self.remaining(("a", "yes")), [8, 8])
        for entry in (("a_yes", ""), ("wildcard", "1")):
            self.assertEqual([self.told(port, {"domain": "shop", "descriptors": [{"entries": [{"key": entry[0], "value": entry[1]}]}]})[1]
                              ["statuses"][0].get("currentLimit") is not None for port in (self.their_port, self.our_port)], [True, False], entry)

    def test_documents_and_keys_that_stand_twice(self):
        rule = "{key: probe, rate_limit: {unit: day, requests_per_unit: %d}}"
        self.begin()
        two = f"domain: shop\ndescriptors: [{rule % 7}]\n---\ndomain: more\ndescriptors: [{rule % 8}]\n"
        twice = "domain: shop\ndescriptors: [{key: probe, rate_limit: {unit: day, requests_per_unit: 7, requests_per_unit: 8}}]\n"
        tagged = "domain: !!str shop\ndescriptors: [" + rule % 7 + "]\n"
        for limits, left in ((two, 6), (twice, 7), (tagged, 6)):
            self.assertEqual(self.loads(limits), (True, False))
            self.redis.command("FLUSHALL")
            self.start_theirs(limits)
            self.assertEqual(self.ask(self.their_port, ("probe", "x")), (200, left), limits)

    def test_files_that_only_one_of_them_takes(self):
        self.begin()
        self.assertEqual(self.loads("domain: shop\ndescriptors: [{key: m, rate_limit: {unit: day, requests_per_unit: 5}}]\n"), (True, True))
        for number in ("1e3", "1.0", "08", "'5'"):
            self.assertEqual(self.loads(f"domain: shop\ndescriptors: [{{key: m, rate_limit: {{unit: day, requests_per_unit: {number}}}}}]\n"),
                             (False, True))
        for number in ("0x1F", "0o17", "017", "0b11", "1_000"):
            self.assertEqual(self.loads(f"domain: shop\ndescriptors: [{{key: m, rate_limit: {{unit: day, requests_per_unit: {number}}}}}]\n"),
                             (True, True))
        for rule in ("key: m, shadow_mode: 'true', rate_limit: {unit: day, requests_per_unit: 5}", "key: m, value: 1.5"):
            self.assertEqual(self.loads(f"domain: shop\ndescriptors: [{{{rule}}}]\n"), (False, True))
        self.assertEqual(self.loads("domain: shop\ndescriptors: [{key: a_b}, {key: a, value: b}]\n"), (False, True))
        for wrong in ("{key: m, rate_limt: {unit: day, requests_per_unit: 5}}", "{key: m, rate_limit: {unit: fortnight, requests_per_unit: 5}}",
                      "{key: m, value: x, share_threshold: true, rate_limit: {unit: day, requests_per_unit: 5}}"):
            self.assertEqual(self.loads(f"domain: shop\ndescriptors: [{wrong}]\n"), (False, False))

    def test_quotas(self):
        """weir does as the newest one: all quotas of a call refuse it together."""
        quotas = """domain: shop
descriptors:
  - {key: m, quota_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}
  - {key: n, quota_mode: true, rate_limit: {unit: day, requests_per_unit: 2}}
"""
        self.both(quotas)
        call = {"domain": "shop", "descriptors": [{"entries": [{"key": key, "value": "a"}]} for key in ("m", "n")]}
        codes = [[self.told(port, call)[0] for _ in range(3)] for port in (self.their_port, self.our_port)]
        self.assertEqual(codes[1], [200, 200, 429])
        self.assertEqual(codes[0], [200, 200, 429] if its_quotas() else [200, 200, 200])

    def test_metadata_of_a_rule_with_a_detailed_metric(self):
        """The old service loses it."""
        if not its_metadata():
            self.skipTest("the installed envoyproxy/ratelimit has no metadata of rules yet")
        rule = "key: {}, detailed_metric: {}, metadata: {{plan: {}}}, rate_limit: {{unit: day, requests_per_unit: 9}}"
        self.both("domain: shop\ndescriptors: [{" + rule.format("m", "true", "gold") + "}, {" + rule.format("n", "false", "plain") + "}]\n",
                  "metadata: true")
        seen = []
        for port in (self.their_port, self.our_port):
            for key in ("m", "n"):
                call = {"domain": "shop", "descriptors": [{"entries": [{"key": key, "value": "a"}]}]}
                seen.append(self.told(port, call)[1]["dynamicMetadata"].get("metadata"))
        self.assertEqual(seen, [None, {"plan": "plain"}, {"plan": "gold"}, {"plan": "plain"}])


if __name__ == "__main__":
    unittest.main()
