"""nginx, HAProxy, Caddy and Traefik ask weir, with the configurations of docs/integrations as they are there."""

import os
import signal
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import peers  # noqa: E402
from http_client import Reader, render  # noqa: E402
from origin import Origin, answer  # noqa: E402
from weir_process import eventually, free_port  # noqa: E402

import socket  # noqa: E402

POLICIES = """
events:
  login: {match: POST /login}
  login_failed: {is: login, when: status == 401}
policies:
  - {name: logins, watch: login, key: ip, window: 10m, then: [{over: 2, do: flag}, {over: 4, do: deny, tell: full}]}
  - {name: agents, watch: request, when: path == "/banned", then: [{if: true, do: deny, status: 403}]}
  - {name: slow, watch: request, when: path == "/slow", key: ip, window: 10m, then: [{over: 3, do: deny}, {over: 0, do: delay, hold: 3s}]}
  - {name: failures, watch: login_failed, key: header.x_account, window: 10m, then: [{over: 2, do: deny}]}
"""


def ask(port, method, path, headers=(), source="127.0.0.1", body=b""):
    with socket.create_connection(("127.0.0.1", port), 10, source_address=(source, 0)) as s:
        s.sendall(render(method, path, list(headers) + [("Connection", "close")], body))
        reader = Reader(method == "HEAD")
        while True:
            data = s.recv(65536)
            found = reader.feed(data)
            if found or not data:
                return found


