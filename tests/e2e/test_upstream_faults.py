"""An app that is down, silent, cutting, closing idle connections, restarting (SECURITY.md, faults)."""

import contextlib
import os
import socket
import threading
import time
import unittest

from http_client import Client, Cut, once
from origin import Origin, answer
from weir_process import Weir, eventually, free_port

TIMEOUTS = "timeouts: {connect: 500ms, answer: 500ms}"


def took(function):
    """(what it gave, seconds)"""
    begin = time.monotonic()
    return function(), time.monotonic() - begin


class Names(unittest.TestCase):
    def test_a_name_that_nobody_knows_is_no_reason_not_to_start(self):
        weir = Weir("", "http://app.invalid:80")
        weir.is_ready = lambda: weir.logged("proxy.upstream does not resolve")
        with weir:
            reply = eventually(lambda: weir.health("/readyz?verbose"))
            self.assertEqual(reply.status, 503)
            self.assertIn(b"can't resolve app.invalid", reply.body)
            self.assertEqual(weir.health("/livez").status, 200)
            reply = once(weir.port, "GET", "/")
            self.assertEqual(reply.status, 503)
            self.assertTrue(reply.header("retry-after"))

    def test_all_addresses_of_a_name_are_tried(self):
        addresses = {item[4][0] for item in socket.getaddrinfo("localhost", 80, type=socket.SOCK_STREAM)}
        if len(addresses) < 2:
            self.skipTest("localhost has one address here")
        with socket.socket(socket.AF_INET6) as listener:  # IPv4 is tried first, and refused
            listener.bind(("::1", 0))
            listener.listen()
            with Weir("", f"http://localhost:{listener.getsockname()[1]}") as weir:
                client = socket.create_connection(("127.0.0.1", weir.port), timeout=5)
                client.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok")
                listener.settimeout(5)
                app, _ = listener.accept()
                self.assertTrue(app.recv(4096).endswith(b"ok"))
                app.close()
                client.close()


