"""Who Redis is and who we are: TLS through whole processes, names, passwords that rotate under load."""

import contextlib
import os
import unittest

from certificates import Certificates
from http_client import parallel, render
from origin import Origin
from redis_process import PortRedis, Redis
from resp_peer import Peer, saying
from test_shared_counters import PATIENT, get, replica
from weir_process import SANITIZED, Load, Weir, eventually, free_port

SLOW = 6 if SANITIZED else 1
LIMIT = 20
POLICIES = f"""
policies:
  - {{name: shared, watch: request, key: ip, window: {{last: 10m, exact: true}}, share: redis, on_error: {{local: 0.5}},
     then: [{{over: {LIMIT}, do: deny}}]}}
"""


def up(*weirs):
    """With all workers."""
    return all(w.metric("weir_redis_up") == 2 and w.admin("GET", "/v1/status")[1]["redis"]["up"] for w in weirs)


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.certificates = Certificates()

    @classmethod
    def tearDownClass(cls):
        cls.certificates.scratch.cleanup()

    def tls(self, ca="ca.pem", client=True, name=None):
        words = [f"ca: '{self.certificates[ca]}'"]
        if client:
            words += [f"cert: '{self.certificates['client.pem']}'", f"key: '{self.certificates['client.key']}'"]
        if name:
            words.append(f"server_name: {name}")
        return f"tls: {{{', '.join(words)}}}"

    def server(self):
        """Its port speaks TLS alone; its socket is the test's."""
        port = free_port()
        redis = Redis(*self.certificates.of_redis(port))
        redis.port = port
        return redis

    def weir(self, port, app, settings, host="127.0.0.1", policies=POLICIES):
        return Weir(policies, app, extra=f"redis: {{url: 'rediss://{host}:{port}', {settings}}}\nthreads: 2\n")

    def test_two_replicas_over_tls_count_as_one(self):
        with self.server() as redis, Origin() as origin, \
                self.weir(redis.port, origin.port, f"{PATIENT}, {self.tls()}") as a, \
                self.weir(redis.port, origin.port, f"{PATIENT}, {self.tls(name='redis.test')}", "localhost") as b:
            eventually(lambda: up(a, b), 20, "both replicas at the store")
            for n in range(5):
                request = render("GET", "/", {"X-Forwarded-For": f"192.0.2.{n}"})
                statuses = sorted(r.status for r in parallel([a.port, b.port], [request] * 60))
                self.assertEqual(statuses, [200] * LIMIT + [429] * (60 - LIMIT))
            self.assertEqual(origin.count(), 5 * LIMIT)
            self.assertEqual(len(redis.keys()), 5)

    def test_whom_we_do_not_believe_and_who_does_not_believe_us_is_away(self):
        for name, settings, why in (("another CA", self.tls("other.pem"), "TLS: .*certificate"),
                                    ("another name", self.tls(name="evil.test"), "TLS: .*mismatch"),
                                    ("no certificate of ours", self.tls(client=False), "certificate|closed|reset")):
            with self.subTest(name), self.server() as redis, Origin() as origin, \
                    self.weir(redis.port, origin.port, f"{PATIENT}, {settings}") as weir:
                (line,) = eventually(lambda w=weir: w.logged("Redis is unavailable"), 5 * SLOW, "a line of the log")
                self.assertEqual(line["level"], "warn")
                self.assertRegex(line["why"], rf"^127\.0\.0\.1:{redis.port}: .*({why})")
                self.assertRegex(weir.admin("GET", "/v1/status")[1]["redis"]["away"], why)
                self.assertIn(b"redis unavailable", weir.health("/readyz?verbose").body)
                # And its on_error holds: half of the limit, of its own.
                self.assertEqual([get(weir) for _ in range(LIMIT)], [200] * (LIMIT // 2) + [429] * (LIMIT // 2))
                self.assertEqual(redis.keys(), [])

    def test_a_redis_without_tls_is_away_and_the_log_says_so(self):
        with PortRedis() as redis, Origin() as origin, \
                self.weir(redis.port, origin.port, f"secret: s, {self.tls()}") as weir:
            (line,) = eventually(lambda: weir.logged("Redis is unavailable"), 5 * SLOW, "a line of the log")
            self.assertIn("perhaps it speaks no TLS", line["why"])
            self.assertEqual(get(weir), 200)

    def test_the_server_is_told_the_name_that_it_must_prove(self):
        for host, server_name, expected in (("127.0.0.1", "redis.test", "redis.test"), ("localhost", None, "localhost"),
                                            ("localhost", "redis.test", "redis.test"), ("127.0.0.1", None, None)):
            names, port = [], free_port()
            peer = Peer(port, saying(b"-ERR none of the test's business\r\n"),
                        tls=self.certificates.of_a_peer(names.append))
            with self.subTest(f"{host}, {server_name}"), peer, Origin() as origin, \
                    self.weir(port, origin.port, f"{PATIENT}, {self.tls(client=False, name=server_name)}", host) as weir:
                eventually(lambda w=weir: up(w), 10, "weir at the peer")
                self.assertEqual(names, [expected] * peer.connects)
                self.assertGreaterEqual(peer.connects, 2)


class Passwords(unittest.TestCase):
    """`weir`, a user of Redis' ACL, whose password is in a file."""

    POLICIES = """
policies:
  - {name: listed, watch: request, key: ip, window: 10m, share: redis, then: [{over: 1000000, do: graylist, for: 1h}]}
"""
    CONNECTIONS = 4  # of two workers, of shared lists, and of the board of the fleet

    @contextlib.contextmanager
    def running(self, password):
        with Redis() as redis, Origin() as origin:
            redis.command("ACL", "SETUSER", "weir", "on", ">old", "~weir:*", "+@all")
            secret = os.path.join(redis.scratch.name, "password")
            Weir.replace(secret, password + "\n")
            settings = f"secret: s, user: weir, password_file: '{secret}'"
            with replica(redis, self.POLICIES, origin.port, settings=settings, extra="threads: 2\n") as weir:
                yield redis, weir, lambda text: Weir.replace(secret, text + "\n")

    def connections(self, redis):
        """The numbers of those that weir has, each as the user it is to be."""
        lines = [dict(f.partition("=")[::2] for f in line.split(" ")) for line in
                 redis.command("CLIENT", "LIST").decode().splitlines()]
        return {line["id"] for line in lines if line["user"] == "weir"}

    def denied(self, redis):
        return len(redis.command("ACL", "LOG"))

    def rotate(self, weir):
        status, report = weir.reload()
        self.assertEqual(status, 200, report)
        eventually(lambda: weir.logged("new credentials for Redis"), 5, "new credentials")

    def test_a_password_rotates_under_load_and_nobody_notices(self):
        with self.running("old") as (redis, weir, write):
            eventually(lambda: up(weir) and len(self.connections(redis)) == self.CONNECTIONS, 20, "weir at the store")
            load = Load("--target", f"127.0.0.1:{weir.port}", "--conns", 8, "--rate", 300, "--seconds", 100,
                        "--addresses", 50, "--expect", "any")
            with load:
                redis.command("ACL", "SETUSER", "weir", ">new")  # both hold
                write("new")
                before = self.connections(redis)
                self.rotate(weir)
                self.assertEqual(self.connections(redis), before, "open connections are left alone")
                redis.command("ACL", "SETUSER", "weir", "<old")  # open ones stay valid
                redis.command("CLIENT", "KILL", "USER", "weir")
                eventually(lambda: len(self.connections(redis) - before) == self.CONNECTIONS and up(weir), 5 * SLOW,
                           "new connections")
                asked = weir.metric("weir_redis_calls_total")
                eventually(lambda: weir.metric("weir_redis_calls_total") > asked, 5, "the store in use")
                result = load.stop()
            self.assertEqual([result["errors"], result["reconnects"]], [0, 0], result)
            self.assertEqual(result["status"]["2xx"], result["answered"], result)
            self.assertEqual(self.denied(redis), 0, "the old password was never tried again")

    def test_a_password_that_changed_before_the_file_did(self):
        with self.running("old") as (redis, weir, write):
            eventually(lambda: up(weir), 20, "weir at the store")
            redis.command("ACL", "SETUSER", "weir", ">new", "<old")
            redis.command("CLIENT", "KILL", "USER", "weir")
            (line,) = eventually(lambda: weir.logged("Redis is unavailable"), 5 * SLOW, "a line of the log")
            self.assertIn("WRONGPASS", line["why"])
            self.assertNotIn("old", line["why"].split())
            self.assertEqual(get(weir), 200)
            write("new")
            self.rotate(weir)
            eventually(lambda: len(self.connections(redis)) == self.CONNECTIONS, 2 * SLOW, "new connections")
            eventually(lambda: up(weir), 3 * SLOW, "operators told that it is over")

    def test_a_file_that_cannot_be_read_leaves_the_password_as_it_was(self):
        with self.running("old") as (redis, weir, write):
            eventually(lambda: up(weir), 20, "weir at the store")
            write("")
            status, report = weir.reload()
            self.assertEqual(status, 200, report)
            (line,) = eventually(lambda: weir.logged("the credentials of Redis stay"), 5, "a line of the log")
            self.assertIn("redis.password_file", line["why"])
            redis.command("CLIENT", "KILL", "USER", "weir")
            eventually(lambda: len(self.connections(redis)) == self.CONNECTIONS, 2 * SLOW, "new connections, as before")


if __name__ == "__main__":
    unittest.main()
