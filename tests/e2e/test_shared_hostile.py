"""What a peer says in place of Redis, however large or wrong, costs neither memory nor descriptors, and is over when Redis
is there again."""

import unittest
from collections import Counter

from http_client import Client
from redis_site import Site
from resp_peer import WORKS, Peer, dripping, resetting, saying
from weir_process import SANITIZED, eventually

SLOW = 6 if SANITIZED else 1
ROUNDS, PASSES = 20, 5
PIECE = b"x" * 65536


def flood(header, mebibytes):
    """What the header promises, or as much of it as is taken."""
    def answer(s):
        s.sendall(header)
        for _ in range(mebibytes * 16):
            s.sendall(PIECE)
    return answer


HOSTILE = {
    "a string of 2 GB": saying(b"$2147483647\r\n"),
    "and 64 MB of it": flood(b"$2147483647\r\n", 64),
    "an array of 2^31": saying(b"*2147483648\r\n"),
    "an array of 2^32 - 1": saying(b"*4294967295\r\n"),
    "arrays in arrays": saying(b"*1\r\n" * 100_000),
    "wide arrays in wide arrays": saying(b"*262144\r\n" * 6),
    "a line without an end": flood(b"+", 4),
    "garbage": saying(bytes(range(256)) * 64),
    "a string of 1 MB": saying(b"*3\r\n:1\r\n:1\r\n$1048576\r\n" + b"x" * 1048576 + b"\r\n"),
    "200,000 numbers": saying(b"*200000\r\n" + b":1\r\n" * 200_000),
    "one number after the other": flood(b":1\r\n" * 100_000, 0),
    "half an answer": lambda s: resetting(s) if s.sendall(b"*3\r\n:17") is None else None,
    "a byte at a time": dripping(b"*3\r\n:1", 0.001),
}


class Hostile(unittest.TestCase):
    def ask(self, weir, enough):
        """Requests, one after the other, that ask the store until it has been asked `enough`."""
        seen = Counter()
        with Client(weir.port) as client:
            while not enough():
                seen[client.request("GET", "/own/asking").status] += 1
        return seen

    def test_what_a_peer_says_takes_no_memory_and_no_descriptors(self):
        with Site() as site:
            weir = site.weir
            site.redis.kill()

            def rounds(number):
                for name, answer in HOSTILE.items():
                    with Peer(site.redis.port, answer, probe=WORKS) as peer:
                        # It is asked again and again, on a new connection where the last one was given up.
                        seen = self.ask(weir, lambda p=peer, n=number: p.calls >= n)
                    self.assertEqual(set(seen) - {200, 429}, set(), name)

            # Each thread that asks Redis keeps the memory of the largest answer it ever read, and which thread reads
            # which answer is chance. So the first passes may take memory. A leak takes some in every pass.
            def takes_nothing():
                before = weir.descriptors(), weir.rss_kib()
                rounds(ROUNDS)
                eventually(lambda: weir.descriptors() <= before[0], 5 * SLOW, "the descriptors given back")
                taken.append(weir.rss_kib() - before[1])
                # A sanitizer keeps for a while what is freed.
                return SANITIZED or taken[-1] < 2048

            taken = []
            rounds(1)
            self.assertTrue(any(takes_nothing() for _ in range(PASSES)), f"KiB taken by each pass: {taken}")
            site.redis.start()
            with Client(weir.port) as client:
                eventually(lambda: client.request("GET", "/deny/over").status == 200, 2 * SLOW, "a decision of Redis'")
            eventually(site.is_up, 3.2 * SLOW, "operators told that it is over")


if __name__ == "__main__":
    unittest.main()
