"""W3C trace context, and spans for a real collector: an HTTP server that speaks OTLP's JSON."""

import http.server
import json
import socket
import threading
import time
import unittest

from http_client import once
from origin import Origin
from weir_process import Weir, eventually

THEIRS = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
UNSAMPLED = THEIRS[:-1] + "0"


class Collector:
    """Takes POST /v1/traces; `status`: what it answers."""

    def __init__(self, status=200):
        collector = self
        self.status, self.bodies, self.lock = status, [], threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with collector.lock:
                    collector.bodies.append((self.path, self.headers["Content-Type"], json.loads(body)))
                self.send_response(collector.status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def spans(self):
        with self.lock:
            return [span for _, _, body in self.bodies for resource in body["resourceSpans"]
                    for scope in resource["scopeSpans"] for span in scope["spans"]]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def attributes(span):
    return {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}


class Tracing(unittest.TestCase):
    def test_without_tracing_the_field_passes_as_it_is(self):
        with Origin() as app, Weir("", app.port) as weir:
            once(weir.port, "GET", "/", {"traceparent": THEIRS, "tracestate": "a=b"})
            once(weir.port, "GET", "/")
            self.assertEqual(app.requests[0].header("traceparent"), THEIRS)
            self.assertEqual(app.requests[0].header("tracestate"), "a=b")
            self.assertIsNone(app.requests[1].header("traceparent"))

    def test_spans_of_a_request_and_its_exchange(self):
        policies = "events: {login: {match: POST /login}}\n" \
                   "policies: [{name: one, watch: login, key: ip, window: 1m, then: [{over: 1, do: deny}]}]\n"
        with Collector() as collector, Origin() as app, \
                Weir(policies, app.port, extra=f"tracing: {{endpoint: 'http://127.0.0.1:{collector.port}', sample: 100%, "
                                               "service: shop}\nthreads: 1\n") as weir:
            once(weir.port, "POST", "/login", {"traceparent": THEIRS, "tracestate": "a=b", "X-Forwarded-For": "203.0.113.7"})
            once(weir.port, "POST", "/login", {"X-Forwarded-For": "203.0.113.7"})
            eventually(lambda: len(collector.spans()) == 3, what="three spans")
            path, kind, body = collector.bodies[0]
            self.assertEqual((path, kind), ("/v1/traces", "application/json"))
            service = body["resourceSpans"][0]["resource"]["attributes"][0]
            self.assertEqual(service, {"key": "service.name", "value": {"stringValue": "shop"}})
            server, client, refused = collector.spans()
            self.assertEqual(server["traceId"], THEIRS[3:35])
            self.assertEqual(server["parentSpanId"], THEIRS[36:52])
            self.assertEqual((server["kind"], client["kind"]), (2, 3))
            self.assertEqual(client["parentSpanId"], server["spanId"])
            self.assertEqual(app.requests[0].header("traceparent"), f"00-{THEIRS[3:35]}-{client['spanId']}-01")
            self.assertEqual(app.requests[0].header("tracestate"), "a=b")
            self.assertEqual(len([1 for n, _ in app.requests[0].headers if n == "traceparent"]), 1)
            self.assertEqual(server["name"], "POST login")
            seen = attributes(server)
            self.assertEqual((seen["http.request.method"], seen["url.path"], seen["http.response.status_code"],
                              seen["client.address"], seen["weir.verdict"]),
                             ("POST", "/login", "200", "203.0.113.7", "pass"))
            for span in (server, client, refused):
                self.assertLessEqual(int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]))
                self.assertRegex(span["spanId"], "^[0-9a-f]{16}$")
            self.assertNotIn("parentSpanId", refused)
            self.assertEqual(attributes(refused)["weir.policy"], "one")
            self.assertEqual(attributes(refused)["http.response.status_code"], "429")
            eventually(lambda: weir.metric("weir_trace_requests_total", 'result="exported"') == 2, what="the count")

    def test_a_trusted_peer_decides_and_a_field_is_made_where_there_is_none(self):
        with Collector() as collector, Origin() as app, \
                Weir("", app.port, extra=f"tracing: {{endpoint: 'http://127.0.0.1:{collector.port}', sample: 0%}}\n") as weir:
            for headers in ({"traceparent": UNSAMPLED}, {}, {"traceparent": "nonsense"},
                            [("traceparent", THEIRS), ("traceparent", THEIRS)], {"traceparent": THEIRS}):
                once(weir.port, "GET", "/", headers)
            sent = [request.header("traceparent") for request in app.requests]
            self.assertTrue(sent[0].startswith(UNSAMPLED[:36]) and sent[0].endswith("-00"), sent[0])
            for made in sent[1:4]:
                self.assertRegex(made, "^00-[0-9a-f]{32}-[0-9a-f]{16}-00$")
                self.assertNotIn(THEIRS[3:35], made)
            self.assertTrue(sent[4].endswith("-01"))
            eventually(lambda: len(collector.spans()) == 2, what="the spans of the one that was sampled")
            self.assertEqual({span["traceId"] for span in collector.spans()}, {THEIRS[3:35]})

    def test_a_collector_that_is_away_costs_its_spans_only(self):
        with Origin() as app, Weir("", app.port, extra="tracing: {endpoint: 'http://127.0.0.1:1', sample: 100%}\n") as weir:
            for _ in range(50):
                self.assertEqual(once(weir.port, "GET", "/").status, 200)
            eventually(lambda: weir.metric("weir_trace_requests_total", 'result="failed"') == 50, 20, "the count")
            self.assertTrue(weir.logged("the collector did not accept spans"))

    def test_a_collector_that_takes_connections_and_answers_nothing_delays_nobody(self):
        with socket.create_server(("127.0.0.1", 0), backlog=64) as silent, Origin() as app, \
                Weir("", app.port, extra=f"tracing: {{endpoint: 'http://127.0.0.1:{silent.getsockname()[1]}', "
                                         "sample: 100%}\nthreads: 1\n") as weir:
            began = time.monotonic()
            for _ in range(1_000):  # more than wait for the collector
                self.assertEqual(once(weir.port, "GET", "/").status, 200)
            self.assertEqual(weir.health("/livez").status, 200)
            eventually(lambda: weir.metric("weir_trace_requests_total", 'result="failed"') > 0, 20, "a failed export")
            self.assertGreater(weir.metric("weir_trace_requests_total", 'result="dropped"'), 0)
            self.assertLess(time.monotonic() - began, 30)
            began = time.monotonic()
            self.assertEqual(weir.stop(), 0)
            self.assertLess(time.monotonic() - began, 8)

    def test_the_state_of_a_trace_that_cannot_be_read_is_not_carried_on(self):
        with Collector() as collector, Origin() as app, \
                Weir("", app.port, extra=f"tracing: {{endpoint: 'http://127.0.0.1:{collector.port}', sample: 0%}}\n") as weir:
            for traceparent in ("nonsense", THEIRS.upper(), "00-" + "0" * 32 + THEIRS[35:], THEIRS + "-00", THEIRS):
                once(weir.port, "GET", "/", {"traceparent": traceparent, "tracestate": "a=b"})
            self.assertEqual([request.header("tracestate") for request in app.requests], [None] * 4 + ["a=b"])
            for request in app.requests:
                self.assertRegex(request.header("traceparent"), "^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$")

    def test_what_a_collector_refuses_is_not_sent_again(self):
        with Collector(400) as collector, Origin() as app, \
                Weir("", app.port, extra=f"tracing: {{endpoint: 'http://127.0.0.1:{collector.port}/otlp/v1/traces', "
                                         "sample: 100%}\n") as weir:
            once(weir.port, "GET", "/")
            eventually(lambda: weir.metric("weir_trace_requests_total", 'result="failed"') == 1, what="the count")
            self.assertEqual([path for path, _, _ in collector.bodies], ["/otlp/v1/traces"])


if __name__ == "__main__":
    unittest.main()
