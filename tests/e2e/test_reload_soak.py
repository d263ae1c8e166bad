"""Reloads every 100 ms while requests of every kind of shared policy are under way, the app drops connections and restarts,
clients hang up and Redis restarts: weir lives, each answer belongs to its request, a denied address never gets through, and
in the end nothing is left open in Redis.

WEIR_SOAK_SECONDS: how long it goes on (`scripts/soak`); the suite has a short version.
WEIR_SOAK_SEED: of the traffic; without it the seed is random. The test prints it.
"""

import contextlib
import os
import random
import threading
import time
import unittest

from http_client import Client, Cut, once, render
from origin import Origin, answer
from redis_process import PortRedis
from weir_process import SANITIZED, Weir, eventually, free_port

SECONDS = float(os.environ.get("WEIR_SOAK_SECONDS", "20" if SANITIZED else "12"))
CLIENTS, WORKERS = 8, 2
RELOAD_EVERY = 0.1
ANSWERS = {200, 401, 403, 429, 502, 503, 504}  # of the app, of the policies, and of a proxy without an app
DENIED = "198.51.100."  # no configuration lets these addresses through
SLOW = 0.35  # the app's slowest answer: some requests are under way over several reloads

EVENTS = """
events:
  act: {match: POST /act, fields: {user: header.x_user, n: int(header.x_n), lon: double(header.x_lon), lat: double(header.x_lat)}}
  failed: {is: act, when: 'status == 401'}
  ok: {is: act, when: 'status == 200'}
  told: {source: {json: true, time: {field: ts, as: millis}}, fields: {user: user}}
"""

DENY = f"""
lists:
  denied: {{of: ip, kind: deny, entries: [{DENIED}0/24]}}"""

LISTS = DENY + """
  office: {of: ip, kind: allow, entries: [10.0.0.0/8]}
  grays: {of: user, kind: gray, share: redis, release: ok}
  bans: {of: ip, kind: deny, share: redis}
"""

# One of each kind. SHARE stands for `share: redis` or for an exchange of counts.
KINDS = """
  - {name: in-flight, watch: act, metric: in_flight, key: ip, SHARE, then: [{over: 50, do: deny}]}
  - {name: count, watch: act, key: ip, window: 10s, SHARE, then: [{over: 1000, do: deny}]}
  - {name: exact, watch: act, key: ip, window: {last: 10s, exact: true}, SHARE, then: [{over: 800, in: 1s, do: deny}, {over: 900, do: flag}]}
  - {name: fixed, watch: act, key: user, window: {every: 10s}, SHARE, then: [{over: 500, do: flag}]}
  - {name: sum, watch: act, metric: sum(n), key: user, window: 10s, SHARE, then: [{over: 3000, do: flag}]}
  - {name: average, watch: act, metric: avg(n), key: user, window: 10s, SHARE, then: [{over: 90, do: flag}]}
  - {name: greatest, watch: act, metric: max(n), key: user, window: 10s, SHARE, then: [{over: 98, do: flag}]}
  - {name: distinct, watch: act, metric: distinct(user), key: ip, window: 10s, SHARE, then: [{over: 8, do: graylist, for: 1s}]}
  - {name: outcome, watch: failed, key: ip, window: 10s, SHARE, then: [{over: 20, do: deny, for: 1s, list: bans}]}
  - {name: outcome-sum, watch: failed, metric: sum(n), key: user, window: 10s, reset: ok, SHARE, then: [{over: 900, do: challenge}]}
  - {name: outcome-distinct, watch: failed, metric: distinct(user), key: ip, window: 10s, SHARE, then: [{over: 9, do: graylist, for: 1s}]}
  - {name: cost, watch: act, metric: sum(int(response.header.x_cost)), reserve: '3', key: user, window: 10s, SHARE, then: [{over: 500, do: deny}]}
  - {name: last, watch: act, metric: last(n), key: user, window: 10s, SHARE, then: [{if: 'value == 7', do: flag}]}
  - {name: near, watch: failed, key: [{near: {lon: lon, lat: lat, radius: 500m}}], window: 10s, SHARE, then: [{over: 40, do: flag}]}
  - {name: leaky, watch: act, key: user, window: {leaky: 20, drain: 50ms}, SHARE, then: [{do: flag}]}
  - {name: cleared, watch: act, key: user, window: 10s, SHARE, then: [{over: 30, do: flag, clear: true}]}
  - {name: compared, watch: act, metrics: {bad: {watch: failed, key: ip, window: 10s}, all: {watch: act, key: ip, window: 10s}}, SHARE, then: [{if: 'bad > 100 && all > 1000', do: flag}]}
  - {name: shadow, mode: shadow, watch: failed, key: ip, window: 10s, SHARE, then: [{over: 5, do: deny, for: 1s}]}
  - {name: grays, watch: failed, key: user, window: 10s, SHARE, then: [{over: 10, do: graylist, for: 1s, list: grays}]}
"""
# Policies that replicas cannot exchange: they ask each time.
PATTERNS = """
  - {name: sequence, sequence: [failed, failed, ok], within: 5s, key: user, share: redis, then: [{do: graylist, for: 1s}]}
  - {name: absence, sequence: [failed, no ok], within: 1s, key: user, share: redis, then: [{do: graylist, for: 1s}]}
  - {name: pair, pair: [ok, failed], within: 1s, key: user, share: redis, then: [{do: graylist, for: 1s}]}
"""


