"""What is judged is what the app gets, however a client spells the path; and paths that concern no policy pass."""

import json
import random
import unittest
from urllib.parse import unquote_to_bytes

from http_client import Client, once
from origin import Origin
from weir_process import Weir, eventually

EVENTS = """
events:
  graphql: {match: '* /graphql/*'}
  graphql_root: {match: '* /graphql'}
  login: {match: 'POST /api/login'}
policies:
"""


def limit(name, watch, rung="{over: 2, do: deny}", more=""):
    return f"  - {{name: {name}, watch: {watch}, window: 1m, then: [{rung}]{more}}}\n"


REFUSING = EVENTS + limit("graphql", "[graphql, graphql_root]", "{over: 0, do: deny}") + limit("login", "login")
FLAGGING = EVENTS + limit("login", "login", "{over: 0, do: flag}")


class Paths(unittest.TestCase):
    def ask(self, weir, path, method="GET"):
        return once(weir.port, method, path).status

    def test_what_is_judged_is_what_the_app_gets(self):
        rows = [  # path, status, what the app gets
            ("/graphql/..", 200, "/"),
            ("/graphql/%2e%2e", 200, "/"),
            ("/graphql/%2E%2e/", 200, "/"),
            ("/x/../graphql", 429, None),
            ("/%2e%2e/graphql", 429, None),
            ("/graphql/./x/", 429, None),
            ("/graphql;a=1", 429, None),
            ("//graphql", 429, None),
            ("/gr%61phql", 429, None),
            ("/graphql/..;/x", 400, None),          # an app without parameters runs /graphql/*
            ("/graphql%2fx", 400, None),
            ("/graphql%5cx", 400, None),
            ("/x/..%2fgraphql", 400, None),
            ("/x%2f%2f..%2fgraphql", 400, None),    # an app that merges slashes first runs /graphql
            ("/graphql%0a", 400, None),
            ("/graphql%c0%afx", 400, None),
            ("/graphql%ff", 400, None),
            ("/%00", 400, None),
            ("/%zz", 400, None),
            ("/@babel%2fcore", 200, "/@babel%2Fcore"),
            ("/api/queues/%2F/q?a=%2f", 200, "/api/queues/%2F/q?a=%2f"),
            ("/%c4%e3%ba%c3", 200, "/%C4%E3%BA%C3"),
            ("/a%0ab", 200, "/a%0Ab"),
            ("/a//b/", 200, "/a//b/"),               # the app's own affair
            ("/a;v=1/b.", 200, "/a;v=1/b."),
            ("/A/./B%41?q=/../x", 200, "/A/BA?q=/../x"),
        ]
        with Origin() as origin, Weir(REFUSING, origin.port) as weir:
            for path, status, arrives in rows:
                with self.subTest(path=path):
                    before = len(origin.requests)
                    self.assertEqual(self.ask(weir, path), status)
                    self.assertEqual([r.path for r in origin.requests[before:]], [arrives] if arrives else [])

    def test_where_no_policy_can_refuse_every_path_passes(self):
        odd = ["/api%2flogin", "/api/login%0a", "/%ff", "/a%5cb", "/x/..%2fapi/login", "/graphql/..;/x"]
        for policies in (FLAGGING, "policies: []\n",
                         EVENTS + limit("login", "login", "{over: 0, do: deny}", ", mode: shadow")):
            with Origin() as origin, Weir(policies, origin.port) as weir:
                for path in odd:
                    with self.subTest(path=path):
                        self.assertEqual(self.ask(weir, path, "POST"), 200)

    def test_a_policy_on_every_request_is_strict_everywhere_unless_told(self):
        everywhere = "policies:\n" + limit("all", "request", "{over: 100, do: deny}")
        with Origin() as origin, Weir(everywhere, origin.port) as weir:
            self.assertEqual([self.ask(weir, p) for p in ("/@babel%2fcore", "/%c4%e3", "/ok")], [400, 400, 200])
        keep = "path: {encoded_slash: keep, other_escapes: keep}"
        with Origin() as origin, Weir(everywhere, origin.port, proxy=keep) as weir:
            self.assertEqual([self.ask(weir, p) for p in ("/@babel%2fcore", "/%c4%e3", "/a%0a")], [200] * 3)
            self.assertEqual(self.ask(weir, "/%00"), 400)
        with Origin() as origin, Weir(everywhere, origin.port, proxy="path: {encoded_slash: keep}") as weir:
            self.assertEqual([self.ask(weir, p) for p in ("/@babel%2fcore", "/%c4%e3")], [200, 400])

    def test_a_refusal_for_the_path_says_who_refuses(self):
        with Origin() as origin, Weir(REFUSING, origin.port) as weir, Client(weir.port) as client:
            for _ in range(2):  # the connection stays usable
                self.assertEqual(client.request("GET", "/graphql%2fx").status, 400)
            verdicts = eventually(lambda: weir.logged("verdict"), what="the line of the log")
            self.assertEqual({(v["policy"], v["field"], v["status"]) for v in verdicts}, {("graphql", "path", 400)})
            self.assertEqual(weir.metric("weir_verdict_total", 'policy="graphql",action="deny"'), 2)
            status, told = weir.admin("POST", "/v1/explain", {"method": "GET", "url": "/graphql%2fx"})
            self.assertEqual(status, 200, told)
            self.assertIn("path", json.dumps(told))

    def test_shadow_mode_counts_paths_that_it_would_refuse(self):
        shadow = "policies:\n" + limit("all", "request", "{over: 100, do: deny}", ", mode: shadow")
        with Origin() as origin, Weir(shadow, origin.port) as weir:
            self.assertEqual([self.ask(weir, p) for p in ("/@babel%2fcore", "/%c4%e3", "/ok")], [200] * 3)
            self.assertEqual(weir.metric("weir_shadow_total", 'policy="all",action="deny"'), 2)

    def test_kept_paths_are_matched_literally(self):
        policies = ("events: {queue: {match: 'GET /api/queues/{host}/q'}, one: {match: 'GET /api%2Fone'}}\n"
                    "policies:\n" + limit("queue", "queue") + limit("one", "one"))
        with Origin() as origin, Weir(policies, origin.port, proxy="path: {encoded_slash: keep}") as weir:
            self.assertEqual([self.ask(weir, "/api/queues/%2f/q") for _ in range(3)], [200, 200, 429])
            self.assertEqual([self.ask(weir, "/api%2fone") for _ in range(3)], [200, 200, 429])
            self.assertEqual(self.ask(weir, "/api/one"), 200)

    def test_letter_case_as_configured(self):
        policies = "events: {login: {match: POST /Api/login}}\npolicies:\n" + limit("login", "login")
        spellings = ["/api/login", "/API/Login", "/Api/%4cOGIN", "/api/LOGIN/"]
        with Origin() as origin, Weir(policies, origin.port) as weir:
            self.assertEqual([self.ask(weir, p, "POST") for p in spellings], [200] * 4)
        with Origin() as origin, Weir(policies, origin.port, proxy="path: {case: fold}") as weir:
            self.assertEqual([self.ask(weir, p, "POST") for p in spellings], [200, 200, 429, 429])
            # The app may tell letters apart where policies do not: tokens in paths stay as they are.
            self.assertEqual([r.path for r in origin.requests], ["/api/login", "/API/Login"])

    def test_a_parameter_of_a_folded_route_keeps_its_letters(self):
        """The app finds the route without case, and reads the parameter as it is there: the same text as in a body."""
        policies = ("events:\n"
                    "  named: {match: 'POST /api/users/{user}'}\n"
                    "  sent: {match: POST /api/users, fields: {user: body.user}}\n"
                    "policies:\n"
                    "  - {name: user, watch: [named, sent], key: user, window: 1m, then: [{over: 2, do: deny}]}\n")

        def send(weir, name):
            return once(weir.port, "POST", "/api/Users", {"Content-Type": "application/json"},
                        json.dumps({"user": name}).encode()).status

        with Origin() as origin, Weir(policies, origin.port, proxy="path: {case: fold}") as weir:
            self.assertEqual(self.ask(weir, "/API/users/Alice", "POST"), 200)
            self.assertEqual(send(weir, "Alice"), 200)
            self.assertEqual(self.ask(weir, "/api/USERS/%41lice", "POST"), 429)
            self.assertEqual(send(weir, "Alice"), 429)
            self.assertEqual(self.ask(weir, "/api/users/alice", "POST"), 200)  # another user of this app
            self.assertEqual(send(weir, "alice"), 200)
            self.assertEqual(self.ask(weir, "/api/users/alice", "POST"), 429)

    def test_a_key_that_no_request_has_is_named_when_it_is_added(self):
        policies = "lists: {paths: {of: path, kind: gray, effect: deny}, hosts: {of: host, kind: gray, effect: deny}}\npolicies: []\n"
        with Origin() as origin, Weir(policies, origin.port, proxy="path: {case: fold}") as weir:
            for name, key, note in (("paths", "/Secret", 'a path is in lower case (write "/secret")'), ("paths", "/secret", ""),
                                    ("hosts", "Shop.example.", "no request has this key: "), ("hosts", "shop.example", "")):
                status, added = weir.admin("POST", f"/v1/lists/{name}/entries", {"key": [key], "for": "10m"})
                self.assertEqual(status, 201, added)
                self.assertIn(note, added["note"])
                self.assertEqual(bool(note), bool(added["note"]), added)
            self.assertEqual(self.ask(weir, "/SECRET"), 403)

    def test_a_key_that_some_request_has_gets_no_note(self):
        policies = ("events: {a: {match: GET /a, fields: {h: host}}, b: {match: POST /b, fields: {h: body.h}}}\n"
                    "lists: {hs: {of: h, kind: gray, effect: deny}}\npolicies: []\n")
        with Origin() as origin, Weir(policies, origin.port) as weir:
            added = weir.admin("POST", "/v1/lists/hs/entries", {"key": ["Shop.example"], "for": "10m"})[1]
            self.assertEqual(added["note"], "")
            body = json.dumps({"h": "Shop.example"}).encode()
            self.assertEqual(once(weir.port, "POST", "/b", {"Content-Type": "application/json"}, body).status, 403)

    def test_a_reload_changes_how_paths_are_read(self):
        policies = EVENTS + limit("login", "login")
        with Origin() as origin, Weir(policies, origin.port) as weir:
            self.assertEqual(self.ask(weir, "/api%2flogin", "POST"), 400)
            weir.head = weir.head.replace("upstream:", "path: {encoded_slash: keep}, upstream:")
            weir.write(policies)
            self.assertEqual(weir.admin("POST", "/v1/reload", {})[0], 200)
            self.assertEqual(self.ask(weir, "/api%2flogin", "POST"), 200)

    def test_no_spelling_reaches_a_refused_route(self):
        """Against an app that reads paths in the most generous way: it decodes, then resolves, then drops what is no
        UTF-8. Whatever it would run as /graphql must have been refused."""
        seed = random.randrange(1 << 32)
        rng = random.Random(seed)
        pieces = ["/graphql", "/x", "..", "/..", "/.", "%2e", "%2f", "%5c", "\\", ";a", "/;", "%0a", "%ff", "%c0%af",
                  "graphql", "gr%61phql", "/%2e%2e", "//", "%2F..", "%41"]

        def read(path):
            text = unquote_to_bytes(path.split("?")[0]).replace(b"\xc0\xaf", b"/").decode("utf-8", "ignore")
            out = []
            for segment in text.replace("\\", "/").split("/"):
                segment = "".join(c for c in segment if c >= " ")
                if segment == "..":
                    out = out[:-1]
                elif segment not in ("", "."):
                    out.append(segment)
            return out[:1]

        with Origin() as origin, Weir(REFUSING, origin.port) as weir:
            for _ in range(1500):
                path = "/" + "".join(rng.choice(pieces) for _ in range(rng.randrange(1, 6)))
                before = len(origin.requests)
                status = self.ask(weir, path)
                arrived = origin.requests[before:]
                self.assertIn(status, (200, 400, 429), f"{path} (seed {seed})")
                self.assertEqual(len(arrived), int(status == 200), f"{path} (seed {seed})")
                for request in arrived:
                    self.assertNotEqual(read(request.path), ["graphql"], f"{path} arrived as {request.path} (seed {seed})")


if __name__ == "__main__":
    unittest.main()
