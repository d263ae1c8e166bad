"""Counters with `share: redis`: two weir processes over one redis-server, which count as one."""

import contextlib
import json
import subprocess
import threading
import time
import unittest

from http_client import Client, once, parallel, press, render
from origin import Origin, after, answer
from redis_process import Redis
from weir_process import Weir, eventually, free_port

# Generous, so that a busy machine never makes them count alone: that is what test_shared_faults looks at.
PATIENT = "budget: 5s, timeout: 8s, secret: of these tests"


def replica(redis, policies, app, *, settings=PATIENT, extra=""):
    api = free_port()
    weir = Weir(policies, app, extra=f"redis: {{{redis.where}, {settings}}}\nreserve: {{wait: 10s}}\n"
                f"api: {{listen: '127.0.0.1:{api}'}}\n{extra or 'drain: {delay: 0s, timeout: 5s}'}\n")
    weir.api = api
    return weir


class Replicas:
    """`with Replicas(...) as (redis, origin, a, b)`"""

    def __init__(self, policies, handler=None, *, settings=PATIENT):
        self.redis = Redis()
        self.policies = policies
        self.origin = Origin(handler) if handler else Origin()
        self.replicas = [replica(self.redis, policies, self.origin.port, settings=settings) for _ in range(2)]
        self.open = None

    def __enter__(self):
        with contextlib.ExitStack() as stack:  # ends the others also where one ends with an error
            for part in (self.redis, self.origin, *self.replicas):
                stack.push(part)
                part.__enter__()
            # Ready is who can serve, with the store or without: here it must be there.
            each = 3 if "for:" in self.policies else 2  # the workers; shared lists have a connection too
            eventually(lambda: self.redis.used_by(2 * each), what="both replicas at the store")
            self.open = stack.pop_all()
        return (self.redis, self.origin, *self.replicas)

    def __exit__(self, *what):
        return self.open.__exit__(*what)


def event(weir, path, **body):
    reply = once(weir.api, "POST", path, {"Content-Type": "application/json"}, json.dumps(body).encode(),
                 host=f"127.0.0.1:{weir.api}")
    if reply.status != 200:
        raise AssertionError(f"{path}: {reply.status} {reply.body}")
    return json.loads(reply.body)


def get(weir, ip="192.0.2.1", path="/"):
    return once(weir.port, "GET", path, {"X-Forwarded-For": ip}).status


class Explained(unittest.TestCase):
    POLICIES = """
events: {login: {match: POST /login, fields: {gold: int(header.x_gold)}}}
policies:
  - {name: shared, watch: login, key: ip, window: 10m, share: redis, then: [{over: 5, do: flag}, {over: 11, do: deny}]}
  - {name: synced, watch: login, key: ip, window: 10m, share: {redis: {sync: 100ms}}, then: [{over: 900, do: flag}]}
  - {name: average, watch: login, key: ip, metric: avg(gold), window: 10m, share: {redis: {sync: 100ms}}, then: [{over: 900, do: flag}]}
  - {name: own, watch: login, key: ip, window: 10m, then: [{over: 900, do: flag}]}
"""

    def explained(self, weir):
        body = json.dumps({"method": "POST", "url": "/login", "ip": "192.0.2.1", "headers": {"X-Gold": "40"}}).encode()
        reply = once(weir.admin_port, "POST", "/v1/explain", {"Content-Type": "application/json"}, body, host=f"127.0.0.1:{weir.admin_port}")
        self.assertEqual(reply.status, 200, reply.body)
        told = json.loads(reply.body)
        return told, {policy["name"]: policy["counters"][0]["value"] for policy in told["policies"]}

    def test_a_request_is_explained_as_all_replicas_count_it(self):
        with Replicas(self.POLICIES) as (redis, _, a, b):
            for weir, gold in ((a, 10), (b, 20)):
                for _ in range(5):
                    once(weir.port, "POST", "/login", {"X-Forwarded-For": "192.0.2.1", "X-Gold": str(gold)})
            for _ in range(2):  # nothing is counted by it
                told, values = eventually(lambda: (lambda got: got if got[1]["synced"] == "11" else None)(self.explained(a)), what="the exchange")
                self.assertEqual(values, {"shared": "11", "synced": "11", "average": "17.272727272727273", "own": "6"})
                self.assertEqual(told["verdict"]["effect"], "flag")
                self.assertNotIn("counted_here_only", told)
            once(b.port, "POST", "/login", {"X-Forwarded-For": "192.0.2.1", "X-Gold": "1"})
            self.assertEqual(self.explained(a)[0]["verdict"]["effect"], "deny")
            redis.kill()
            told, values = self.explained(a)
            self.assertEqual((values["shared"], values["own"]), ("6", "6"))
            self.assertTrue(told["counted_here_only"])