def renamed(kinds, suffix):
    return kinds.replace("{name: ", "{name: " + suffix)


def policies(share, suffix="", window="10s", patterns=PATTERNS):
    kinds = KINDS.replace("SHARE", share).replace("window: 10s", "window: " + window)
    return EVENTS + LISTS + "policies:\n" + renamed(kinds, suffix) + renamed(patterns, suffix)


REDIS, SYNC = "share: redis", "share: {redis: {sync: 100ms}}"
# Each reload takes away counters, lists, patterns or all of them, and some bring back what was there before.
VARIANTS = [
    policies(REDIS),
    policies(SYNC),
    policies(REDIS, suffix="other-"),
    policies(REDIS, window="20s", patterns=""),
    DENY + "\npolicies: []\n",
    policies(SYNC, window="20s"),
    EVENTS + DENY + "\npolicies:\n  - {name: alone, watch: act, key: ip, window: 10s, then: [{over: 100000, do: deny}]}\n",
]


class App:
    """Answers 200 and 401, at once and late, drops connections before, within and after an answer."""

    def __init__(self, seed):
        self.random, self.lock, self.denied = random.Random(seed), threading.Lock(), 0

    def __call__(self, request):
        with self.lock:
            self.denied += (request.header("x-forwarded-for") or "").startswith(DENIED)
            draw, late = self.random.random(), self.random.random()
        if late < 0.3:
            time.sleep(SLOW * late / 0.3)
        if draw < 0.12:
            return None
        if draw < 0.18:
            return b"HTTP/1.1 200 OK\r\nContent-Le", "close"
        if draw < 0.24:
            return b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", "close"
        return answer(401 if draw < 0.6 else 200, b"ok", [("X-Cost", str(int(draw * 10))), ("X-Id", request.header("x-id") or "")])


class Restarting:
    """The app on one port, through its restarts."""

    def __init__(self, app):
        self.app, self.restarts = app, 0
        self.origin = Origin(app)
        self.port = self.origin.port

    def restart(self, away):
        self.origin.kill()
        time.sleep(away)
        self.origin = Origin(self.app, self.port)
        self.restarts += 1

    def close(self):
        self.origin.stop()


class Traffic:
    def __init__(self, weir, seed):
        self.weir, self.seed, self.stopping = weir, seed, False
        self.sent, self.answered = [0] * CLIENTS, [0] * CLIENTS
        self.wrong = []
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(CLIENTS)]

    def run(self, number):
        draw = random.Random(self.seed * 1000 + number)
        while not self.stopping:
            fields = {"X-Forwarded-For": DENIED + "7" if draw.random() < 0.05 else f"192.0.2.{draw.randrange(6)}",
                      "X-User": f"u{draw.randrange(12)}",
                      "X-N": str(draw.randrange(100)), "X-Lon": f"{8 + draw.randrange(50) / 10000}", "X-Lat": "47.4"}
            with contextlib.suppress(OSError, Cut), Client(self.weir.port, 10) as client:
                for _ in range(draw.randrange(1, 6)):
                    how = draw.random()
                    self.sent[number] += 1
                    fields["X-Id"] = f"{number}-{self.sent[number]}"
                    if how < 0.12:  # hangs up, perhaps before the app has it and perhaps after
                        client.send("POST", "/act", fields)
                        time.sleep(draw.random() * 0.05)
                        break
                    if how < 0.18:  # half of a body
                        client.socket.sendall(render("POST", "/act", {**fields, "Content-Length": "9"})[:-4] + b"\r\n\r\nhalf")
                        time.sleep(draw.random() * 0.05)
                        break
                    self.check(fields, client.request("POST", "/act", fields))
                    self.answered[number] += 1

    def check(self, fields, answer):
        """Notes an answer of another request, an unknown status, and a denied address that is not refused."""
        of_app = answer.header("x-id")
        denied = fields["X-Forwarded-For"].startswith(DENIED)
        right = answer.status == 403 if denied else answer.status in ANSWERS
        if not right or of_app not in (None, fields["X-Id"]) or (of_app is None and answer.status in (200, 401)):
            self.wrong.append((dict(fields), answer))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping = True
        for thread in self.threads:
            thread.join()


