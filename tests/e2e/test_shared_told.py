"""While Redis is unavailable, operators are told so and why, all the time: by `/readyz?verbose`, `/v1/status`, `weir_redis_up`
and one line of the log"""

import time
import unittest

from redis_site import Site
from store_faults import ALL
from weir_process import SANITIZED, eventually

SLOW = 4 if SANITIZED else 1


class Told(unittest.TestCase):
    def is_resumed(self, *names):
        for name in names:
            with self.subTest(name):
                self.one(ALL[name])

    def one(self, fault):
        with Site(*fault.options) as site:
            # Before any request: a key that is counted already needs fewer commands, and some faults spare those.
            fault.begin(site)
            # All the time: without requests, no fault begins or ends.
            with site.requests("/deny/asking"):
                try:
                    eventually(site.is_down, 3.5 * SLOW, "operators told")
                    end = time.monotonic() + 2.5  # ticks of a second
                    while time.monotonic() < end:
                        self.assertTrue(site.is_down(), "it looks well, and helps nobody")
                        self.assertRegex(site.says(), fault.says)
                        time.sleep(0.05)
                    self.assertEqual(self.lines(site), [1, 0])
                finally:
                    fault.end(site)
                eventually(site.is_up, 4.2 * SLOW, "operators told that it is over")
            eventually(lambda: self.lines(site) == [1, 1], 1 * SLOW, "a line of the log each")
            (line,) = site.weir.logged("Redis is unavailable")
            self.assertRegex(line["why"], fault.says)

    @staticmethod
    def lines(site):
        return [len(site.weir.logged(text)) for text in ("Redis is unavailable", "Redis is available again")]

    def test_what_keeps_the_connection_down(self):
        self.is_resumed("killed", "a new password", "loading")

    def test_what_redis_refuses(self):
        self.is_resumed("out of memory", "can't persist", "not permitted", "a command of the scripts")

    def test_what_a_node_of_others_refuses(self):
        self.is_resumed("without its master", "loading again", "a cluster that is down")

    def test_what_a_server_of_another_kind_says(self):
        self.is_resumed("no script that it keeps", "a node of a Cluster")

    # Faults that leave Redis a connection to greet on.

    def test_what_is_asked_again_until_it_is_too_late(self):
        self.is_resumed("a replica", "busy", "a slot under way")

    def test_what_is_never_answered(self):
        self.is_resumed("silence", "a byte at a time", "late answers")

    def test_what_breaks_the_connection_with_every_call(self):
        self.is_resumed("resets", "garbage")


if __name__ == "__main__":
    unittest.main()