class Limits(unittest.TestCase):
    LIMIT = 50

    def race(self, window, seconds, length):
        """200 connections on both replicas for `seconds`; gives how many were admitted."""
        policies = f"""
policies:
  - {{name: shared, watch: request, key: ip, window: {window}, share: redis, then: [{{over: {self.LIMIT}, do: deny}}]}}
"""
        with Replicas(policies) as (_, origin, a, b):
            request = render("GET", "/", {"X-Forwarded-For": "192.0.2.1"})
            done = press([a.port, b.port], request, 200, seconds)
            self.assertEqual({e.answer.status for e in done}, {200, 429})
            admitted = sorted((e for e in done if e.answer.status == 200), key=lambda e: e.sent)
            self.assertEqual(origin.count(), len(admitted))
            # Somewhere between sent and received each was admitted. So many that surely fell into one window, except for
            # the millisecond that times are cut to, would be one too many.
            for first, e in enumerate(admitted):
                together = sum(other.received < e.sent + length - 0.002 for other in admitted[first:])
                self.assertLessEqual(together, self.LIMIT)
            begin = min(e.sent for e in done)
            self.assertEqual(sum(e.sent < begin + length / 2 for e in admitted), self.LIMIT, "the first window")
            return len(admitted)

    def test_exact_window(self):
        self.assertGreaterEqual(self.race("{last: 1s, exact: true}", 2.5, 1.0), 2 * self.LIMIT)

    def test_ring_of_buckets(self):
        self.assertGreaterEqual(self.race("{last: 1s, buckets: 10}", 2.5, 1.0), 2 * self.LIMIT)

    def test_every_form_of_window_admits_exactly_the_limit(self):
        windows = ["10m", "{last: 10m, exact: true}", "{every: 30d}", "{every: 1h, from: first}",
                   "{calendar: month, tz: Asia/Shanghai}", "{last: 10m, buckets: 600}"]
        policies = "events:\n" + "".join(f"  e{n}: {{match: GET /{n}}}\n" for n in range(len(windows))) + "policies:\n" + \
            "".join(f"  - {{name: p{n}, watch: e{n}, key: ip, window: {w}, share: redis, then: [{{over: 20, do: deny}}]}}\n"
                    for n, w in enumerate(windows))
        with Replicas(policies) as (redis, origin, a, b):
            for n in range(len(windows)):
                replies = parallel([a.port, b.port], [render("GET", f"/{n}", {"X-Forwarded-For": "192.0.2.1"})] * 60)
                self.assertEqual(sorted(r.status for r in replies), [200] * 20 + [429] * 40, windows[n])
                self.assertEqual(origin.counts["GET", f"/{n}"], 20, windows[n])
            self.assertEqual(len(redis.keys()), len(windows))
            for key in redis.keys():
                self.assertGreater(redis.command("PTTL", key), 0, key)

    def test_what_another_policy_refuses_bans_nobody(self):
        policies = """
events: {buy: {match: GET /buy}}
policies:
  - {name: quota, watch: buy, key: ip, window: {every: 12h}, share: redis, then: [{over: 20, do: deny, for: 1h}]}
  - {name: gate, watch: buy, key: ip, window: {last: 10m, exact: true}, share: redis, then: [{over: 7, do: deny}]}
"""
        with Replicas(policies) as (redis, origin, a, b):
            for _ in range(3):
                parallel([a.port, b.port], [render("GET", "/buy", {"X-Forwarded-For": "192.0.2.1"})] * 60)
            self.assertEqual(origin.count(), 7)
            self.assertEqual(a.entries("quota:deny") + b.entries("quota:deny"), [], "7 of 20")

    def test_policies_that_share_are_refused_where_there_is_no_redis(self):
        alone = "policies: [{name: p, watch: request, key: ip, window: 1m, then: [{over: 5, do: deny}]}]\n"
        shared = alone.replace("window:", "share: redis, window:") + "redis: {url: 'redis://127.0.0.1:1', secret: s}\n"
        with Origin() as origin, Weir(alone, origin.port) as weir:
            weir.write(shared)
            status, report = weir.reload()
            self.assertGreaterEqual(status, 400, report)
            self.assertIn('policy "p" needs Redis', json.dumps(report).replace('\\"', '"'))
            weir.write(alone.replace("over: 5", "over: 6"))
            self.assertEqual(weir.reload()[0], 200)

    def test_what_is_near_is_told_by_cells_of_all_replicas(self):
        policies = """
fields: {lat: double(query.lat), lon: double(query.lon)}
policies:
  - {name: crowd, watch: request, key: {near: {lon, lat, radius: 1km}}, window: 10m, share: redis, then: [{over: 9, do: deny}]}
"""
        with Replicas(policies) as (redis, origin, a, b):
            def at(n, lat=0.0):  # in turn on both sides of the 180th meridian, 222 m from each other
                return render("GET", f"/?lat={lat}&lon={'-' if n % 2 else ''}179.999")
            replies = parallel([a.port, b.port], [at(n) for n in range(60)])
            admitted = [r.status for r in replies].count(200)
            self.assertEqual({r.status for r in replies}, {200, 429})
            self.assertLessEqual(admitted, 9)
            self.assertEqual(origin.count(), admitted)
            # In a race for the last places all may have been refused: one after the other gets them.
            for n in range(12):
                parallel([(a if n % 3 else b).port], [at(n)])
            self.assertEqual(origin.count(), 9)
            far = parallel([a.port], [at(0, 0.02)])
            self.assertEqual([r.status for r in far], [200], "2.2 km away")
            self.assertGreaterEqual(len(redis.keys()), 2, "its cells, and the one far away")
            for key in redis.keys():
                self.assertGreater(redis.command("PTTL", key), 0, key)
            target = "/v1/counters/crowd?key=0,179.999"
            status, body = a.admin("GET", target)
            self.assertEqual([status, body["counters"][0]["value"]], [200, 9], body)
            self.assertEqual(a.admin("DELETE", target, {})[0], 200)
            self.assertEqual([r.status for r in parallel([b.port], [at(1)])], [200], "all cells were emptied")


