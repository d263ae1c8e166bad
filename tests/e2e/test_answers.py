"""Policies that read the answer's body, whatever the client asks the app to make of it."""

import gzip
import json
import os
import shutil
import socket
import struct
import subprocess
import time
import unittest
import zlib

from http_client import Client, Cut, once
from origin import Origin, answer
from weir_process import ROOT, Weir

USAGE = {"choices": [{"text": "word " * 400}], "usage": {"total_tokens": 50_000}}
JSON = ("Content-Type", "application/json")


def recipe(name, **replaced):
    with open(os.path.join(ROOT, "config", "recipes", name + ".yaml"), encoding="utf-8") as f:
        text = f.read()
    for before, after in replaced.values():
        text = text.replace(before, after)
    return text.replace("weir: 1\n", "", 1)


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


ENCODERS = {"gzip": gzip.compress, "deflate": zlib.compress,
            **({"zstd": zstd} if shutil.which("zstd") else {})}


def app(request, document=USAGE):
    """An app that compresses as it is asked to, as most frameworks do: br first, were it asked for."""
    body = json.dumps(document).encode()
    asked = request.header("accept-encoding") or ""
    if request.header("range"):
        return answer(206, body[:20], [JSON, ("Content-Range", f"bytes 0-19/{len(body)}")])
    if request.header("if-none-match"):
        return b"HTTP/1.1 304 Not Modified\r\n\r\n"
    if "br" in asked:
        return answer(200, b"\x0b\x02\x80{}", [JSON, ("Content-Encoding", "br")])
    for name, encode in ENCODERS.items():
        if name in asked:
            return answer(200, encode(body), [JSON, ("Content-Encoding", name)])
    return answer(200, body, [JSON])


def chat(user="anna", **headers):
    return {"X-User-Id": user, **{n.replace("_", "-"): v for n, v in headers.items()}}


class Quota(unittest.TestCase):
    """The recipe cost_quota: 100,000 tokens a day, 500 reserved for a call."""

    def passed(self, headers, method="POST", handler=app, calls=30, policies=None):
        """How many of `calls` calls of 50,000 tokens reach the app, and what it was asked."""
        with Origin(handler) as origin, Weir(policies or recipe("cost_quota"), origin.port) as weir:
            statuses = [once(weir.port, method, "/v1/chat", headers).status for _ in range(calls)]
            return origin.count(), statuses, origin.requests, weir.metric("weir_answers_unread_total")

    def test_no_coding_that_a_client_asks_for_hides_what_a_call_cost(self):
        for coding in ("gzip", "deflate", "zstd", "br", "gzip, deflate, br, zstd", "*", "br;q=1, identity;q=0"):
            with self.subTest(accept_encoding=coding):
                count, statuses, requests, unread = self.passed(chat(Accept_Encoding=coding))
                self.assertEqual(count, 2, f"Accept-Encoding: {coding}: {statuses}")
                self.assertNotIn("br", requests[0].header("accept-encoding"))
                self.assertEqual(unread, 0)

    def test_neither_a_part_of_the_answer_nor_none_of_it_hides_what_a_call_cost(self):
        policies = recipe("cost_quota", route=("POST /v1/chat", '"* /v1/chat"'))
        for method, headers in (("POST", chat(Range="bytes=0-19")), ("GET", chat(Range="bytes=0-19", If_Range='"x"')),
                                ("GET", chat(If_None_Match="*"))):
            with self.subTest(method=method, headers=headers):
                count, statuses, _, _ = self.passed(headers, method, policies=policies)
                self.assertEqual(count, 2, statuses)
                self.assertEqual(statuses[0], 200, "the whole answer")

    def test_a_call_by_head_costs_the_estimate(self):
        policies = recipe("cost_quota", route=("POST /v1/chat", "GET /v1/chat"), quota=("100000", "1000"))
        for missing in ("skip", "same", "deny"):
            with self.subTest(missing=missing):
                changed = policies.replace("missing: deny", f"missing: {missing}")
                count, statuses, _, unread = self.passed(chat(), "HEAD", calls=5, policies=changed)
                self.assertEqual(count, 2, statuses)
                self.assertEqual(unread, 2)

    def test_what_cannot_be_read_costs_the_estimate_and_is_seen(self):
        # 99,750 is over after 200 estimates of 500: the quota of the recipe, made reachable.
        policies = recipe("cost_quota", quota=("100000", "1000"))
        body = json.dumps(USAGE).encode()
        answers = {
            "an unknown coding": answer(200, b"\x0b\x02\x80{}", [JSON, ("Content-Encoding", "br")]),
            "two codings": answer(200, gzip.compress(gzip.compress(body)), [JSON, ("Content-Encoding", "gzip, gzip")]),
            "a second line": answer(200, gzip.compress(body) + b"tail",
                                    [JSON, ("Content-Encoding", "identity"), ("Content-Encoding", "gzip")]),
            "over limits.body": answer(200, json.dumps({**USAGE, "more": "x" * 70_000}).encode(), [JSON]),
            "a bomb": answer(200, gzip.compress(b'{"usage":' + b" " * 20_000_000 + b"1}"),
                             [JSON, ("Content-Encoding", "gzip")]),
            "a part": answer(206, body[:30], [JSON, ("Content-Range", f"bytes 0-29/{len(body)}")]),
            "broken gzip": answer(200, gzip.compress(body)[:-1] + b"!", [JSON, ("Content-Encoding", "gzip")]),
            "no JSON": answer(200, b"data: {}\n\n", [("Content-Type", "text/event-stream")]),
        }
        for what, reply in answers.items():
            with self.subTest(what):
                count, statuses, _, unread = self.passed(chat(), handler=lambda _, r=reply: r, calls=5, policies=policies)
                self.assertEqual(count, 2, f"{what}: {statuses}")
                self.assertEqual(unread, 2)

    def test_whoever_hangs_up_just_before_the_usage_pays_for_it(self):
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        first, last = b'{"text": "' + b"word " * 2000 + b'",', b'"usage": {"total_tokens": 50000}}'

        def chunk(data):
            return f"{len(data):x}\r\n".encode() + data + b"\r\n"

        def stream(request):
            s = request.stream
            s.sendall(head + chunk(first))
            time.sleep(0.3)  # generating: the client has its text and leaves
            s.sendall(chunk(last) + b"0\r\n\r\n")
            return b""

        with Origin(stream) as origin, Weir(recipe("cost_quota"), origin.port) as weir:
            for _ in range(6):
                with Client(weir.port) as client:
                    client.send("POST", "/v1/chat", chat())
                    got = b""
                    while b"word word" not in got:
                        data = client.socket.recv(4096)
                        if not data:
                            break
                        got += data
                        if b" 429 " in got:
                            break
                    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                time.sleep(0.5)
            self.assertEqual(origin.count(), 2, "two calls of 50,000 tokens are the quota")

    def test_an_app_that_cuts_its_answer_short_has_still_streamed_it(self):
        policies = recipe("cost_quota", quota=("100000", "1000"))
        body = json.dumps(USAGE).encode()
        reply = (f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                 + body[:-10], "close")
        with Origin(lambda _: reply) as origin, Weir(policies, origin.port) as weir:
            for _ in range(5):
                try:
                    once(weir.port, "POST", "/v1/chat", chat())
                except (Cut, ConnectionError):
                    pass
            self.assertEqual(origin.count(), 2)


