"""What a broken Redis may not do to the requests of policies with `share: redis`."""

import signal
import socket
import statistics
import struct
import time
import unittest
from collections import Counter

from http_client import Client, parallel
from origin import Origin, answer
from redis_process import Redis
from test_shared_counters import LOGINS, Replicas, get, login, replica
from weir_process import SANITIZED, Load, eventually, free_port

HASTY = "secret: of these tests"  # the defaults: 5 ms for a request, 50 ms for a connection
RESTARTS, WARM_UP = 20, 5


def limited(limit, *, on_error="local", window="{last: 10m, exact: true}"):
    return f"""
policies:
  - {{name: shared, watch: request, key: ip, window: {window}, share: redis, on_error: {on_error},
     then: [{{over: {limit}, do: deny}}]}}
"""


NEVER = limited(10**6, window="10m")  # refuses nothing


class Restarts(unittest.TestCase):
    LIMIT, ADDRESSES = 20, 200

    def restart_under_load(self, *options):
        """Two replicas under load while their store is killed and started 20 times. Gives what the app saw of each
        address, and how many were asked for at all."""
        redis, origin = Redis(*options), Origin()
        with redis, origin, replica(redis, limited(self.LIMIT), origin.port, settings=HASTY) as a, \
                replica(redis, limited(self.LIMIT), origin.port, settings=HASTY) as b:
            eventually(lambda: redis.used_by(4), what="both replicas at the store")
            loads = [Load("--target", f"127.0.0.1:{w.port}", "--conns", 8, "--seconds", 100, "--addresses",
                          self.ADDRESSES, "--rate", 1000, "--expect", "any") for w in (a, b)]
            with loads[0], loads[1]:
                for i in range(RESTARTS):
                    if i == WARM_UP:
                        held = [(w.descriptors(but_to=origin.port), w.rss_kib()) for w in (a, b)]
                    redis.kill()
                    before = served(a), served(b)
                    eventually(lambda old=before: served(a) > old[0] + 20 and served(b) > old[1] + 20,
                               what="service without the store")
                    redis.start()
                    eventually(lambda: redis.used_by(4), what="both replicas back at the store")
                for w, (descriptors, rss) in zip((a, b), held):
                    eventually(lambda: w.descriptors(but_to=origin.port) <= descriptors,  # noqa: B023
                               what="the descriptors given back")
                    if not SANITIZED:  # a sanitizer keeps for a while what is freed
                        self.assertLess(w.rss_kib(), rss + 4096)
                # Each address has asked for more than its limit by then.
                eventually(lambda: served(a) + served(b) > 3 * self.LIMIT * self.ADDRESSES, 30, "enough requests")
                results = [load.stop() for load in loads]
            for result in results:
                self.assertEqual(result["errors"], 0, result)
                self.assertEqual(result["status"]["5xx"], 0, result)
                self.assertEqual(result["reconnects"], 0, result)
            return Counter(r.header("x-forwarded-for") for r in origin.requests)

    def test_no_request_fails_and_a_store_that_remembers_keeps_the_bound(self):
        # A process that is killed loses nothing that it had written to its file, synced or not.
        admitted = self.restart_under_load("--appendonly", "yes", "--appendfsync", "no")
        self.assertEqual(len(admitted), self.ADDRESSES)
        # The store admits L, and each of two replicas L while it counts alone.
        self.assertLessEqual(max(admitted.values()), 3 * self.LIMIT)
        self.assertGreaterEqual(min(admitted.values()), self.LIMIT)

    def test_a_store_that_forgets_admits_the_limit_once_more_each_time(self):
        admitted = self.restart_under_load()
        self.assertLessEqual(max(admitted.values()), (RESTARTS + 1 + 2) * self.LIMIT)
        self.assertGreaterEqual(min(admitted.values()), self.LIMIT)


def served(weir):
    return weir.metric("weir_responses_total")


def latencies(weir, count=200):
    with Client(weir.port) as client:
        out = []
        for _ in range(count):
            begin = time.monotonic()
            status = client.request("GET", "/", {"X-Forwarded-For": "192.0.2.1"}).status
            out.append(time.monotonic() - begin)
            if status != 200:
                raise AssertionError(status)
        return sorted(out)


