"""weir counts in Redis under the keys of envoyproxy/ratelimit, so that both serve while one takes the other's place.

The other service is a model here: its keys, byte by byte, and its two commands. tests/integrations runs the service itself."""

import json
import time
import unittest

from http_client import once
from redis_process import Redis
from weir_process import Weir, eventually, free_port

LIMITS = """domain: shop
descriptors:
  - key: user
    rate_limit: {unit: day, requests_per_unit: 6}
    descriptors:
      - {key: path, value: "/a/*", share_threshold: true, rate_limit: {unit: day, requests_per_unit: 4}}
"""
DAY = 86_400


class TheirService:
    """What envoyproxy/ratelimit does of one descriptor in Redis."""

    def __init__(self, redis, prefix=""):
        self.redis, self.prefix = redis, prefix

    def key(self, *entries, unit=DAY):
        now = int(time.time())
        return self.prefix + "shop_" + "".join(f"{key}_{value}_" for key, value in entries) + str(now // unit * unit)

    def hit(self, limit, *entries, hits=1, unit=DAY):
        """Whether the descriptor is within its limit."""
        key = self.key(*entries, unit=unit)
        after = self.redis.command("INCRBY", key, hits)
        self.redis.command("EXPIRE", key, unit)
        return after <= limit


class Site(Weir):
    def __init__(self, redis, settings="redis_keys: envoyproxy"):
        self.api_port = free_port()
        super().__init__("policies: []\n", 1, extra=f"api: {{listen: 127.0.0.1:{self.api_port}}}\ngrpc: {{listen: none}}\n"
                         f"ratelimit: {{files: [limits.yaml], {settings}}}\n"
                         f"redis: {{{redis.where}, timeout: 5s, budget: 1s, secret: {'s' * 32}}}\n", files={"limits.yaml": LIMITS})

    def hit(self, *entries, hits=1, limit=None):
        descriptor = {"entries": [{"key": key, "value": value} for key, value in entries], "hitsAddend": hits}
        if limit is not None:
            descriptor["limit"] = {"requestsPerUnit": limit, "unit": "DAY"}
        answer = once(self.api_port, "POST", "/json", [], json.dumps({"domain": "shop", "descriptors": [descriptor]}).encode(),
                      host=f"127.0.0.1:{self.api_port}")
        return answer.status == 200


class SharedKeys(unittest.TestCase):
    def setUp(self):
        self.redis = Redis().start()
        self.addCleanup(self.redis.kill)
        left = DAY - time.time() % DAY
        if left < 60:  # the day ends within the test
            time.sleep(left + 1)

    def test_both_count_together_whoever_comes_first(self):
        theirs, user = TheirService(self.redis), ("user", "ann")
        with Site(self.redis) as site:
            self.assertEqual([theirs.hit(6, user), site.hit(user), site.hit(user, hits=2), theirs.hit(6, user)], [True] * 4)
            self.assertEqual([site.hit(user), theirs.hit(6, user), site.hit(user)], [True, False, False])
            self.assertEqual(self.redis.command("GET", theirs.key(user)), b"8")
            self.assertTrue(DAY - 60 <= int(self.redis.command("TTL", theirs.key(user))) <= DAY)
            self.assertFalse(site.hit(user, hits=0))
            self.assertEqual(self.redis.command("GET", theirs.key(user)), b"8")  # who only looks counts nothing
            self.assertEqual(site.stop(), 0)

    def test_a_replica_that_takes_over_goes_on_with_the_counts(self):
        theirs, user = TheirService(self.redis), ("user", "ann")
        self.assertTrue(all(theirs.hit(6, user) for _ in range(4)))
        with Site(self.redis) as first, Site(self.redis) as second:
            self.assertEqual([first.hit(user), second.hit(user), first.hit(user)], [True, True, False])

    def test_the_keys_are_those_of_the_other_service(self):
        theirs = TheirService(self.redis)
        with Site(self.redis) as site:
            under = ("user", "ann"), ("path", "/a/1")
            self.assertTrue(site.hit(*under) and site.hit(("user", "ann"), ("path", "/a/2")))
            self.assertTrue(site.hit(("user", "a b{c}\u00e9")))
            self.assertTrue(site.hit(("other", "x"), limit=3))
            keys = {theirs.key(("user", "ann"), ("path", "/a/*")): b"2", theirs.key(("user", "a b{c}\u00e9")): b"1",
                    theirs.key(("other", "x")): b"1"}
            self.assertEqual({key: self.redis.command("GET", key) for key in self.redis.keys()}, keys)

    def test_a_prefix_is_part_of_them(self):
        theirs, user = TheirService(self.redis, "rl:"), ("user", "ann")
        with Site(self.redis, "redis_keys: envoyproxy, redis_prefix: 'rl:'") as site:
            self.assertTrue(site.hit(user))
        self.assertEqual(self.redis.keys(), [theirs.key(user)])

    def test_without_the_switch_the_keys_are_weir_s_own(self):
        with Site(self.redis, "share: redis") as site:
            self.assertTrue(site.hit(("user", "ann")))
        self.assertTrue(all(key.startswith(b"weir:") for key in self.redis.command("KEYS", "*")))

    def test_while_redis_is_away_each_counts_alone_and_then_goes_on(self):
        theirs, user = TheirService(self.redis), ("user", "ann")
        with Site(self.redis) as site:
            self.assertTrue(site.hit(user, hits=3))
            self.redis.kill()
            self.assertEqual([site.hit(user, hits=2), site.hit(user, hits=2)], [True, False])  # 3 + 2 here, then 7
            self.redis.start()  # empty, as after a loss
            bob = ("user", "bob")
            eventually(lambda: site.hit(bob, hits=0) and site.hit(bob) and self.redis.command("EXISTS", theirs.key(bob)), 20,
                       "weir to ask Redis again")
            self.assertEqual(site.stop(), 0)


if __name__ == "__main__":
    unittest.main()
