"""Counters with `share: {redis: {sync: ...}}`: weir processes that exchange their counts through one redis-server."""

import json
import threading
import time
import unittest

from http_client import Client, once, parallel, press, render
from origin import answer
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
            # The most that passes on one replica in an interval, a way to Redis and back, and a turn.
            most = max(sum(t <= u < t + INTERVAL + 0.1 for u in times) for t in times)
            self.assertGreaterEqual(len(times), LIMIT)
            self.assertLessEqual(len(times), LIMIT + most)
            operations = sum(weir.metric("weir_redis_operations_total") for weir in (a, b))
            self.assertLessEqual(operations, len(done) * 0.1 + 60, "commands are by interval, not by request")
            eventually(lambda: a.metric("weir_redis_sync_exchanges_total") > 5, 5, "exchanges are counted")

    def test_what_another_policy_refuses_is_nobodys_count(self):
        gate = "\n  - {name: gate, watch: comes, key: ip, window: 10m, share: redis, then: [{over: 7, do: deny}]}"
        with Replicas(policies("{every: 12h}").rstrip() + gate + "\n") as (redis, origin, a, b):
            for _ in range(3):
                parallel([a.port, b.port], [render("GET", "/", {"X-Forwarded-For": "192.0.2.1"})] * 60)
            self.assertEqual(origin.count(), 7)
            told = lambda: json.dumps(a.admin("GET", "/v1/counters/synced?key=192.0.2.1")[1])  # noqa: E731
            eventually(lambda: '"value": 7' in told(), 3, "seven in Redis, and no more")
            time.sleep(5 * INTERVAL)
            self.assertIn('"value": 7', told())

    def test_what_passed_beyond_the_limit_is_counted(self):
        with Replicas(policies()) as (redis, origin, a, b):
            redis.pause()
            try:
                self.assertEqual((admitted(a, "192.0.2.2", 80), admitted(b, "192.0.2.2", 80)), (80, 80))
            finally:
                redis.resume()
            eventually(lambda: a.metric("weir_redis_sync_overshoot_total") +
                       b.metric("weir_redis_sync_overshoot_total") == 160 - LIMIT, 5, "sixty too many")

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
            for weir in (a, b):
                eventually(lambda weir=weir: weir.metric("weir_redis_sync_pending") == 1, what="a key that waits")
            redis.start()
            # The ten of before are lost with that Redis, or known again; the fifty since are merged.
            eventually(lambda: get(a, "192.0.2.9") and get(b, "192.0.2.9") and
                       a.metric("weir_redis_up") == 2 and b.metric("weir_redis_up") == 2, 10, "both are back")
            time.sleep(3 * INTERVAL)
            passed = admitted(b, "192.0.2.9", LIMIT)
            self.assertLessEqual(passed, LIMIT - 50)

    def test_sigterm_sends_what_was_not_sent_yet(self):
        # Far below a hundredth of the limit: only the interval, or the end, makes it tell.
        slow = policies("1m", 100_000).replace(f"{INTERVAL * 1000:.0f}ms", "10s")
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

    def test_averages_and_extremes_of_all_replicas(self):
        rows = "".join(
            f"  - {{name: {name}, watch: comes, key: ip, metric: {metric}(size), window: {window}, "
            f"share: {{redis: {{sync: {INTERVAL * 1000:.0f}ms}}}}, then: [{{over: {limit}, do: deny}}]}}\n"
            for name, metric, window, limit in (("mean", "avg", "1m", 50), ("top", "max", "{every: 1d}", 300)))
        text = "events:\n  comes: {match: GET /, fields: {size: int(header.x_size)}}\npolicies:\n" + rows
        with Replicas(text) as (redis, origin, a, b):
            def send(weir, size, ip="192.0.2.1"):
                return once(weir.port, "GET", "/", {"X-Forwarded-For": ip, "X-Size": str(size)}).status

            def counter(weir, name, ip="192.0.2.1"):
                return weir.admin("GET", f"/v1/counters/{name}?key={ip}")[1]["counters"][0]

            self.assertEqual([send(a, 10), send(a, 20), send(b, 45)], [200] * 3)
            for weir in (a, b):  # as the store has them
                eventually(lambda weir=weir: counter(weir, "mean")["value"] == 25, what="the average of all")
                eventually(lambda weir=weir: counter(weir, "top")["value"] == 45, what="the greatest of all")
            self.assertEqual((counter(a, "mean")["here"]["value"], counter(b, "mean")["here"]["value"]), (15, 45))
            # b may have told its own before a told its: it learns them in the interval after its next event.
            eventually(lambda: send(b, 60) == 200, what="(45 + 60) / 2 is over 50; with the 30 of the other it is not")
            self.assertEqual(send(a, 300, "192.0.2.2"), 429, "its own average")
            self.assertEqual(a.admin("DELETE", "/v1/counters/mean?key=192.0.2.1", {})[0], 200)
            eventually(lambda: counter(b, "mean")["value"] == 0, what="emptied")

    def test_accounts_of_a_device_count_once_wherever_they_come_from(self):
        text = f"""
events:
  comes: {{match: GET /, fields: {{device: header.x_device, user: header.x_user}}}}
policies:
  - {{name: accounts, watch: comes, key: device, metric: distinct(user), window: 1h,
     share: {{redis: {{sync: {INTERVAL * 1000:.0f}ms}}}}, then: [{{over: 3, do: deny}}]}}
"""
        with Replicas(text) as (redis, origin, a, b):
            def send(weir, device, user):
                return once(weir.port, "GET", "/", {"X-Device": device, "X-User": user}).status

            def counter(weir, device):
                return weir.admin("GET", f"/v1/counters/accounts?key={device}")[1]["counters"][0]

            self.assertEqual([send(a, "d1", "u1"), send(a, "d1", "u2"), send(b, "d1", "u2"), send(b, "d1", "u3")], [200] * 4)
            eventually(lambda: counter(a, "d1")["value"] == 3, what="three accounts in the store")
            for user in ("u1", "u2", "u3") * 2:  # who moves on to the other replica is no new account
                self.assertEqual((send(a, "d1", user), send(b, "d1", user)), (200, 200), user)
            self.assertEqual((send(a, "d1", "u4"), send(b, "d1", "u4")), (429, 429), "each has seen three itself")
            self.assertEqual([send(a, "d2", f"u{n}") for n in range(3)], [200] * 3)
            eventually(lambda: counter(b, "d2")["value"] == 3, what="told")
            self.assertEqual(send(b, "d2", "u9"), 200, "b has never heard of this device")
            eventually(lambda: send(b, "d2", "u9") == 429, what="now it has")
            eventually(lambda: send(a, "d2", "u8") == 429, what="the other as well")
            self.assertEqual(b.admin("DELETE", "/v1/counters/accounts?key=d2", {})[0], 200)
            eventually(lambda: send(a, "d2", "u8") == 200, what="emptied everywhere")

    def test_requests_under_way_on_both_replicas_and_on_one_that_dies(self):
        text = f"""
policies:
  - {{name: at-once, watch: request, key: ip, metric: in_flight, share: {{redis: {{sync: {INTERVAL * 1000:.0f}ms}}}},
     then: [{{over: 3, do: deny}}]}}
"""
        release = threading.Event()
        self.addCleanup(release.set)

        def hold(request):
            if request.path == "/held":
                release.wait(30)
            return answer()

        with Replicas(text, hold) as (redis, origin, a, b):
            def held(weir, ip, n):
                clients = [Client(weir.port) for _ in range(n)]
                for client in clients:
                    self.addCleanup(client.close)
                    client.send("GET", "/held", {"X-Forwarded-For": ip})
                return clients

            two = held(a, "192.0.2.1", 2)
            one = held(b, "192.0.2.1", 1)
            eventually(lambda: origin.count() == 3, what="three requests at the app")
            eventually(lambda: (get(a), get(b)) == (429, 429), what="both know of all three")
            self.assertEqual(get(b, "192.0.2.2"), 200)
            held(a, "192.0.2.3", 3)
            eventually(lambda: get(b, "192.0.2.3") == 429, what="three of another")
            a.kill()
            eventually(lambda: get(b, "192.0.2.3") == 200, 15, "the dead have nothing open")
            release.set()
            self.assertEqual(one[0].receive().status, 200)
            self.assertEqual(len(two), 2)
            a.start()

    def test_a_window_that_begins_with_the_first_event_is_one_window(self):
        with Replicas(policies("{every: 4s, from: first}", limit=10)) as (redis, origin, a, b):
            def value(weir):
                return weir.admin("GET", "/v1/counters/synced?key=192.0.2.1")[1]["counters"][0]["value"]

            begin = time.monotonic()
            self.assertEqual(admitted(a, "192.0.2.1", 6), 6)
            eventually(lambda: value(b) == 6, what="told")
            self.assertEqual(admitted(b, "192.0.2.1", 2), 2)
            eventually(lambda: get(b) == 429, what="at most the ten that are left, by and by")
            eventually(lambda: get(a) == 429, what="both know it")
            eventually(lambda: (get(a), get(b)) == (200, 200), 10, "a new window, on both at once")
            self.assertGreater(time.monotonic() - begin, 3)


if __name__ == "__main__":
    unittest.main()
