"""Views with `share: redis`: three weirs over one redis-server show the numbers of all three, also after one was killed,
after Redis was away or had forgotten everything, and after a reload."""

import contextlib
import random
import subprocess
import time
import unittest
from collections import Counter

from http_client import Client
from origin import Origin
from redis_process import Redis
from weir_process import Weir, eventually

SETTINGS = "budget: 1s, timeout: 2s, secret: of these tests"
VIEWS = """
fields: {user: header.x_user}
events:
  look: {match: 'GET /items/{item}'}
policies: []
views:
  - {name: best, watch: look, by: item, window: all, top: 10, share: redis}
  - {name: hot, watch: look, by: item, window: {last: 4s, hop: 2s}, top: 10, share: redis}
  - {name: users, watch: look, metric: distinct(user), window: all, share: redis}
  - {name: about, watch: look, metric: distinct(user), method: hll, window: {calendar: day}, share: redis}
  - {name: alone, watch: look, by: item, window: all, top: 10}
"""


def top(counts, most=10):
    """As a view orders rows: the greatest count first, equal ones by their number."""
    rows = sorted(counts.items(), key=lambda row: (-row[1], int(row[0])))
    return [[item, count] for item, count in rows[:most]]


class Site:
    def __init__(self, views=VIEWS, replicas=3):
        self.views = views
        self.random = random.Random(time.time_ns() % 1_000_000)
        self.redis, self.origin = Redis(), Origin()
        self.weirs = [self.replica() for _ in range(replicas)]
        self.counts, self.users = Counter(), set()
        self.open = None

    def replica(self):
        return Weir(self.views, self.origin.port, extra=f"redis: {{{self.redis.where}, {SETTINGS}}}\nthreads: 1\n")

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            for part in (self.redis, self.origin, *self.weirs):
                stack.push(part)
                part.__enter__()
            self.open = stack.pop_all()
        return self

    def __exit__(self, *what):
        return self.open.__exit__(*what)

    def look(self, requests, weirs=None):
        """So many requests, some items much more often than others, each to one of the weirs."""
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(Client(weir.port)) for weir in weirs or self.weirs]
            for _ in range(requests):
                item = str(min(999, int(self.random.paretovariate(0.7))))
                user = f"u{self.random.randrange(200)}"
                answer = self.random.choice(clients).request("GET", f"/items/{item}", {"X-User": user})
                if answer.status != 200:
                    raise AssertionError(answer)
                self.counts[item] += 1
                self.users.add(user)

    @staticmethod
    def view(weir, name):
        status, body = weir.admin("GET", f"/v1/views/{name}")
        if status != 200:
            raise AssertionError(f"{name}: {status} {body}")
        return body

    def is_whole(self, weir, *, silent=0):
        sharing = self.view(weir, "best")["sharing"]
        return sharing["up"] and sharing["silent"] == silent

    def shows_all(self, weir):
        best, users = self.view(weir, "best")["running"], self.view(weir, "users")["running"]
        return (best is not None and best["rows"] == top(self.counts) and best["total"] == sum(self.counts.values())
                and users is not None and users["total"] == len(self.users))