class Silence(unittest.TestCase):
    def test_a_stopped_store_delays_no_request_beyond_the_budget(self):
        with Replicas(NEVER, settings=HASTY) as (redis, _, a, _):
            before = latencies(a)
            redis.pause()
            try:
                during = latencies(a)
                eventually(lambda: a.metric("weir_redis_nodes", 'state="breaker_open"') > 0, what="a breaker that is open")
            finally:
                redis.resume()
            self.assertLessEqual(statistics.median(during), statistics.median(before) + 0.010)
            self.assertLessEqual(during[-3], before[-3] + 0.060)
            eventually(lambda: a.metric("weir_redis_nodes", 'state="breaker_open"') == 0, what="the breaker closed")
            # And it is asked again: what it counts is seen by the other replica.
            count = lambda: [redis.command("HGETALL", key) for key in redis.keys()]  # noqa: E731
            old = count()
            eventually(lambda: get(a) and count() != old, 5, "the store in use again")

    def test_what_waits_for_the_store_is_seen(self):
        with Replicas(NEVER, settings=f"{HASTY}, timeout: 10s") as (redis, _, a, _):
            self.assertEqual(get(a), 200)
            self.assertEqual(a.metric("weir_redis_in_flight"), 0)
            redis.pause()
            try:
                self.assertEqual(get(a), 200, "on_error: local")
                eventually(lambda: a.metric("weir_redis_in_flight") == 1, what="the operation that nobody waits for")
            finally:
                redis.resume()
            eventually(lambda: a.metric("weir_redis_in_flight") == 0, what="its answer")

    def test_what_a_request_gave_up_holds_no_place(self):
        # Five right logins whose reservations the stopped store executes only after their requests have ended.
        with Replicas(LOGINS, lambda request: answer(200, b"welcome"), settings=HASTY) as (redis, _, a, b):
            def held():
                return sum(redis.command("ZCARD", key) for key in redis.keys() if redis.command("TYPE", key) == b"zset")

            redis.pause()
            try:
                self.assertEqual([parallel(a.port, [login()])[0].status for _ in range(5)], [200] * 5)
            finally:
                redis.resume()
            eventually(lambda: redis.used_by(6) and held() == 0, 8, "no reservation left")
            self.assertEqual([r.status for r in parallel(b.port, [login()] * 5)], [200] * 5)

    def test_clients_that_hang_up_while_the_store_is_asked_leave_nothing(self):
        policies = limited(900) + """
  - {name: at-once, watch: request, key: ip, metric: in_flight, share: redis, then: [{over: 1000, do: deny}]}
"""
        with Replicas(policies, settings="secret: s, budget: 5s, timeout: 8s") as (redis, origin, a, _):
            def asked():
                return sum(int(line.partition(b"calls=")[2].partition(b",")[0]) for line in
                           redis.command("INFO", "commandstats").splitlines() if line.startswith(b"cmdstat_evalsha"))

            def size(key):  # times of an exact count, members of what is in flight
                return redis.command("STRLEN" if redis.command("TYPE", key) == b"string" else "ZCARD", key)

            def round_of(connections):
                calls, clients = asked(), [Client(a.port) for _ in range(connections)]
                redis.pause()
                try:
                    for client in clients:
                        client.send("GET", "/", {"X-Forwarded-For": "192.0.2.1"})
                    time.sleep(0.1)  # they are read; were one not, it would test less, and still nothing would stay
                    for client in clients:  # a reset: a mere end could be a client that has no more to say
                        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        client.close()
                finally:
                    redis.resume()
                eventually(lambda: asked() > calls, what="the store asked")
                eventually(lambda: all(size(key) == 0 for key in redis.keys()), 10,
                           "nothing counted and nothing in flight")

            round_of(100)
            before = a.descriptors(), a.rss_kib()
            for _ in range(4):
                round_of(100)
            eventually(lambda: a.descriptors() <= before[0], what="the descriptors given back")
            if not SANITIZED:
                self.assertLess(a.rss_kib(), before[1] + 4096)
            self.assertEqual(origin.count(), 0)
            self.assertEqual(get(a), 200)