class UpstreamFaults(unittest.TestCase):
    def test_refused_is_answered_at_once_and_heals_within_two_seconds(self):
        port = free_port()
        with Weir("", port, proxy=TIMEOUTS) as weir:
            for _ in range(20):
                reply, seconds = took(lambda: once(weir.port, "GET", "/"))
                self.assertIn(reply.status, (502, 503))
                self.assertLess(seconds, 1)
            with Origin(port=port):
                eventually(lambda: once(weir.port, "GET", "/").status == 200, 2, "recovery")

    def test_silent_is_504_at_the_timeout_and_disturbs_nobody_else(self):
        release = threading.Event()
        self.addCleanup(release.set)

        def handler(request):
            if request.path == "/silent":
                release.wait(20)
            return answer()

        with Origin(handler) as origin, Weir("", origin.port, proxy=TIMEOUTS) as weir:
            results = []
            silent = [threading.Thread(target=lambda: results.append(took(lambda: once(weir.port, "GET", "/silent"))))
                      for _ in range(10)]
            for thread in silent:
                thread.start()
            eventually(lambda: origin.counts["GET", "/silent"] == 10, what="silent requests")
            others = [took(lambda: once(weir.port, "GET", "/"))[0].status for _ in range(50)]
            for thread in silent:
                thread.join()
            self.assertEqual(others, [200] * 50)
            self.assertEqual([r.status for r, _ in results], [504] * 10)
            self.assertTrue(all(0.4 <= s < 3 for _, s in results), results)
            self.assertEqual(origin.counts["GET", "/silent"], 10, "a silent request is not sent again")

    def test_a_cut_body_is_cut_for_the_client_too(self):
        bodies = {
            "/length": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
            "/chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            "/inside": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\nhello",
        }
        with Origin(lambda request: (bodies[request.path], "close")) as origin, Weir("", origin.port) as weir:
            for path in bodies:
                with Client(weir.port) as client, self.assertRaises((Cut, ConnectionResetError), msg=path):
                    client.request("GET", path)

    def test_a_cut_head_is_502_and_so_is_nonsense(self):
        heads = {
            "/cut": b"HTTP/1.1 200 OK\r\nContent-Le",
            "/nothing": b"",
            "/nonsense": b"\x16\x03\x01 this is not HTTP\r\n\r\n",
            "/two-lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
            "/signed": b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nab",
            "/overflow": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nab",
            "/nul": b"HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 2\r\n\r\nab",
            "/101": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        }
        with Origin(lambda request: (heads[request.path], "close")) as origin, Weir("", origin.port) as weir:
            for path in heads:
                self.assertEqual(once(weir.port, "GET", path).status, 502, path)
            self.assertEqual(once(weir.port, "POST", "/nothing", {}, b"x").status, 502)
            self.assertEqual(origin.counts["POST", "/nothing"], 1)

    def test_surplus_bytes_never_reach_the_next_client(self):
        surplus = answer(200, b"mine") + answer(200, b"poison")
        replies = [surplus]
        with Origin(lambda request: replies.pop() if replies else answer(200, b"right")) as origin, \
                Weir("", origin.port) as weir:
            self.assertEqual(once(weir.port, "GET", "/").body, b"mine")
            for _ in range(20):
                self.assertEqual(once(weir.port, "GET", "/").body, b"right")

    def test_an_app_that_closes_idle_connections_fails_no_get_and_repeats_no_post(self):
        with Origin() as origin, Weir("", origin.port) as weir, Client(weir.port) as client:
            for number in range(200):
                self.assertEqual(client.request("GET", f"/{number}").status, 200)
                origin.close_idle()
            for number in range(200):
                reply = client.request("POST", f"/post/{number}", {}, b"x")
                self.assertIn(reply.status, (200, 502))
                self.assertLessEqual(origin.counts["POST", f"/post/{number}"], 1)
                if reply.status == 200:
                    self.assertEqual(origin.counts["POST", f"/post/{number}"], 1)
                origin.close_idle()

    def test_a_reused_connection_that_dies_is_retried_for_get_only(self):
        # The app takes each request on a reused connection and closes without a byte of an answer.
        with Origin(lambda request: None if request.reused else answer()) as origin, Weir("", origin.port) as weir, \
                Client(weir.port) as client:
            self.assertEqual(client.request("GET", "/first").status, 200)
            self.assertEqual(client.request("GET", "/again").status, 200)
            self.assertEqual(origin.counts["GET", "/again"], 2)
            # 502 where a pooled connection was taken, 200 where a new one was: never a second copy.
            self.assertIn(client.request("POST", "/post", {}, b"x").status, (200, 502))
            self.assertEqual(origin.counts["POST", "/post"], 1)
            self.assertEqual(client.request("GET", "/more").status, 200)

    def test_a_restart_under_load_fails_no_get(self):
        with Origin() as origin, Weir("", origin.port) as weir:
            wrong, stop = [], threading.Event()

            def ask():
                with Client(weir.port) as client:
                    while not stop.is_set():
                        try:
                            status = client.request("GET", "/").status
                        except (Cut, OSError) as error:
                            status = repr(error)
                        if status != 200:
                            wrong.append(status)
                            return

            threads = [threading.Thread(target=ask) for _ in range(8)]
            for thread in threads:
                thread.start()
            for number in range(30):
                eventually(lambda n=number: origin.count() > 20 * n or wrong, what="load")
                origin.close_idle()
            stop.set()
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [])

    def test_a_stopped_and_started_app_is_found_again_within_two_seconds(self):
        port = free_port()
        with Weir("", port, proxy=TIMEOUTS) as weir:
            for _ in range(3):
                with Origin(port=port):
                    eventually(lambda: once(weir.port, "GET", "/").status == 200, 2, "recovery")
                eventually(lambda: once(weir.port, "GET", "/").status in (502, 503), 2, "the app is seen to be gone")

    def test_a_unix_socket_upstream_is_served(self):
        with Origin() as origin, contextlib.ExitStack() as stack:
            path = f"/tmp/weir-e2e-{os.getpid()}.sock"
            bridge = socket.socket(socket.AF_UNIX)
            stack.callback(bridge.close)
            stack.callback(lambda: os.path.exists(path) and os.remove(path))
            bridge.bind(path)
            bridge.listen(16)

            def serve():
                with contextlib.suppress(OSError):
                    while True:
                        s, _ = bridge.accept()
                        threading.Thread(target=origin.serve, args=(s,), daemon=True).start()

            threading.Thread(target=serve, daemon=True).start()
            weir = stack.enter_context(Weir("", f"unix:{path}"))
            self.assertEqual(once(weir.port, "GET", "/over-unix").status, 200)
            self.assertEqual(origin.counts["GET", "/over-unix"], 1)
            bridge.shutdown(socket.SHUT_RDWR)

    def test_idle_connections_that_the_app_closes_are_noticed_without_a_request(self):
        with Origin() as origin, Weir("", origin.port) as weir:
            once(weir.port, "GET", "/")
            eventually(lambda: len(origin.idle) == 1, what="a pooled connection")
            pid = weir.process.pid
            before = len(os.listdir(f"/proc/{pid}/fd"))
            origin.close_idle()
            eventually(lambda: len(os.listdir(f"/proc/{pid}/fd")) < before, 5, "the descriptor given back")


if __name__ == "__main__":
    unittest.main()