class Soak(unittest.TestCase):
    def test_reloads_while_everything_is_under_way(self):
        seed = int(os.environ.get("WEIR_SOAK_SEED", random.randrange(10**6)))
        print(f"seed {seed}, {SECONDS:.0f} s", flush=True)
        app = App(seed)
        with PortRedis() as redis, contextlib.closing(Restarting(app)) as origin:
            extra = (f"redis: {{{redis.where}, secret: of these tests, keys: readable, "
                     f"timeout: 1s, budget: 200ms}}\nthreads: {WORKERS}\n"
                     f"reserve: {{wait: 200ms}}\napi: {{listen: 127.0.0.1:{free_port()}}}\n")
            with Weir(VARIANTS[0], origin.port, extra=extra, proxy="timeouts: {answer: 2s}") as weir:
                eventually(lambda: weir.metric("weir_redis_up") == WORKERS, 20, "weir at the store")
                with Traffic(weir, seed) as traffic:
                    self.reload_for(SECONDS, weir, redis, origin, random.Random(seed))
                answered, sent = sum(traffic.answered), sum(traffic.sent)
                print(f"{sent} requests, {answered} answered, "
                      f"{weir.metric('weir_reloads_total', 'result=' + chr(34) + 'ok'):.0f} reloads, "
                      f"{origin.restarts} restarts of the app", flush=True)
                self.assertIsNone(weir.process.poll(), weir.log())
                self.assertGreater(answered, sent // 3)
                self.assertEqual(traffic.wrong[:5], [])
                self.assertEqual(app.denied, 0)
                self.assertGreater(origin.restarts, 0)
                # The last policies are shared ones: so is what is left open.
                eventually(lambda: weir.metric("weir_redis_up") == WORKERS, 20, "weir at the store")
                # Reservations that were lost with a connection end after their lifetime: answer + wait + 1 min.
                eventually(lambda: self.open_in(redis) == [], 90, "the end of all reservations and places")

    def reload_for(self, seconds, weir, redis, origin, draw):
        end, restart = time.monotonic() + seconds, time.monotonic() + seconds / 3
        app_restart = time.monotonic() + 1
        while time.monotonic() < end:
            began = time.monotonic()
            variant = VARIANTS[draw.randrange(len(VARIANTS))]
            weir.write(variant)
            status, report = weir.reload()
            self.assertEqual(status, 200, report)
            if began > app_restart:
                app_restart = began + draw.uniform(0.5, 5)
                origin.restart(draw.random() * 0.3 if draw.random() < 0.5 else 0)
            if began > restart:
                restart = began + max(2.0, seconds / 6)
                redis.kill()
                if draw.random() < 0.5:
                    time.sleep(draw.random() * 0.5)
                redis.start()
            time.sleep(max(0.0, RELOAD_EVERY - (time.monotonic() - began)))
        weir.write(VARIANTS[0])
        self.assertEqual(weir.reload()[0], 200)

    @staticmethod
    def open_in(redis):
        """The keys that hold a reservation or a place in flight that has not ended."""
        now = int(redis.command("TIME")[0]) * 1000
        held = [key for key in redis.keys() if key.endswith(":r")]
        places = [key for key in redis.keys() if key.endswith("}")
                  and redis.command("TYPE", key) == b"zset"
                  and redis.command("ZCOUNT", key, now + 20_000, "+inf")]
        return [key for key in held if redis.command("ZCOUNT", key, now, "+inf")] + places


if __name__ == "__main__":
    unittest.main()