class SharedViews(unittest.TestCase):
    def agree(self, site, weirs, what):
        for weir in weirs:
            try:
                eventually(lambda weir=weir: site.shows_all(weir), 20, what)
            except AssertionError:
                shown = site.view(weir, "best")
                self.assertEqual((shown["running"] or {}).get("rows"), top(site.counts), f"{what}: {shown}\n{weir.log()}")
                self.fail(f"{what}: {site.view(weir, 'users')}")

    def test_the_top_ten_is_that_of_all_replicas(self):
        with Site() as site:
            site.look(900)
            self.agree(site, site.weirs, "at first")
            a, b, c = site.weirs
            answer = site.view(a, "best")
            self.assertEqual(answer["share"], "redis")
            self.assertEqual(answer["running"]["share"], "redis")
            eventually(lambda: site.view(a, "best")["sharing"]["replicas"] == 3, 10, "three replicas")
            sharing = site.view(a, "best")["sharing"]
            self.assertTrue(sharing["whole"], sharing)
            self.assertLess(sharing["age_ms"], 5_000)
            self.assertEqual(sharing["lost"], 0)
            about = site.view(b, "about")["running"]
            self.assertLessEqual(abs(about["total"] - len(site.users)), 0.02 * len(site.users) + 1)
            self.assertEqual(about["total"], site.view(c, "about")["running"]["total"])
            alone = [site.view(weir, "alone") for weir in site.weirs]
            self.assertEqual({each["share"] for each in alone}, {"local"})
            self.assertEqual(sum(each["running"]["total"] for each in alone), sum(site.counts.values()))
            shown = subprocess.run([a.binary, "ctl", "view", "best"], capture_output=True, text=True, timeout=20, check=False,
                                   env={"WEIR_ADMIN_LISTEN": f"127.0.0.1:{a.admin_port}"})
            self.assertIn("of 3 replicas, ", shown.stdout, shown)
            self.assertEqual(a.metric("weir_view_shared_up", 'view="best"'), 1)
            self.assertEqual(a.metric("weir_view_shared_replicas", 'view="best"'), 3)

    def test_windows_that_hop_are_those_of_all_replicas(self):
        with Site() as site:
            eventually(lambda: all(site.is_whole(weir) for weir in site.weirs), 20, "all at Redis")
            site.look(300)
            # Each event is in two windows of four seconds that begin every two.
            def sums():
                answers = [site.view(weir, "hot") for weir in site.weirs]
                return [sum(window["total"] for window in each["windows"]) for each in answers]
            eventually(lambda: sums() == [2 * 300] * 3, 20, "complete windows")
            windows = [site.view(weir, "hot")["windows"] for weir in site.weirs]
            self.assertEqual(windows[0], windows[1])
            self.assertEqual(windows[0], windows[2])
            self.assertTrue(all(window["whole"] for window in windows[0]), windows[0])

    def test_what_a_killed_replica_has_told_remains(self):
        with Site() as site:
            site.look(600)
            self.agree(site, site.weirs, "before the kill")
            a, b, c = site.weirs
            c.kill()
            site.look(300, [a, b])
            self.agree(site, [a, b], "after the kill")
            eventually(lambda: site.is_whole(a, silent=1), 20, "that one is silent is said")
            self.assertFalse(site.view(a, "best")["sharing"]["whole"])
            c.start()  # it has forgotten everything, and hears of it from Redis
            self.agree(site, [a, b, c], "after it came back")
            site.look(300)
            self.agree(site, site.weirs, "and all count on")

    def test_a_last_replica_tells_what_it_counted_before_it_ends(self):
        with Site() as site:
            a, _, c = site.weirs
            eventually(lambda: all(site.is_whole(weir) for weir in site.weirs), 20, "all at Redis")
            site.look(50, [c])
            self.assertEqual(c.stop(), 0)
            self.agree(site, [a], "what was counted in its last second")
            c.start()

    def test_redis_that_hangs_or_forgets_loses_and_doubles_nothing(self):
        for forgets in (False, True):
            with self.subTest(forgets=forgets), Site() as site:
                site.look(300)
                self.agree(site, site.weirs, "before")
                if forgets:
                    site.redis.kill()
                else:
                    site.redis.pause()
                site.look(300)
                for weir in site.weirs:
                    eventually(lambda weir=weir: not site.view(weir, "best")["sharing"]["up"], 20, "that it is away")
                sharing = site.view(site.weirs[0], "best")["sharing"]
                self.assertNotEqual(sharing["why"], "")
                self.assertFalse(site.view(site.weirs[0], "best")["running"]["whole"])
                site.look(300)
                if forgets:
                    site.redis.start()
                else:
                    site.redis.resume()
                self.agree(site, site.weirs, "after it came back")
                site.look(100)
                self.agree(site, site.weirs, "and all count on")
                late = site.weirs[2]
                self.assertEqual(late.stop(), 0)
                late.start()  # it knows nothing but what Redis has
                self.agree(site, site.weirs, "and one that starts again has everything")

    def test_a_reload_counts_on_and_a_restart_of_all_keeps_a_view_without_an_end(self):
        with Site() as site:
            site.look(400)
            self.agree(site, site.weirs, "before")
            for weir in site.weirs:
                weir.write(VIEWS + "  - {name: more, watch: request, window: {every: 1h}}\n")
                status, report = weir.reload()
                self.assertEqual(status, 200, report)
            site.look(200)
            self.agree(site, site.weirs, "after the reload")
            for weir in site.weirs:
                self.assertEqual(weir.stop(), 0)
            for weir in site.weirs:
                weir.start()
            self.agree(site, site.weirs, "after a restart of all")

    def test_without_redis_at_the_start_it_counts_and_says_so(self):
        with Site(replicas=1) as site:
            weir = site.weirs[0]
            weir.stop()
            site.redis.kill()
            weir.start()
            site.look(100)
            answer = site.view(weir, "best")
            self.assertEqual(answer["running"]["rows"], top(site.counts))
            self.assertFalse(answer["running"]["whole"])
            self.assertIsNone(answer["sharing"]["age_ms"])
            site.redis.start()
            eventually(lambda: site.is_whole(weir), 20, "Redis is met")
            self.agree(site, [weir], "its counts are in Redis")
            late = site.replica()
            with late:
                self.agree(site, [late], "and others see them")


if __name__ == "__main__":
    unittest.main()
