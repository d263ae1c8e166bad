"""Counters with `share: {redis: {sync: ...}}`: weir processes that exchange their counts through one redis-server."""

import time
import unittest

from http_client import press, render
from test_shared_counters import Replicas, get
from weir_process import eventually

INTERVAL = 0.1
LIMIT = 100


def policies(window="{last: 1m, exact: true}", limit=LIMIT, more=""):
    return f"""
events:
  comes: {{match: GET /}}
  out: {{match: POST /out}}
policies:
  - {{name: synced, watch: comes, key: ip, window: {window}, share: {{redis: {{sync: {INTERVAL * 1000:.0f}ms}}}},
     then: [{{over: {limit}, do: deny}}]{more}}}
"""


def admitted(weir, ip, requests):
    return sum(get(weir, ip) == 200 for _ in range(requests))


class Synced(unittest.TestCase):
    def test_two_replicas_admit_the_limit_and_no_more_than_what_an_interval_lets_through(self):
        with Replicas(policies()) as (redis, origin, a, b):
            request = render("GET", "/", {"X-Forwarded-For": "192.0.2.1"})
            done = press([a.port, b.port], request, 20, 2)
            self.assertEqual({e.answer.status for e in done}, {200, 429})
            times = sorted(e.received for e in done if e.answer.status == 200)
            # What passes on one replica in an interval, a way to Redis and back, and a turn: all of it here.
            most = max(sum(t <= u < t + INTERVAL + 0.1 for u in times) for t in times)
            self.assertGreaterEqual(len(times), LIMIT)
            self.assertLessEqual(len(times), LIMIT + most)
            operations = sum(weir.metric("weir_redis_operations_total") for weir in (a, b))
            self.assertLessEqual(operations, len(done) * 0.1 + 60, "commands are by interval, not by request")
            eventually(lambda: a.metric("weir_redis_sync_exchanges_total") > 5, 5, "exchanges are counted")

    def test_at_a_steady_rate_the_limit_holds_within_what_is_under_way(self):
        with Replicas(policies()) as (redis, origin, a, b):
            passed = 0
            for _ in range(LIMIT):
                passed += (get(a) == 200) + (get(b) == 200)
                time.sleep(0.004)  # some 250 a second and replica: 25 in an interval
            self.assertGreaterEqual(passed, LIMIT)
            self.assertLessEqual(passed, LIMIT + 2 * 25)
            time.sleep(3 * INTERVAL)
            self.assertEqual((get(a), get(b)), (429, 429), "both know it now")

    def test_a_reset_on_one_replica_holds_on_the_other(self):
        with Replicas(policies(limit=5, more=", reset: out")) as (redis, origin, a, b):
            self.assertEqual(admitted(a, "192.0.2.7", 6), 5)
            eventually(lambda: get(b, "192.0.2.7") == 429, 5, "the other knows")
            a_request = render("POST", "/out", {"X-Forwarded-For": "192.0.2.7"})
            press([a.port], a_request, 1, 0.05)
            eventually(lambda: get(b, "192.0.2.7") == 200, 5, "the other was told of the reset")

    def test_what_is_counted_while_redis_is_away_is_merged(self):
        with Replicas(policies()) as (redis, origin, a, b):
            self.assertEqual(admitted(a, "192.0.2.9", 10), 10)
            redis.kill()
            self.assertEqual(admitted(a, "192.0.2.9", 20), 20)
            self.assertEqual(admitted(b, "192.0.2.9", 30), 30)
            redis.start()
            # The ten of before are lost with that Redis, or known again; the fifty since are merged.
            eventually(lambda: get(a, "192.0.2.9") and get(b, "192.0.2.9") and
                       a.metric("weir_redis_up") == 2 and b.metric("weir_redis_up") == 2, 10, "both are back")
            time.sleep(3 * INTERVAL)
            passed = admitted(b, "192.0.2.9", LIMIT)
            self.assertLessEqual(passed, LIMIT - 50)

    def test_sigterm_sends_what_was_not_sent_yet(self):
        slow = policies().replace(f"{INTERVAL * 1000:.0f}ms", "10s")
        with Replicas(slow) as (redis, origin, a, b):
            self.assertEqual(admitted(a, "192.0.2.11", 40), 40)
            self.assertEqual(redis.keys(), [], "nothing is due yet")
            self.assertEqual(a.stop(), 0, a.log())
            self.assertEqual(len(redis.keys()), 1)

    def test_a_restarted_replica_learns_what_was_counted(self):
        with Replicas(policies()) as (redis, origin, a, b):
            self.assertEqual(admitted(a, "192.0.2.12", 60), 60)
            a.stop()
            a.start()
            eventually(lambda: a.metric("weir_redis_up") == 2, 10, "it is back")
            passed = admitted(a, "192.0.2.12", 20)
            time.sleep(3 * INTERVAL)
            passed += admitted(a, "192.0.2.12", 100)
            self.assertLessEqual(passed, LIMIT - 60 + 20)
            self.assertGreaterEqual(passed, LIMIT - 60)


if __name__ == "__main__":
    unittest.main()
