"""What must be true during and after any fault of Redis: who does not ask Redis notices nothing, who does gets what
`on_error` says, at once; Redis decides again within two seconds of the fault's end; and nothing of it stays in memory or
open."""

import contextlib
import time
import unittest

from http_client import once
from redis_site import LIMIT, REQUESTS, Site
from store_faults import PLAYED, REAL
from weir_process import SANITIZED, eventually

SLOW = 6 if SANITIZED else 1  # so many times as long

# In milliseconds, of p50 and p99, beside what they were before.
MORE = {"free": (5, 50), "alone": (5, 50), "own": (10, 60), "allow": (10, 60), "deny": (10, 60)}
# A fault slows down every time, a stall of the machine does not.
ATTEMPTS = 6


def slow(before, during):
    """Where it took longer than it may; what the app takes longer by itself is the machine's."""
    def later(route, name):
        return (during[route]["latency_us"][name] - before[route]["latency_us"][name]) / 1000

    return [f"{route}: {name} {later(route, name)} ms more, the app {later('app', name)}; weir's share of a core: "
            f"{during[route]['proxy_busy']}" for route, bounds in MORE.items() for name, more in zip(("p50", "p99"), bounds)
            if later(route, name) > more * SLOW + max(later("app", name), 0)]


class FaultCase(unittest.TestCase):
    def answered(self, seen, passed, refused=0, failed=0):
        self.assertEqual([seen["errors"], seen["reconnects"], seen["status"]["2xx"], seen["status"]["4xx"],
                          seen["status"]["5xx"]], [0, 0, passed, refused, failed], seen)

    def alone(self, seen):
        """Who does not ask Redis, whatever is wrong with it."""
        self.answered(seen["free"], REQUESTS)
        self.answered(seen["alone"], LIMIT, REQUESTS - LIMIT)

    @staticmethod
    def descriptors(site):
        """Descriptors; except for connections to the app, of which there are as many as were busy at once."""
        return site.weir.descriptors(but_to=site.origin.port)

    def goes_through(self, fault):
        with Site(*fault.options) as site:
            before = site.load("before")
            self.alone(before)
            held = self.descriptors(site), site.weir.rss_kib()
            with contextlib.ExitStack() as stack:
                stack.callback(fault.end, site)
                fault.begin(site)
                for attempt in range(ATTEMPTS):
                    during = site.load(f"during-{attempt}")
                    self.alone(during)
                    self.answered(during["own"], LIMIT, REQUESTS - LIMIT)
                    self.answered(during["allow"], REQUESTS)
                    self.answered(during["deny"], 0, 0, REQUESTS)
                    if not slow(before, during):
                        break
                else:
                    self.fail("\n".join(slow(before, during)))
                self.assertEqual(site.weir.health("/readyz").status, 200)
            self.is_over(site, time.monotonic())
            eventually(lambda: self.descriptors(site) <= held[0], 5 * SLOW, "the descriptors given back")
            if not SANITIZED:  # a sanitizer keeps for a while what is freed
                self.assertLess(site.weir.rss_kib(), held[1] + 4096)

    def is_over(self, site, end):
        def says(status):
            return once(site.weir.port, "GET", "/deny/over").status == status

        eventually(lambda: says(200), end + 2 * SLOW - time.monotonic(), "a decision of Redis'")
        eventually(lambda: says(429), 2 * SLOW, "the limit, which Redis has")
        self.assertGreaterEqual(site.counted("/deny/over"), LIMIT)
        # A refusal by a server is reported for two seconds, by a tick of every second.
        eventually(site.is_up, end + 4.2 * SLOW - time.monotonic(), "operators told that it is over")
        eventually(lambda: site.weir.metric("weir_redis_errors_total") > 0, 2 * SLOW, "errors counted")


class RealFaults(FaultCase):
    def test_killed(self):
        self.goes_through(REAL["killed"])

    def test_stopped(self):
        self.goes_through(REAL["stopped"])

    def test_busy_with_a_script(self):
        self.goes_through(REAL["busy"])

    def test_out_of_memory(self):
        self.goes_through(REAL["out of memory"])

    def test_a_replica(self):
        self.goes_through(REAL["a replica"])

    def test_a_replica_without_its_master(self):
        self.goes_through(REAL["without its master"])

    def test_snapshots_fail(self):
        self.goes_through(REAL["can't persist"])

    def test_a_password_that_it_has_not_had_before(self):
        self.goes_through(REAL["a new password"])

    def test_a_user_that_may_not(self):
        self.goes_through(REAL["not permitted"])

    def test_a_command_of_the_scripts_that_is_forbidden(self):
        self.goes_through(REAL["a command of the scripts"])

    def test_keys_of_another_type(self):
        self.goes_through(REAL["wrong types"])


class PlayedFaults(FaultCase):
    def test_loading_from_the_start(self):
        self.goes_through(PLAYED["loading"])

    def test_loading_again(self):
        self.goes_through(PLAYED["loading again"])

    def test_a_cluster_that_is_down(self):
        self.goes_through(PLAYED["a cluster that is down"])

    def test_a_slot_that_is_always_under_way(self):
        self.goes_through(PLAYED["a slot under way"])

    def test_scripts_that_it_never_keeps(self):
        self.goes_through(PLAYED["no script that it keeps"])

    def test_a_node_of_a_cluster(self):
        self.goes_through(PLAYED["a node of a Cluster"])

    def test_resets(self):
        self.goes_through(PLAYED["resets"])

    def test_silence_after_a_good_greeting(self):
        self.goes_through(PLAYED["silence"])

    def test_a_byte_at_a_time(self):
        self.goes_through(PLAYED["a byte at a time"])

    def test_answers_that_are_late(self):
        self.goes_through(PLAYED["late answers"])

    def test_garbage(self):
        self.goes_through(PLAYED["garbage"])

    def test_an_array_of_two_billion(self):
        self.goes_through(PLAYED["an array of 2^31"])

    def test_answers_to_other_questions(self):
        self.goes_through(PLAYED["other answers"])


class Forgetting(FaultCase):
    """Under load, with so large a budget that a busy machine is not a fault."""

    def loses(self, *words):
        """Gives how often that was said to Redis, and what the load saw."""
        with Site(more=", budget: 5s, timeout: 8s") as site:
            with site.requests("/deny/kept", "--requests", 6 * REQUESTS) as load:
                said = 0
                while load.process.poll() is None and said < 8:
                    before = site.weir.metric("weir_responses_total")
                    site.redis.command(*words)
                    said += 1
                    eventually(lambda old=before: load.process.poll() is not None or
                               site.weir.metric("weir_responses_total") > old + 10, what="service")
                seen = load.finish()
            self.assertEqual([seen["errors"], seen["reconnects"], seen["status"]["5xx"]], [0, 0, 0], seen)
            self.assertGreater(said, 1)
            return said, seen["status"]["2xx"]

    def test_its_scripts(self):
        self.assertEqual(self.loses("SCRIPT", "FLUSH")[1], LIMIT)

    def test_its_data(self):
        said, passed = self.loses("FLUSHALL")
        self.assertGreater(passed, LIMIT)
        self.assertLessEqual(passed, LIMIT * (said + 1))


if __name__ == "__main__":
    unittest.main()