class Unacceptable(unittest.TestCase):
    """The app did the work, and weir cannot pass its answer on."""

    POLICIES = """
events:
  login: {match: POST /login}
  failed: {is: login, when: status == 401}
policies:
  - {name: guesses, watch: failed, key: ip, window: 10m, then: [{over: 3, do: deny}]}
"""

    def test_a_malformed_answer_is_a_try_and_a_missing_one_is_none(self):
        broken = b"HTTP/1.1 401 No\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nno"
        with Origin(lambda _: broken) as origin, Weir(self.POLICIES, origin.port) as weir:
            statuses = [once(weir.port, "POST", "/login").status for _ in range(6)]
            self.assertEqual(statuses, [502] * 3 + [429] * 3)
        with Origin(lambda _: None) as origin, Weir(self.POLICIES, origin.port) as weir:
            statuses = [once(weir.port, "POST", "/login").status for _ in range(6)]
            self.assertEqual(statuses, [502] * 6, "an app that gives no answer at all releases")


class Decoy(unittest.TestCase):
    """A request whose body is coded is not read as plain text, wherever its head says so."""

    POLICIES = """
events:
  login: {match: POST /login, fields: {user: body.username}}
policies:
  - {name: tries, watch: login, key: user, missing: deny, window: 10m, then: [{over: 5, do: deny}]}
"""

    def test_a_second_content_encoding_line_counts(self):
        # gzip's header holds a file name: as a form this reads `username=r1`, and the app unpacks alice.
        content = b"username=alice"
        with Origin() as origin, Weir(self.POLICIES, origin.port) as weir:
            for n in range(20):
                body = (b"\x1f\x8b\x08\x08\0\0\0\0\0\xff&username=r%d&" % n + b"\0"
                        + zlib.compressobj(wbits=-15).compress(content))
                headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Content-Encoding", "identity"),
                           ("Content-Encoding", "gzip")]
                self.assertEqual(once(weir.port, "POST", "/login", headers, body).status, 415)
            self.assertEqual(origin.count(), 0)


if __name__ == "__main__":
    unittest.main()
