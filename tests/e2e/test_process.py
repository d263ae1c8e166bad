"""The process under slow and hostile peers: probes, log, drain, state directory, and the room for keys."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from http_client import Cut, once
from origin import Origin, answer
from weir_process import SANITIZED, Weir, eventually, free_port

SLOW = 3 if SANITIZED else 1
STALLED = 72
PROBES = 78


def stalled_clients(port, target, count=STALLED, each=200):
    """Clients that ask again and again, and take no byte of the answers. With small segments the kernel buffers little."""
    ask = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode() * each
    clients = []
    for _ in range(count):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        client.settimeout(5)
        client.connect(("127.0.0.1", port))
        client.setblocking(False)
        with contextlib.suppress(OSError):
            client.send(ask)
        clients.append(client)
    return clients


def probes_answered(weir, count=PROBES):
    answered = 0
    for _ in range(count):
        with contextlib.suppress(OSError, Cut):
            answered += once(weir.health_port, "GET", "/livez", timeout=2 * SLOW,
                             host=f"127.0.0.1:{weir.health_port}").status == 200
    return answered


HALF_SENT = 1_500
READS_BODIES = """
policies:
  - {name: names, watch: request, key: body.name, window: 1m, missing: skip, then: [{over: 100, do: deny}]}
"""


@unittest.skipIf(SANITIZED, "a sanitizer takes much memory for itself")
class Idle(unittest.TestCase):
    def test_what_the_start_needed_is_given_back(self):
        with Origin() as origin, Weir(READS_BODIES, origin.port, extra="limits: {memory: 16MiB}\n") as weir:
            eventually(lambda: weir.rss_kib("VmRSS") < 15_000, 5)
            # All of it comes again where it is used.
            self.assertEqual(once(weir.port, "POST", "/", {"Content-Type": "application/json"}, b'{"name": "a"}').status, 200)
            weir.reload()
            self.assertEqual(once(weir.port, "POST", "/", {"Content-Type": "application/json"}, b'{"name": "a"}').status, 200)


class HalfSentRequests(unittest.TestCase):
    def test_bodies_that_never_end_share_one_budget(self):
        body = b'{"name": "a"}'
        with Origin() as origin, Weir(READS_BODIES, origin.port, extra="limits: {memory: 32MiB, buffers: 8MiB}\n") as weir:
            before = weir.rss_kib()
            half = (f"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n"
                    .encode() + b"[" * 40_000)
            clients = []
            try:
                for number in range(HALF_SENT):
                    client = socket.create_connection(("127.0.0.1", weir.port), timeout=5)
                    clients.append(client)
                    client.sendall(half)
                    if number % 100 == 0:  # everybody else is served meanwhile
                        self.assertEqual(once(weir.port, "POST", "/", {"Content-Type": "application/json"}, body).status, 200)
                self.assertEqual(clients[0].recv(12), b"HTTP/1.1 503")
                self.assertGreater(weir.metric("weir_limit_reached_total", 'limit="buffers"'), 1_000)
                self.assertEqual(weir.metric("weir_connections_failed_total"), 0)
                if not SANITIZED:  # a sanitizer's shadow grows with whatever is touched
                    self.assertLess(weir.rss_kib() - before, (8 + 6) * 1024)
            finally:
                for client in clients:
                    client.close()


class FewDescriptors(unittest.TestCase):
    def test_a_start_with_too_few_says_so(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        for limit in range(10, 25, 2):
            started = Weir("policies: []\n", 9, extra="threads: 2\n")
            command = f'ulimit -n {limit}; exec "{started.binary}" serve --config "{started.config}"'
            ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=20, env=environment)
            self.assertIn(ended.returncode, (4, 5), ended.stderr)
            self.assertRegex(ended.stderr, "(?i)too (few|many) open files")
            self.assertNotIn("a bug in weir", ended.stderr)

    def test_clients_leave_descriptors_for_the_app_doors_and_reloads(self):
        with Origin() as origin:
            weir = Weir("policies: []\n", origin.port)
            self.narrow(weir, 256)
            with weir, contextlib.ExitStack() as clients:
                told = weir.logged("too few open files for limits.connections")
                self.assertEqual([line["open_files"] for line in told], [256])
                answered = []
                for _ in range(300):  # each keeps its connection, and most have used one to the app
                    client = clients.enter_context(socket.create_connection(("127.0.0.1", weir.port), timeout=5))
                    client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                    with contextlib.suppress(OSError):
                        answered.append(client.recv(12))
                        client.sendall(b"GET / HT")  # busy: not one that makes room for the next
                self.assertEqual(answered.count(b"HTTP/1.1 200"), told[0]["connections"])
                self.assertEqual(probes_answered(weir, 20), 20)
                self.assertEqual(weir.admin("POST", "/v1/reload", {})[0], 200)


    def narrow(self, weir, limit):
        """From now on this weir starts with so few open files."""
        narrow = os.path.join(weir.directory, "narrow")
        with open(narrow, "w", encoding="utf-8") as f:
            f.write(f'#!/bin/sh\nulimit -n {limit}\nexec "{weir.binary}" "$@"\n')
        os.chmod(narrow, 0o755)
        weir.binary = narrow

    def test_doors_that_are_all_full_leave_descriptors_for_the_app(self):
        events, grpc = free_port(), free_port()
        gate, waiting, lock = threading.Event(), [], threading.Lock()

        def handler(request):
            if request.path == "/held":
                with lock:
                    waiting.append(request)
                gate.wait(20)
            return answer()

        with Origin(handler) as origin, contextlib.ExitStack() as held:
            weir = Weir("policies: []\n", origin.port,
                        extra=f"threads: 2\napi: {{listen: 127.0.0.1:{events}, ext_authz: {{}}}}\n"
                              f"grpc: {{listen: 127.0.0.1:{grpc}}}\n")
            self.narrow(weir, 256)
            with weir:
                self.assertEqual(weir.logged("too few open files for all doors"), [])
                clients = weir.logged("too few open files for limits.connections")[0]["connections"]

                def hold(port, count, text):
                    for _ in range(count):
                        s = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
                        with contextlib.suppress(OSError):
                            s.sendall(text)

                def open_files():
                    return len(os.listdir(f"/proc/{weir.process.pid}/fd"))
                hold(weir.health_port, 100, b"GET /livez HT")
                hold(weir.admin_port, 100, b"GET /v1/status HT")
                hold(grpc, 100, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
                # Those that name the event API go to it; the others stay with the workers.
                hold(events, 300, f"POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{events}\r\nContent-Length: 9\r\n\r\n".encode())
                hold(events, 100, b"GET /ext_au")
                # Every connection of a client has a request in the app.
                hold(weir.port, clients, b"GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
                eventually(lambda: len(waiting) == clients, what=f"{clients} requests in the app, {open_files()} files")
                self.assertLess(open_files(), 256 - 16)
                weir.write("policies: [{name: a, watch: request, key: ip, window: 1m, then: [{over: 9, do: flag}]}]\n")
                self.assertEqual(weir.admin("POST", "/v1/reload", {})[0], 200)
                self.assertEqual(probes_answered(weir, 20), 20)
                gate.set()

                def is_served():  # not before the first answer has left: until then there is no place
                    with contextlib.suppress(OSError, Cut):
                        return once(weir.port, "GET", "/").status == 200
                    return False
                eventually(is_served, what="a place for a client")

    def test_a_start_says_that_the_doors_do_not_fit(self):
        weir = Weir("policies: []\n", 9, extra="threads: 2\n")
        self.narrow(weir, 100)
        with weir:
            told = weir.logged("too few open files for all doors")
            self.assertEqual([line["open_files"] for line in told], [100])
            needed = told[0]["needed"]
        self.assertGreater(needed, 100)
        weir = Weir("policies: []\n", 9, extra="threads: 2\n")
        self.narrow(weir, needed)
        with weir:
            self.assertEqual(weir.logged("too few open files for all doors"), [])


class OneAddress(unittest.TestCase):
    def test_leaves_connections_for_others(self):
        with Origin() as origin, Weir("", origin.port, extra="limits: {connections: 8}\n") as weir, contextlib.ExitStack() as clients:
            def connect(source):
                client = socket.create_connection(("127.0.0.1", weir.port), timeout=5, source_address=(source, 0))
                clients.enter_context(client)
                client.sendall(b"GET / HT")  # a request has begun: it makes no room
                client.settimeout(0.3)
                try:
                    client.recv(1)
                except TimeoutError:
                    return client
                except ConnectionResetError:
                    pass
                return None  # closed at once
            held = [connect("127.0.0.2") for _ in range(8)]
            # 127.0.0.1 alone is a trusted hop, and spared.
            self.assertEqual([one is not None for one in held[:6]], [True] * 6)
            self.assertEqual(weir.metric("weir_limit_reached_total", 'limit="connections_per_ip"'), 2)
            self.assertEqual(once(weir.port, "GET", "/").status, 200)


class SlowPeers(unittest.TestCase):
    def test_probes_are_answered_whoever_does_not_read(self):
        with Weir("policies: []\n", free_port()) as weir:
            for port, target in ((weir.health_port, "/metrics"), (weir.health_port, "/readyz?verbose"),
                                 (weir.admin_port, "/v1/status")):
                with self.subTest(target=target):
                    clients = stalled_clients(port, target)
                    try:
                        time.sleep(2)  # until the answers have filled what the kernel buffers
                        self.assertEqual(probes_answered(weir), PROBES)
                        self.assertEqual(weir.admin("GET", "/v1/status")[0], 200)
                    finally:
                        for client in clients:
                            client.close()


class StalledLog(unittest.TestCase):
    """Whoever reads stderr has stopped: a full pipe."""

    def setUp(self):
        self.read_end, self.write_end = os.pipe()
        self.addCleanup(os.close, self.read_end)
        os.set_blocking(self.write_end, False)

    def start(self, weir):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        weir.process = subprocess.Popen([weir.binary, "serve", f"--config={weir.config}"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.write_end,
                                        start_new_session=True, env=environment)
        eventually(lambda: self.is_ready(weir), 20, "readiness")
        # The rest of the pipe is filled, as a reader that has stopped leaves it.
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(self.write_end, b"x" * 512)
        os.set_blocking(self.write_end, True)
        os.close(self.write_end)

    @staticmethod
    def is_ready(weir):
        with contextlib.suppress(OSError, Cut):
            return weir.health("/readyz").status == 200
        return False

    def test_a_reader_of_stderr_that_has_stalled_holds_up_nobody(self):
        policies = "policies:\n  - {name: all, watch: request, key: ip, window: 1h, then: [{over: 0, do: deny}]}\n"
        with Origin() as origin:
            weir = Weir(policies, origin.port, extra="log: {verdicts_per_second: 10000}\n")
            self.addCleanup(weir.scratch.cleanup)
            self.addCleanup(weir.kill)
            self.start(weir)
            for n in range(3000):
                self.assertEqual(once(weir.port, "GET", f"/{'long' * 50}/{n}").status, 429)
            self.assertEqual(probes_answered(weir, 20), 20)
            self.assertEqual(weir.admin("GET", "/v1/status")[0], 200)
            eventually(lambda: weir.metric("weir_log_lost_lines_total", 'reason="stalled"') > 0, 10,
                       "lost lines are counted")
            # A reader that comes back is told how many it has missed.
            os.set_blocking(self.read_end, False)
            text = b""

            def resumed():
                nonlocal text
                with contextlib.suppress(BlockingIOError):
                    text += os.read(self.read_end, 1 << 20)
                return b"log lines were lost" in text
            eventually(resumed, 10, "the line that says so")
            begun = time.monotonic()
            self.assertEqual(weir.stop(10 * SLOW), 0)
            self.assertLess(time.monotonic() - begun, 5 * SLOW)

    def test_it_ends_in_time_with_a_stalled_stderr(self):
        weir = Weir("policies: []\n", free_port(), extra="log: {level: debug}\n")
        self.addCleanup(weir.scratch.cleanup)
        self.addCleanup(weir.kill)
        self.start(weir)
        begun = time.monotonic()
        weir.reload()  # it has something to say
        self.assertEqual(weir.stop(10 * SLOW), 0)
        self.assertLess(time.monotonic() - begun, 5 * SLOW)


class VerdictLines(unittest.TestCase):
    def test_verdict_lines_are_limited_and_what_is_left_out_is_said(self):
        policies = "policies:\n  - {name: all, watch: request, key: ip, window: 1h, then: [{over: 0, do: deny}]}\n"
        with Origin() as origin, Weir(policies, origin.port, extra="log: {verdicts_per_second: 5}\n") as weir:
            begun = time.monotonic()
            sent = 0
            while sent < 400 or time.monotonic() - begun < 2:
                self.assertEqual(once(weir.port, "GET", "/").status, 429)
                sent += 1
            seconds = time.monotonic() - begun
            eventually(lambda: weir.logged("verdicts left out of the log"), 5, "the summary")

            def lines():
                return len([line for line in weir.logged("verdict") if line["message"] == "verdict"])
            self.assertLessEqual(lines(), 5 * (seconds + 2))

            def told():
                return lines() + sum(line["count"] for line in weir.logged("verdicts left out"))
            eventually(lambda: told() == sent, 5, "every verdict is in the log or counted")


class Drain(unittest.TestCase):
    def test_the_delay_counts_from_where_draining_began(self):
        with Weir("policies: []\n", free_port(), extra="drain: {delay: 3s, timeout: 1s}\n") as weir:
            self.assertEqual(weir.admin("POST", "/v1/drain", {"begin": True})[0] // 100, 2)
            time.sleep(2)
            begun = time.monotonic()
            self.assertEqual(weir.stop(20), 0)
            self.assertLess(time.monotonic() - begun, 2.5 * SLOW, "the two seconds before count")

    def test_a_signal_alone_waits_the_whole_delay(self):
        with Weir("policies: []\n", free_port(), extra="drain: {delay: 2s, timeout: 1s}\n") as weir:
            begun = time.monotonic()
            self.assertEqual(weir.stop(20), 0)
            self.assertGreaterEqual(time.monotonic() - begun, 2)


class StateDirectory(unittest.TestCase):
    def test_it_runs_without_a_directory_that_can_not_be_used_and_takes_it_when_it_can(self):
        with tempfile.TemporaryDirectory(prefix="weir-e2e-") as directory:
            missing = os.path.join(directory, "later")
            with Weir("lists:\n  banned: {of: ip, kind: deny}\n", free_port(),
                      extra=f"state: {{dir: {missing}/state}}\n") as weir:
                ready = weir.health("/readyz?verbose")
                self.assertEqual(ready.status, 200)
                self.assertIn(b"[+]state is not written, and lost with the process: state.dir", ready.body)
                self.assertEqual(weir.metric("weir_state_up"), 0)
                self.assertTrue(weir.logged("state.dir can't be used"))
                status, body = weir.admin("POST", "/v1/lists/banned/entries",
                                          {"key": ["203.0.113.9"], "for": "1h", "why": "a test"})
                self.assertEqual(status // 100, 2, body)
                os.mkdir(missing)
                eventually(lambda: b"[+]state ok" in weir.health("/readyz?verbose").body, 10, "the directory is taken")
                eventually(lambda: weir.metric("weir_state_up") == 1, 5, "the metric")
                journal = os.path.join(missing, "state", "lists.journal")

                def written():
                    with contextlib.suppress(FileNotFoundError), open(journal, "rb") as f:
                        return b"203.0.113.9" in f.read()
                    return False
                eventually(written, 5, "what was listed before")
                self.assertTrue(weir.logged("state.dir is written again"))


    def test_no_path_ends_the_start_and_check_says_what_is_wrong(self):
        with tempfile.TemporaryDirectory(prefix="weir-e2e-") as directory:
            there = os.path.join(directory, "file")
            with open(there, "w", encoding="utf-8") as f:
                f.write("no directory")
            os.symlink(os.path.join(directory, "loop"), os.path.join(directory, "loop"))
            os.symlink(os.path.join(directory, "nowhere"), os.path.join(directory, "link"))
            os.makedirs(os.path.join(directory, "taken", "lock"))
            for path, warned in (("file", True), ("file/state", True), ("loop", True), ("link", True), ("taken", True),
                                 ("none/of/these", False)):  # without a parent: that of another machine, which may be mounted
                with self.subTest(path=path), Weir("policies: []\n", free_port(),
                                                   extra=f"state: {{dir: {directory}/{path}}}\n") as weir:
                    self.assertIn(b"[+]state is not written", weir.health("/readyz?verbose").body)
                    self.assertEqual(weir.metric("weir_state_up"), 0)
                    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
                    ended = subprocess.run([weir.binary, "check", "--strict", weir.config], capture_output=True, check=False,
                                           timeout=20, env=environment)
                    self.assertEqual([ended.returncode, b"warning: state.dir: " in ended.stdout + ended.stderr],
                                     [3, True] if warned else [0, False], ended.stdout)


class RoomForKeys(unittest.TestCase):
    def test_a_policy_that_flags_does_not_lift_one_that_refuses(self):
        """One request per key of a policy that flags alone; then new addresses meet the other policy's limit."""
        policies = """
events:
  login: {match: "POST /login"}
policies:
  - {name: flags, watch: request, key: header.x_key, window: 1h, then: [{over: 0, do: flag}]}
  - {name: login, watch: login, key: ip, window: 1h, then: [{over: 5, do: deny}]}
"""
        with Origin() as origin, Weir(policies, origin.port, extra="limits: {keys: 1000, memory: 4MiB}\n") as weir:
            for n in range(4000):
                once(weir.port, "GET", "/", {"X-Key": f"key-{n}", "X-Forwarded-For": "198.51.100.1"})
            lifted = 0
            for n in range(10):
                answers = [once(weir.port, "POST", "/login", {"X-Forwarded-For": f"203.0.113.{n}"}).status
                           for _ in range(10)]
                lifted += answers != [200] * 5 + [429] * 5
            self.assertEqual(lifted, 0, "addresses that the limit did not hold")


class ForeignText(unittest.TestCase):
    def test_ctl_prints_no_control_or_hidden_character(self):
        why = "a\u202eb\u0085c\u200bd\u2066e\ufefff\u009bg"
        with Weir("lists:\n  banned: {of: ip, kind: deny}\n", free_port()) as weir:
            status, body = weir.admin("POST", "/v1/lists/banned/entries",
                                      {"key": ["203.0.113.9"], "for": "1h", "why": why})
            self.assertEqual(status // 100, 2, body)
            for output in ("human", "json"):
                for command in (["list", "banned"], ["list", "no\u202esuch\u009b"]):
                    ended = subprocess.run([weir.binary, "-o", output, "ctl", "--admin", f"127.0.0.1:{weir.admin_port}",
                                            *command], capture_output=True, check=False, timeout=20)
                    text = (ended.stdout + ended.stderr).decode()
                    for hidden in "\u202e\u0085\u200b\u2066\ufeff\u009b":
                        self.assertNotIn(hidden, text, (output, command, json.dumps(text)))


if __name__ == "__main__":
    unittest.main()