LOGINS = """
events:
  login: {match: POST /api/login, fields: {user: body.username}}
  login_failed: {is: login, when: 'status in [401, 403]'}
  login_ok: {is: login, when: 'status == 200'}
policies:
  - {name: guesses, watch: login_failed, key: user, window: 10m, share: redis, reset: login_ok,
     then: [{over: 5, do: deny, for: 1h, tell: retry}]}
"""


def login(user="alice", ip="192.0.2.1", password="guess"):
    body = json.dumps({"username": user, "password": password}).encode()
    return render("POST", "/api/login", {"Content-Type": "application/json", "X-Forwarded-For": ip}, body)


def by_password(request):
    return answer(200, b"welcome") if b'"right"' in request.body else answer(401, b"no")


class Outcomes(unittest.TestCase):
    def test_of_200_parallel_wrong_logins_five_reach_the_app(self):
        with Replicas(LOGINS, after(0.2, answer(401, b"no"))) as (_, origin, a, b):
            replies = parallel([a.port, b.port], [login(ip=f"192.0.2.{n}") for n in range(200)])
            statuses = [r.status if r else None for r in replies]
            self.assertEqual(origin.count(), 5)
            self.assertEqual(statuses.count(401), 5)
            self.assertEqual(statuses.count(429), 195, set(statuses))
            for weir in (a, b):
                self.assertEqual(parallel(weir.port, [login()])[0].status, 429)
                self.assertEqual(parallel(weir.port, [login("bob")])[0].status, 401)
            self.assertEqual(origin.count(), 7)

    def test_of_twenty_parallel_right_logins_none_is_refused_and_nobody_listed(self):
        with Replicas(LOGINS, after(0.1, answer(200, b"welcome"))) as (_, origin, a, b):
            replies = parallel([a.port, b.port], [login(ip=f"192.0.2.{n}") for n in range(20)])
            self.assertEqual([r.status for r in replies], [200] * 20)
            self.assertEqual(origin.count(), 20)
            self.assertEqual(a.entries("guesses") + b.entries("guesses"), [])

    def test_a_right_login_on_one_replica_forgives_on_the_other(self):
        with Replicas(LOGINS, by_password) as (_, _, a, b):
            def say(weir, password):
                return parallel(weir.port, [login(password=password)])[0].status

            def failed(weir):
                return event(weir, "/v1/query", event="login_failed", user="alice", ip="192.0.2.1")["policies"][0]["value"]

            def settled(weir):
                return weir.admin("GET", "/v1/counters/guesses?key=alice")[1]["counters"][0]["settled"]

            for _ in range(2):
                self.assertEqual([say(w, "wrong") for w in (a, b, a, b)], [401] * 4)
                # A client has its answer before the store has heard of it: what settles later is not forgiven.
                eventually(lambda: settled(b) == 4, what="four settled")
                self.assertEqual(failed(b), 5, "and one more")
                self.assertEqual(say(b, "right"), 200)
                eventually(lambda: failed(a) == 1, what="the account forgiven on the other replica")
            self.assertEqual([say(w, "wrong") for w in (a, b, a, b, a)], [401] * 5)
            eventually(lambda: failed(b) == 6, what="five settled, and one more")
            self.assertEqual([say(w, "wrong") for w in (a, b)], [429] * 2)