class Forwarded:
    """The cases, for whichever proxy a class below starts."""

    page = language = None
    marker = ""  # of the page's block, where there are several in that language
    away = 503
    timeout = True  # it waits for weir for a bounded time

    def setUp(self):
        self.exits = []
        self.app = Origin(lambda request: answer(401 if request.path == "/login" else 200))
        self.exits.append(self.app.stop)
        self.weir = peers.DoorWeir(POLICIES, api=f"forward_auth: [{self.caller}]", extra="drain: {delay: 3s, timeout: 5s}\n")
        self.weir.start()
        self.exits.append(self.weir.kill)
        scratch = tempfile.TemporaryDirectory(prefix="weir-peer-")
        self.exits.append(scratch.cleanup)
        self.front = free_port()
        text = peers.placed(peers.block(self.page, self.language, self.marker), weir=self.weir.api_port, app=self.app.port,
                            front=self.front)
        self.peer = type(self).start_peer(scratch.name, text, self.front)
        if self.peer is None:
            self.tearDown()
            self.exits = []
            self.skipTest(f"there is no {self.caller} on this machine: scripts/deps peers")
        self.exits.append(self.peer.stop)

    def tearDown(self):
        for leave in reversed(self.exits):
            leave()

    def seen(self, path):
        return [r for r in self.app.requests if r.path.startswith(path)]

    def login(self, source="127.0.0.1", headers=(), path="/login"):
        return ask(self.front, "POST", path, headers, source)

    def test_passes_then_flags_then_refuses(self):
        codes = [self.login().status for _ in range(6)]
        self.assertEqual(codes, [401] * 4 + [429] * 2)
        verdicts = [r.header("x-weir-verdict") or "" for r in self.seen("/login")]
        self.assertEqual(verdicts, ["", "", "flag", "flag"])
        self.assertIn("logins;value=3;limit=2;window=600", self.seen("/login")[2].header("x-weir-policy"))
        refused = self.login()
        self.assertTrue(int(refused.header("retry-after")) > 0)
        self.assertEqual(self.weir.metric("weir_checks_total", f'door="{self.caller}",result="denied"'), 3)

    def test_403_passes_as_it_is(self):
        self.assertEqual(ask(self.front, "GET", "/banned").status, 403)
        self.assertEqual(ask(self.front, "GET", "/fine").status, 200)

    def test_each_client_has_counts_of_its_own_and_cannot_choose_them(self):
        for _ in range(6):
            self.login("127.0.0.2")
        self.assertEqual(self.login("127.0.0.2", [("X-Forwarded-For", "127.0.0.9")]).status, 429)
        self.assertEqual(self.login("127.0.0.2", [("X-Real-IP", "127.0.0.9"), ("Forwarded", "for=127.0.0.9")]).status, 429)
        self.assertEqual(self.login("127.0.0.3").status, 401)

    def test_fields_of_other_proxies_change_nothing(self):
        lies = [(name, value) for name in ("X-Original-URI", "X-Forwarded-Uri", "X-Original-URL", "X-Rewrite-URL")
                for value in ["/free"]]
        lies += [("X-Original-Method", "GET"), ("X-Forwarded-Method", "GET"), ("X-Forwarded-Host", "free.example")]
        codes = [self.login(headers=lies).status for _ in range(6)]
        self.assertEqual(codes, [401] * 4 + [429] * 2)

    def test_other_spellings_of_a_path_are_one(self):
        for path in ("/login", "//login", "/l%6fgin", "/./login"):
            self.login(path=path)
        self.assertEqual(self.login(path="/a/../login").status, 429)

    def test_a_client_s_own_verdicts_do_not_reach_the_app(self):
        lies = [("X-Weir-Verdict", "trusted"), ("X-Weir-Policy", "none"), ("X-Weir-Score", "-9"), ("X-Weir-Request-Id", "1")]
        self.assertEqual(ask(self.front, "GET", "/fine", lies).status, 200)
        request = self.seen("/fine")[-1]
        for name, _ in lies:
            self.assertIn(request.header(name), (None, ""), name)
        # Many apps take these for the same header.
        for name in ("X_Weir_Verdict", "x-weir_verdict", "X_WEIR-Verdict"):
            self.assertEqual(ask(self.front, "GET", "/fine", [(name, "trusted")]).status, 200)
            self.assertNotIn("trusted", [value for _, value in self.seen("/fine")[-1].headers], name)

    def test_a_client_cannot_keep_weir_s_headers_from_the_app(self):
        for _ in range(2):
            self.login()
        for names in ("X-Weir-Verdict, X-Weir-Request-Id", "x-weir-request-id,x-weir-verdict,close"):
            if self.login(headers=[("X-Account", "carol"), ("Connection", names)]).status == 400:
                continue
            request = self.seen("/login")[-1]
            self.assertEqual(request.header("x-weir-verdict"), "flag", names)
            self.assertTrue(request.header("x-weir-request-id"), names)

    def test_the_app_tells_of_its_answer_by_the_id(self):
        account = [("X-Account", "bob")]
        for n in range(2):
            self.assertEqual(self.login(f"127.0.1.{n + 1}", account).status, 401)
            name = self.seen("/login")[-1].header("x-weir-request-id")
            self.assertEqual(self.weir.tell({"request_id": name, "status": 401}), (200, {"settled": True}))
            self.assertEqual(self.weir.tell({"request_id": name, "status": 401}), (200, {"settled": False}))
        self.assertEqual(self.login("127.0.1.9", account).status, 429)
        self.assertEqual(self.login("127.0.1.9", [("X-Account", "eve")]).status, 401)

    def test_a_delay_ends_within_the_time_of_the_proxy(self):
        if not self.timeout:
            self.skipTest("this proxy waits forever")
        for n in range(3):
            began = time.monotonic()
            self.assertEqual(ask(self.front, "GET", "/slow").status, 429, n)
            self.assertLess(time.monotonic() - began, 1.0)
        value = self.weir.admin("GET", "/v1/counters/slow?key=127.0.0.1")[1]["counters"][0]["value"]
        self.assertEqual(value, 0, "no request has reached the app")
        self.assertEqual(ask(self.front, "GET", "/banned").status, 403, "others are asked about as ever")

    def test_weir_is_away(self):
        self.weir.kill()
        self.assertEqual(ask(self.front, "GET", "/fine").status, self.away)
        self.assertEqual(self.seen("/fine"), [])

    def test_nothing_fails_while_weir_drains(self):
        codes, going = [], True

        def load():
            while going:
                codes.append(ask(self.front, "GET", "/fine").status)

        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads:
            thread.start()
        eventually(lambda: len(codes) > 50, what="some requests")
        self.weir.signal(signal.SIGTERM)
        before = len(codes)
        peers.wait(1)  # a third of the time in which weir continues
        self.assertGreater(len(codes), before)
        self.assertIsNone(self.weir.process.poll())
        going = False
        for thread in threads:
            thread.join()
        self.assertEqual(set(codes), {200})
        self.assertEqual(self.weir.process.wait(20), 0)


class Nginx(Forwarded, unittest.TestCase):
    caller, page, language = "nginx", "nginx.md", "nginx"
    start_peer = staticmethod(peers.nginx)


class Haproxy(Forwarded, unittest.TestCase):
    caller, page, language = "haproxy", "haproxy.md", "haproxy"
    start_peer = staticmethod(peers.haproxy)


class Caddy(Forwarded, unittest.TestCase):
    caller, page, language, away, timeout = "caddy", "caddy.md", "caddy", 502, False
    start_peer = staticmethod(peers.caddy)


class Traefik(Forwarded, unittest.TestCase):
    caller, page, language, away = "traefik", "traefik.md", "yaml", 500
    marker = "forwardAuth:"
    start_peer = staticmethod(peers.traefik)


if __name__ == "__main__":
    unittest.main()
