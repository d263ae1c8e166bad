"""Patterns with `share: redis`: two weir processes over one redis-server see one another's events."""

import contextlib
import time
import unittest

from http_client import once
from origin import Origin
from redis_process import Redis
from test_shared_counters import PATIENT, Replicas, replica
from test_shared_lists import Hook
from weir_process import eventually

POLICIES = """
fields: {order: header.x_order, user: header.x_user}
events:
  ordered: {match: POST /order}
  paid: {match: POST /pay}
  sent: {match: POST /send}
  received: {match: POST /receive}
  looked: {match: GET /secret}
  took: {match: POST /take}
policies:
  - {name: unpaid, sequence: [ordered, no paid], within: WITHIN, key: order, share: redis, then: [{notify: hook}]}
  - {name: alone, pair: [sent, received], within: WITHIN, key: order, share: redis,
     then: [{notify: hook, if: value == 1}]}
  - {name: thief, sequence: [looked, looked, took], within: 1m, key: user, share: redis, on_error: ON_ERROR,
     then: [{do: deny, status: 403}]}
notify:
  hook: {webhook: 'http://127.0.0.1:PORT/'}
"""


def policies(hook, within="2s", on_error="local"):
    return POLICIES.replace("PORT", str(hook.port)).replace("WITHIN", within).replace("ON_ERROR", on_error)


def say(weir, path, order=None, user=None, method="POST"):
    fields = {"X-Order": order} if order else {"X-User": user}
    return once(weir.port, method, path, fields).status


class Hooked:
    def setUp(self):
        self.hook = Hook()
        self.addCleanup(self.hook.close)

    def told(self, policy):
        """The keys of all notifications of this policy, in order of their names."""
        return sorted(n["key"] for n in list(self.hook.got) if n["policy"] == policy)

    def told_once(self, policy, keys, seconds=12):
        eventually(lambda: len(self.told(policy)) >= len(keys), seconds, f"{policy} of {keys}")
        time.sleep(1)  # a second one would come now
        self.assertEqual(self.told(policy), sorted(keys))


class Deadlines(Hooked, unittest.TestCase):
    def test_what_one_replica_began_another_ends(self):
        with Replicas(policies(self.hook)) as (_, _, a, b):
            for order in ("o1", "o2", "o3"):
                self.assertEqual(say(a, "/order", order), 200)
            say(b, "/pay", "o1")
            say(a, "/pay", "o3")
            for parcel in ("p1", "p2"):
                say(a, "/send", parcel)
            say(b, "/receive", "p2")
            say(b, "/receive", "p3")
            self.told_once("unpaid", ["o2"])
            self.told_once("alone", ["p1", "p3"])

    def test_a_replica_that_dies_leaves_its_deadlines_to_the_others(self):
        with Replicas(policies(self.hook)) as (_, _, a, b):
            for n in range(8):
                say(a, "/order", f"o{n}")
            say(b, "/pay", "o0")
            a.kill()
            self.told_once("unpaid", [f"o{n}" for n in range(1, 8)])
            a.start()

    def test_what_happens_while_the_store_is_away_is_told_when_it_is_back(self):
        origin = Origin()
        redis = Redis("--appendonly", "yes", "--appendfsync", "always")
        with contextlib.ExitStack() as stack:
            for part in (redis, origin):
                stack.enter_context(part)
            a, b = (stack.enter_context(replica(redis, policies(self.hook, "5s"), origin.port)) for _ in range(2))
            eventually(lambda: redis.used_by(4), what="both replicas at the store")
            for order in ("before-paid", "before"):
                self.assertEqual(say(a, "/order", order), 200)
            eventually(lambda: len(redis.keys()) >= 2, what="the orders in the store")
            redis.kill()
            self.assertEqual(say(b, "/pay", "before-paid"), 200)
            for order in ("meanwhile-paid", "meanwhile"):
                self.assertEqual(say(a, "/order", order), 200)
            # A late event is placed by its age, to within the time of its way to the store: on a busy
            # machine some hundredths of a second, so two of one key that follow at once may change places.
            time.sleep(1)
            self.assertEqual(say(b, "/pay", "meanwhile-paid"), 200)
            time.sleep(6)  # their time ends, but no replica may report it yet
            self.assertEqual(self.told("unpaid"), [])
            redis.start()
            self.told_once("unpaid", ["before", "meanwhile"], 20)


class Matches(Hooked, unittest.TestCase):
    def begin(self, a, b, user):
        for weir in (a, b):
            self.assertEqual(say(weir, "/secret", user=user, method="GET"), 200)

    def test_a_sequence_goes_over_replicas(self):
        with Replicas(policies(self.hook)) as (_, _, a, b):
            self.assertEqual(say(b, "/take", user="honest"), 200)
            self.begin(a, b, "mallory")
            self.assertEqual(say(a, "/take", user="mallory"), 403)
            self.assertEqual(say(b, "/take", user="mallory"), 403, "a refused step has not happened")
            for weir in (a, b):  # each counts the match whose last step it has refused
                eventually(lambda weir=weir: weir.metric("weir_pattern_matches_total", "matched") == 1, what="the match in the metrics")
            self.assertEqual(say(b, "/take", user="honest"), 200)

    def on_error(self, what, alone):
        with Replicas(policies(self.hook, on_error=what), settings=PATIENT.replace("5s", "5ms")) as (redis, _, a, b):
            redis.kill()
            eventually(lambda: a.metric("weir_redis_up") == b.metric("weir_redis_up") == 0, what="the replicas alone")
            self.begin(a, a, "here")
            self.begin(a, b, "there")
            self.assertEqual(say(a, "/take", user="here"), alone)
            self.assertNotEqual(say(b, "/take", user="there"), 403)

    def test_while_the_store_is_away_a_replica_judges_by_what_it_has_seen(self):
        self.on_error("local", 403)

    def test_on_error_allow(self):
        self.on_error("allow", 200)

    def test_on_error_deny(self):
        self.on_error("deny", 503)


if __name__ == "__main__":
    unittest.main()
