"""The gRPC door of a whole process: health, a Unix socket, ports that are taken, peers that mean harm, the drain."""

import os
import threading
import time
import unittest

from http2_frames import (CALM, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PREFACE, RST_STREAM, SETTINGS, Peer,
                          call_fields, fields, frame)
from weir_process import Weir, eventually, free_port

HEALTH = "/grpc.health.v1.Health/Check"
WATCH = "/grpc.health.v1.Health/Watch"
SERVING, NOT_SERVING, SERVICE_UNKNOWN = b"\x08\x01", b"\x08\x02", b"\x08\x03"


def weir_with(listen, extra=""):
    return Weir("policies: []\n", 1, extra=f"grpc: {{listen: '{listen}'}}\n{extra}")


class GrpcDoor(unittest.TestCase):
    def test_answers_health_on_tcp(self):
        port = free_port()
        with weir_with(f"127.0.0.1:{port}"), Peer(port) as peer:
            self.assertEqual(peer.call(HEALTH), SERVING)
            self.assertEqual(peer.call(HEALTH, b"\n\x15grpc.health.v1.Health"), SERVING)
            self.assertEqual(peer.call(HEALTH, b"\n\x09ratelimit"), SERVING)
            self.assertIsNone(peer.call(HEALTH, b"\n\x04none"))
            self.assertEqual(peer.call(HEALTH), SERVING)

    def test_a_watch_streams_the_status_and_ends_with_the_drain(self):
        port = free_port()
        with weir_with(f"127.0.0.1:{port}", "drain: {delay: 1s, timeout: 60s}\n") as weir, Peer(port) as peer, Peer(port) as other:
            peer.begin(WATCH, b"")
            self.assertEqual(peer.read_to(DATA)[3][5:], SERVING)
            other.begin(WATCH, b"\n\x04none")
            self.assertEqual(other.read_to(DATA)[3][5:], SERVICE_UNKNOWN)
            weir.signal(15)
            self.assertEqual(peer.read_to(DATA)[3][5:], NOT_SERVING)
            for watching in (peer, other):
                trailer = watching.read_to(HEADERS)
                self.assertTrue(trailer[1] & END_STREAM)
                self.assertIn(b"14", trailer[3])  # UNAVAILABLE
                self.assertTrue(watching.ends())
            eventually(lambda: weir.process.poll() is not None, 15, "the end")

    def test_answers_on_a_unix_socket_with_several_workers(self):
        weir = Weir("policies: []\n", 1)
        path = os.path.join(weir.directory, "grpc.sock")
        weir.head += f"grpc: {{listen: 'unix:{path}'}}\nthreads: 2\n"
        weir.write("policies: []\n")
        with weir:
            for _ in range(8):
                with Peer(path) as peer:
                    self.assertEqual(peer.call(HEALTH), SERVING)

    def test_a_port_that_somebody_asked_for_must_be_free(self):
        port = free_port()
        with weir_with(f"127.0.0.1:{port}"):
            second = weir_with(f"127.0.0.1:{port}")
            with self.assertRaisesRegex(AssertionError, "grpc: can't listen on"):
                second.start()
            second.scratch.cleanup()

    def ready_line(self, weir):
        """The log has a thread of its own, and may come after the first answer of /readyz."""
        deadline = time.monotonic() + 10
        while not (lines := weir.logged("weir is ready")) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertTrue(lines, weir.log())
        return lines[0]

    def test_two_processes_without_a_word_about_it_start(self):
        with Weir("policies: []\n", 1) as first, Weir("policies: []\n", 1) as second:
            self.assertIn("none", [self.ready_line(weir)["grpc"] for weir in (first, second)])

    def test_hostile_peers_are_shut_out_and_others_are_served(self):
        port = free_port()
        head = call_fields(HEALTH)
        resets = b"".join(frame(HEADERS, END_HEADERS, n, head) + frame(RST_STREAM, 0, n, b"\0\0\0\x08")
                          for n in range(1, 20_001, 2))
        bomb = (head + b"\x40\x03x-a\x7e" + b"a" * 126 + b"\xbe" * 12_000)
        attacks = {
            "rapid reset": resets,
            "PING": frame(PING, 0, 0, b"12345678") * 50_000,
            "SETTINGS": frame(SETTINGS) * 50_000,
            "CONTINUATION": frame(HEADERS, 0, 1, head) + frame(CONTINUATION, 0, 1, fields([("x-a", "a" * 126)])) * 50_000,
            "empty DATA": frame(HEADERS, END_HEADERS, 1, head) + frame(DATA, 0, 1) * 50_000,
            "HPACK bomb": frame(HEADERS, END_HEADERS, 1, bomb),
        }
        with weir_with(f"127.0.0.1:{port}") as weir, Peer(port) as good:
            slowest = 0.0
            for name, data in attacks.items():
                with self.subTest(name), Peer(port) as bad:
                    sender = threading.Thread(target=bad.send, args=(data,))
                    sender.start()
                    for _ in range(20):
                        before = time.monotonic()
                        self.assertEqual(good.call(HEALTH), SERVING)
                        slowest = max(slowest, time.monotonic() - before)
                    self.assertEqual((bad.goaway() or (0, 0))[1], CALM)
                    self.assertTrue(bad.ends())
                    sender.join()
            self.assertLess(slowest, 1.0)
            self.assertEqual(good.call(HEALTH), SERVING)
            metrics = weir.health("/metrics").body.decode()
            shut_out = sum(float(line.split()[-1]) for line in metrics.splitlines()
                           if line.startswith("weir_grpc_shut_out_total"))
            self.assertGreaterEqual(shut_out, 1)  # the page may be a second old

    def test_what_is_no_http_2_ends_and_idle_connections_do_not_keep_others_out(self):
        port = free_port()
        with weir_with(f"127.0.0.1:{port}"):
            idle = [Peer(port) for _ in range(300)]
            for data in (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" + b"x" * 100, b"\x16\x03\x01" + b"\0" * 100,
                         PREFACE + frame(DATA, END_STREAM, 0, b"x")):
                with Peer(port, greet=False) as bad:
                    bad.send(data)
                    self.assertTrue(bad.ends())
            with Peer(port) as good:
                self.assertEqual(good.call(HEALTH), SERVING)
            for peer in idle:
                peer.socket.close()

    def test_the_drain_takes_two_steps_and_fails_nobody(self):
        port = free_port()
        with weir_with(f"127.0.0.1:{port}", "drain: {delay: 1s, timeout: 10s}\n") as weir, Peer(port) as peer:
            self.assertEqual(peer.call(HEALTH), SERVING)
            weir.signal(15)
            self.assertEqual(peer.goaway(), (0x7FFFFFFF, 0))
            self.assertEqual(peer.call(HEALTH), NOT_SERVING)  # on a connection that goes, and on a new one
            with Peer(port) as late:
                self.assertEqual(late.call(HEALTH), NOT_SERVING)
                last = peer.goaway()
                self.assertEqual(last[1], 0)
                self.assertEqual(last[0], peer.next - 2)
                self.assertEqual(late.goaway(), (0x7FFFFFFF, 0))
                self.assertEqual(late.call(HEALTH), NOT_SERVING)
            self.assertTrue(peer.ends())
            eventually(lambda: weir.process.poll() is not None, 15, "the end")


if __name__ == "__main__":
    unittest.main()