class Flights(unittest.TestCase):
    POLICIES = """
policies:
  - {name: at-once, watch: request, key: ip, metric: in_flight, share: redis, then: [{over: 3, do: deny}]}
"""

    def test_requests_under_way_on_both_replicas(self):
        release = threading.Event()
        self.addCleanup(release.set)

        def hold(request):
            if request.path == "/held":
                release.wait(20)
            return answer()

        with Replicas(self.POLICIES, hold) as (_, origin, a, b):
            held = [Client(w.port) for w in (a, a, b)]
            for client in held:
                client.send("GET", "/held", {"X-Forwarded-For": "192.0.2.1"})
            eventually(lambda: origin.count() == 3, what="three requests at the app")
            self.assertEqual([get(a), get(b), get(b, "192.0.2.2")], [429, 429, 200])
            # One whose client leaves keeps its place while the app works on it.
            release.set()
            self.assertEqual([c.receive().status for c in held], [200] * 3)
            eventually(lambda: get(a) == 200 and get(b) == 200, what="places that are free again")
            for client in held:
                client.close()


class Memory(unittest.TestCase):
    def test_clear_empties_the_counter_of_all_replicas(self):
        policies = """
policies:
  - {name: thirds, watch: request, key: ip, window: 10m, share: redis, then: [{at: 3, do: flag, clear: true}]}
"""
        with Replicas(policies) as (_, origin, a, b):
            for weir in (a, b) * 6:
                self.assertEqual(get(weir), 200)
            flags = [r.header("x-weir-verdict") for r in origin.requests]
            self.assertEqual(flags, [None, None, "flag"] * 4)

    def test_events_and_queries_use_the_shared_counters(self):
        policies = """
events:
  reward: {source: {json: true, time: {field: ts, as: millis}}}
policies:
  - {name: gold, watch: reward, key: user, metric: sum(gold), window: {last: 30m, exact: true}, share: redis,
     then: [{over: 100, do: deny}]}
"""
        with Replicas(policies) as (_, _, a, b):
            verdicts = [event(w, "/v1/events", event="reward", user="u1", gold=30, ts=1)["verdict"] for w in (a, b, a, b, a)]
            self.assertEqual(verdicts, ["pass"] * 3 + ["deny"] * 2)
            for weir in (a, b):
                told = event(weir, "/v1/query", event="reward", user="u1", gold=10, ts=1)
                self.assertEqual([told["verdict"], told["policies"][0]["value"]], ["pass", 100])
            lines = b"".join(json.dumps({"event": "reward", "user": f"b{n % 3}", "gold": 30, "ts": 1}).encode() + b"\n"
                             for n in range(300))
            answers = [None, None]

            def tell(n, weir):
                answers[n] = once(weir.api, "POST", "/v1/events", {"Content-Type": "application/x-ndjson"}, lines,
                                  host=f"127.0.0.1:{weir.api}").body.splitlines()

            threads = [threading.Thread(target=tell, args=(n, w)) for n, w in enumerate((a, b))]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            told = [json.loads(line)["verdict"] for part in answers for line in part]
            self.assertEqual([len(told), told.count("pass")], [600, 9])

    def test_the_first_request_of_a_start_is_counted_by_all(self):
        policies = """
policies:
  - {name: p, watch: request, key: ip, window: 1h, share: redis, on_error: deny, then: [{over: 100, do: deny}]}
"""
        with Redis() as redis, Origin() as origin:
            for _ in range(5):
                with replica(redis, policies, origin.port) as weir:
                    self.assertEqual(get(weir), 200, "ready, and its first request is refused for want of Redis")

    def test_operators_see_and_empty_what_all_replicas_have_counted(self):
        policies = """
policies:
  - {name: pages, watch: request, key: [ip, path], window: {last: 10m, exact: true}, share: redis,
     then: [{over: 4, do: deny}, {over: 900, in: 1h, do: deny}]}
"""
        for keys in ("hashed", "readable"):
            with self.subTest(keys), Replicas(policies, settings=PATIENT + f", keys: {keys}") as (redis, _, a, b):
                address = "2001:db8:1:2::3"  # counted by /64
                self.assertEqual([get(w, address, "/a,b") for w in (a, b, a)], [200] * 3)
                target = "/v1/counters/pages?key=2001:db8:1:2::&key=/a,b"
                for weir, here in ((a, 2), (b, 1)):
                    status, body = weir.admin("GET", target)
                    self.assertEqual(status, 200, body)
                    self.assertEqual([(c["from"], c["value"], c["here"]["value"]) for c in body["counters"]],
                                     [("store", 3, here)] * 2)
                    status, body = weir.admin("GET", target + "&from=here")
                    self.assertEqual([(c["from"], c["value"]) for c in body["counters"]], [("here", here)] * 2)
                status, body = a.admin("DELETE", target, {})
                self.assertEqual([status, body["reset"], body["shared"]], [200, 2, True])
                status, body = b.admin("GET", target)
                self.assertEqual([c["value"] for c in body["counters"]], [0, 0])
                self.assertEqual([get(w, address, "/a,b") for w in (a, b, a, b, a, b)], [200] * 4 + [429] * 2)
                redis.kill()
                for method, content in (("GET", None), ("DELETE", {})):
                    begin = time.monotonic()
                    status, body = b.admin(method, target, content)
                    self.assertEqual(status, 504, body)
                    self.assertIn("the shared store has not answered", body["detail"])
                    self.assertLess(time.monotonic() - begin, 5)
                done = subprocess.run([b.binary, "ctl", "--admin", f"127.0.0.1:{b.admin_port}", "counter", "pages",
                                       address, "/a,b"], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
                self.assertIn("the shared store has not answered", done.stderr)

    def test_keys_can_be_read_and_expire(self):
        policies = """
policies:
  - {name: pages, watch: request, key: [ip, path], window: 10s, share: redis, then: [{over: 9, do: deny}]}
"""
        with Replicas(policies, settings=PATIENT + ", keys: readable") as (redis, _, a, b):
            self.assertEqual([get(w, "192.0.2.1", "/a,b") for w in (a, b)], [200] * 2)
            (key,) = redis.keys()
            self.assertRegex(key, r"^weir:[^{}]+:\{192\.0\.2\.1,/a%2Cb\}$")
            self.assertTrue(0 < redis.command("PTTL", key) <= 60_000, redis.command("PTTL", key))


if __name__ == "__main__":
    unittest.main()
