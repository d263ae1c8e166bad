"""The access log, request ids and latencies, seen from outside."""

import contextlib
import json
import os
import re
import signal
import threading
import time
import unittest

from http_client import Client, once
from origin import Origin, after, answer
from weir_process import ROOT, Weir, eventually

DENY = """
events:
  login: {match: POST /login}
policies:
  - {name: two-a-minute, watch: login, key: ip, window: 1m, then: [{over: 2, do: deny}]}
"""
HEX_ID = re.compile("^[0-9a-f]{32}$")


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.endswith("\n")]


class AccessLog(unittest.TestCase):
    def test_a_line_says_what_became_of_a_request(self):
        with Origin() as app:
            weir = Weir(DENY, app.port)
            log = os.path.join(weir.directory, "access.log")
            weir.head += f"threads: 1\naccess_log: {{path: {log}, fields: [time, request_id, client, peer, method, host, path, query, " \
                         "route, status, bytes_in, bytes_out, head_ms, judge_ms, wait_ms, connect_ms, first_byte_ms, " \
                         "total_ms, verdict, policy, upstream, end, user_agent, referer, trace_id]}\n"
            weir.write(DENY)
            with weir:
                trusted = {"X-Forwarded-For": "203.0.113.7", "X-Request-Id": "from-the-edge.1", "User-Agent": "test/1"}
                first = once(weir.port, "GET", "/items?q=1", trusted)
                for _ in range(3):
                    last = once(weir.port, "POST", "/login", {"X-Forwarded-For": "203.0.113.7"}, b"a=b")
                bad = once(weir.port, "GET", "/%2e%2e/%00")
                rows = eventually(lambda: lines_of(log) if len(lines_of(log)) == 5 else None, what="five lines")
                self.assertEqual(weir.metric("weir_access_log_lines_total", 'result="queued"'), 5)
                self.assertEqual(weir.metric("weir_access_log_lines_total", 'result="lost"'), 0)
                self.assertEqual(os.stat(log).st_mode & 0o777, 0o600)
        get, *posts, malformed = rows
        self.assertEqual(first.header("x-request-id"), "from-the-edge.1")
        self.assertEqual(app.requests[0].header("x-request-id"), "from-the-edge.1")
        self.assertEqual({name: get[name] for name in ("request_id", "client", "peer", "method", "path", "query", "status",
                                                       "verdict", "end", "user_agent")},
                         {"request_id": "from-the-edge.1", "client": "203.0.113.7", "peer": "127.0.0.1", "method": "GET",
                          "path": "/items", "query": "q=1", "status": 200, "verdict": "pass", "end": "complete",
                          "user_agent": "test/1"})
        self.assertEqual(get["upstream"], f"127.0.0.1:{app.port}")
        self.assertLessEqual(get["first_byte_ms"], get["total_ms"])
        self.assertRegex(get["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertNotIn("route", get)
        self.assertEqual([row["route"] for row in posts], ["login"] * 3)
        self.assertEqual([row["status"] for row in posts], [200, 200, 429])
        refused = posts[-1]
        self.assertEqual((refused["verdict"], refused["policy"], refused["end"]), ("deny", "two-a-minute", "refused"))
        self.assertNotIn("upstream", refused)
        self.assertRegex(refused["request_id"], HEX_ID)
        self.assertEqual(last.header("x-request-id"), refused["request_id"])
        self.assertEqual(posts[0]["bytes_in"], posts[1]["bytes_in"])
        self.assertGreater(posts[0]["bytes_in"], 40)
        self.assertEqual((bad.status, malformed["status"], malformed["end"]), (400, 400, "local"))
        self.assertEqual(bad.header("x-request-id"), malformed["request_id"])

    def test_a_request_that_weir_does_not_wait_for_at_its_end(self):
        with Origin(after(10, answer())) as app:
            weir = Weir("", app.port, extra="drain: {delay: 0s, timeout: 1s}\n")
            log = os.path.join(weir.directory, "access.log")
            weir.head += f"access_log: {{path: {log}}}\n"
            weir.write("")
            with weir:
                with Client(weir.port) as client:
                    client.send("GET", "/slow")
                    eventually(lambda: app.count() == 1, what="the request at the app")
                    weir.signal(signal.SIGTERM)
                    self.assertEqual(weir.process.wait(10), 0, weir.log())
                self.assertEqual([line["end"] for line in lines_of(log)], ["drained"])
                self.assertEqual(weir.logged("drain.timeout ended before all requests did")[0]["cut"], 1)

    def test_an_id_of_a_stranger_or_an_odd_one_is_made_anew(self):
        with Origin() as app, Weir("", app.port) as weir:
            for headers in ({"X-Request-Id": "two words"}, [("X-Request-Id", "a"), ("X-Request-Id", "b")],
                            {"X-Request-Id": "x" * 129}, {}):
                got = once(weir.port, "GET", "/", headers).header("x-request-id")
                self.assertRegex(got, HEX_ID)
                self.assertEqual(app.requests[-1].header("x-request-id"), got)
        with Origin(lambda request: answer(headers=[("X-Request-Id", "the-apps-own")])) as app, Weir("", app.port) as weir:
            got = once(weir.port, "GET", "/")
            self.assertEqual([v for n, v in got.headers if n == "x-request-id"], ["the-apps-own"])

    def test_the_verdict_in_the_log_names_the_request(self):
        with Origin() as app, Weir(DENY, app.port) as weir:
            for _ in range(3):
                last = once(weir.port, "POST", "/login")
            line = eventually(lambda: weir.logged("verdict"), what="the verdict")[-1]
            self.assertEqual(line["request_id"], last.header("x-request-id"))

    def test_a_sample_and_always_the_refused_and_the_broken(self):
        def handler(request):
            return {"/500": answer(500), "/cut": (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "close")}.get(
                request.path, answer())
        with Origin(handler) as app:
            weir = Weir("", app.port)
            log = os.path.join(weir.directory, "access.log")
            weir.head += f"access_log: {{path: {log}, sample: 0%, always: [refused, errors]}}\n"
            weir.write(DENY)
            with weir:
                for _ in range(20):
                    once(weir.port, "GET", "/")
                for _ in range(3):
                    once(weir.port, "POST", "/login")
                once(weir.port, "GET", "/500")
                with contextlib.suppress(Exception):
                    once(weir.port, "GET", "/cut")
                rows = eventually(lambda: lines_of(log) if len(lines_of(log)) >= 3 else None, what="three lines")
                self.assertEqual(sorted((row["status"], row["end"]) for row in rows),  # two workers: in any order
                                 [(200, "cut"), (429, "refused"), (500, "complete")])
                # A reload changes what is wanted.
                weir.head = weir.head.replace("sample: 0%", "sample: 100%")
                weir.write(DENY)
                eventually(lambda: weir.logged("reloaded"), what="the reload")
                once(weir.port, "GET", "/after")
                eventually(lambda: [r for r in lines_of(log) if r.get("path") == "/after"], what="the line after the reload")

    def test_logrotate_and_sighup(self):
        with Origin() as app:
            weir = Weir("", app.port)
            log = os.path.join(weir.directory, "access.log")
            weir.head += f"access_log: {{path: {log}}}\n"
            weir.write("")
            with weir:
                once(weir.port, "GET", "/one")
                eventually(lambda: lines_of(log), what="the first line")
                os.rename(log, log + ".1")
                weir.signal(signal.SIGHUP)
                eventually(lambda: os.path.exists(log), what="the new file")
                once(weir.port, "GET", "/two")
                eventually(lambda: [r["path"] for r in lines_of(log)] == ["/two"], what="the line in the new file")
                os.rename(log, log + ".2")  # without a signal
                eventually(lambda: os.path.exists(log), what="the file that nobody announced")
                once(weir.port, "GET", "/three")
                eventually(lambda: [r["path"] for r in lines_of(log)] == ["/three"], what="the third line")
                self.assertEqual([r["path"] for r in lines_of(log + ".1")], ["/one"])
                self.assertEqual([r["path"] for r in lines_of(log + ".2")], ["/two"])

    def test_a_reader_that_stalls_delays_nobody(self):
        with Origin() as app:
            weir = Weir("", app.port)
            pipe = os.path.join(weir.directory, "access.pipe")
            os.mkfifo(pipe)
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            weir.head += f"threads: 1\naccess_log: {{path: {pipe}, fields: [path, user_agent]}}\n"
            weir.write("")
            with weir:
                agent = {"User-Agent": "x" * 120}
                slowest = 0.0
                path = "/" + "p" * 400
                with Client(weir.port) as client:
                    for _ in range(3_000):  # 1.6 MB: more than the pipe and the queue hold
                        began = time.monotonic()
                        self.assertEqual(client.request("GET", path, agent).status, 200)
                        slowest = max(slowest, time.monotonic() - began)
                self.assertLess(slowest, 2.0)
                self.assertEqual(weir.health("/livez").status, 200)
                lost = weir.metric("weir_access_log_lines_total", 'result="lost"')
                self.assertGreater(lost, 0)
                got = []

                def drain():
                    while True:
                        try:
                            piece = os.read(reader, 1 << 16)
                        except BlockingIOError:
                            time.sleep(0.01)
                            continue
                        except OSError:
                            return
                        if not piece:
                            return
                        got.append(piece)
                thread = threading.Thread(target=drain, daemon=True)
                thread.start()
                queued = int(weir.metric("weir_access_log_lines_total", 'result="queued"'))
                eventually(lambda: b"".join(got).count(b"\n") == queued, what="all lines that found room")
                self.assertEqual(queued + lost, 3_000)
                for line in b"".join(got).splitlines():
                    self.assertEqual(json.loads(line)["path"], path)
            thread.join(5)
            os.close(reader)

    def test_a_stalled_reader_does_not_keep_weir_from_ending(self):
        with Origin() as app:
            weir = Weir("", app.port)
            pipe = os.path.join(weir.directory, "access.pipe")
            os.mkfifo(pipe)
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            weir.head += f"access_log: {{path: {pipe}}}\n"
            weir.write("")
            with weir:
                with Client(weir.port) as client:
                    for _ in range(600):
                        client.request("GET", "/" + "p" * 400)
                began = time.monotonic()
                self.assertEqual(weir.stop(), 0)
                self.assertLess(time.monotonic() - began, 6)
            os.close(reader)

    def test_a_log_that_cannot_be_opened_takes_no_app_away_and_is_tried_again(self):
        with Origin() as app:
            weir = Weir("", app.port)
            directory = os.path.join(weir.directory, "later")
            log = os.path.join(directory, "access.log")
            weir.head += f"access_log: {{path: {log}, fields: [path]}}\n"
            weir.write("")
            with weir:
                self.assertTrue(weir.logged("can't open the access log; its lines are lost until the file can be opened"))
                self.assertEqual(once(weir.port, "GET", "/one").status, 200)
                eventually(lambda: weir.metric("weir_access_log_lines_total", 'result="lost"') == 1, what="the lost line")
                os.mkdir(directory)
                eventually(lambda: os.path.exists(log), what="the file")
                once(weir.port, "GET", "/two")
                eventually(lambda: lines_of(log) == [{"path": "/two"}], what="the line")

    def test_a_full_disk_delays_nobody(self):
        with Origin() as app:
            weir = Weir("", app.port)
            weir.head += "access_log: {path: /dev/full}\n"
            weir.write("")
            with weir:
                for _ in range(5):
                    self.assertEqual(once(weir.port, "GET", "/").status, 200)
                eventually(lambda: weir.metric("weir_access_log_lines_total", 'result="lost"') == 5, what="the lost lines")
                line = eventually(lambda: weir.logged("can't write the access log; lines are lost"))[0]
                self.assertIn("No space left", line["error"])

    def test_latencies_by_route_and_of_the_app(self):
        with Origin() as app, Weir(DENY, app.port) as weir:
            for _ in range(3):
                once(weir.port, "POST", "/login")
            once(weir.port, "GET", "/")
            self.assertEqual(weir.metric("weir_request_duration_seconds_count", 'route="login"'), 3)
            self.assertEqual(weir.metric("weir_request_duration_seconds_count", 'route="other"'), 1)
            self.assertEqual(weir.metric("weir_upstream_duration_seconds_count"), 3)


class Page(unittest.TestCase):
    def test_the_cost_on_the_page_is_the_measured_one(self):
        with open(os.path.join(ROOT, "bench/results/access_log.md"), encoding="utf-8") as f:
            measured = {name: float(times) for name, times in re.findall(r"(?m)^(weir-access\S*) +[\d,]+ +([\d.]+) x weir$", f.read())}
        with open(os.path.join(ROOT, "docs/observability.md"), encoding="utf-8") as f:
            said = re.search(r"access_log\.md\)\): 1 % or less with a line for one request in a hundred, (\d+) % with\na line for each", f.read())
        self.assertLess(measured["weir-access-1"], 1.015)
        self.assertEqual(int(said[1]), round(100 * (measured["weir-access"] - 1)))


if __name__ == "__main__":
    unittest.main()