class Absence(unittest.TestCase):
    def count(self, weir, requests=20):
        return Counter(get(weir) for _ in range(requests))

    def test_each_policy_does_what_its_on_error_says_and_the_store_is_picked_up(self):
        for on_error, expected in (("local", {200: 10, 429: 10}), ("{local: 0.2}", {200: 2, 429: 18}),
                                   ("deny", {503: 20}), ("allow", {200: 20})):
            redis = Redis()
            self.addCleanup(redis.scratch.cleanup)
            with self.subTest(on_error), Origin() as origin, \
                    replica(redis, limited(10, on_error=on_error), origin.port, settings=HASTY) as weir:
                self.assertEqual(self.count(weir), expected)
                with redis:
                    # However long it has been away: within two seconds, and some for a busy machine.
                    eventually(lambda r=redis: r.used_by(2, replicas=1), 5, "weir at the store")
                    eventually(lambda w=weir: get(w) == 200, 5, "the store's count, which begins at none")
                    # Requests that a busy machine answers after their 5 ms are judged as on_error says, and not counted.
                    counted = [0]
                    def counts_to_the_limit(w=weir, r=redis, counted=counted):
                        get(w)
                        counted[0] = sum(r.command("STRLEN", key) for key in r.keys()) // 6  # times of 6 bytes
                        return counted[0] >= 10
                    eventually(counts_to_the_limit, 5, "ten counted by the store")
                    eventually(lambda w=weir: get(w) == 429, 5, "the limit")
                    self.assertEqual(len(redis.keys()), 1)
                    self.assertEqual(redis.command("STRLEN", *redis.keys()), 10 * 6)

    def test_a_wrong_password_is_an_absent_store_until_it_is_right(self):
        with Redis("--requirepass", "other") as redis, Origin() as origin, \
                replica(redis, limited(10), origin.port, settings=HASTY + ", password: mine") as weir:
            self.assertEqual(self.count(weir), {200: 10, 429: 10})
            # Its own client is asked for the password as well: the server is made again with the right one.
            redis.kill()
            redis.options = ("--requirepass", "mine")
            redis.start()
            eventually(lambda: get(weir) == 200, 5, "the store's count, which begins at none")


class Operations(unittest.TestCase):
    def load(self, weir, app, seconds=100):
        return Load("--target", f"127.0.0.1:{weir.port}", "--backend", f"127.0.0.1:{app}", "--conns", 32, "--seconds",
                    seconds, "--addresses", 500)

    def test_sigterm_under_load_fails_no_request(self):
        app = free_port()
        with Redis() as redis, replica(redis, NEVER, app, settings=HASTY,
                                       extra="drain: {delay: 1s, timeout: 10s}\n") as weir:
            with self.load(weir, app) as load:
                eventually(lambda: served(weir) > 1000, 60, "load")
                weir.signal(signal.SIGTERM)
                eventually(lambda: weir.health("/readyz").status == 503, 3, "readiness withdrawn")
                result = load.stop()
            self.assertEqual(result["errors"], 0, result)
            self.assertEqual(weir.process.wait(20), 0, weir.log())

    def test_reloads_while_requests_wait_for_the_store(self):
        app = free_port()
        with Redis() as redis, replica(redis, NEVER, app, settings="secret: s, budget: 5s, timeout: 8s") as weir:
            with self.load(weir, app) as load:
                eventually(lambda: served(weir) > 500, 60, "load")
                for number in range(10):
                    redis.pause()
                    before = served(weir)
                    time.sleep(0.02)  # all 32 are waiting by now, or will be when the policies change
                    weir.write(limited(10**6 + number % 2, window="10m"))
                    status, report = weir.reload()
                    redis.resume()
                    self.assertEqual(status, 200, report)
                    eventually(lambda old=before: served(weir) > old + 100, 20, "service after the reload")
                result = load.stop()
            self.assertEqual(result["errors"], 0, result)
            self.assertEqual(result["status"]["2xx"], result["answered"], result)
            self.assertEqual(result["reconnects"], 0, result)


if __name__ == "__main__":
    unittest.main()
