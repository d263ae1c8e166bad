"""The gRPC door over TLS, by frames of the test's own over Python's ssl: who is served, what is bounded, what a reload changes."""

import contextlib
import shutil
import socket
import ssl
import time
import unittest

from certificates import Certificates
from http2_frames import DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, SETTINGS, Peer, call_fields, frame, message
from test_doors_soak import LIMIT, limit
from weir_process import SANITIZED, Weir, eventually, free_port

FILE = "domain: shop\ndescriptors:\n  - {key: user, rate_limit: {unit: day, requests_per_unit: 1000000}}\n"


class TlsPeer(Peer):
    """A peer whose socket speaks TLS; `context` None: in the clear."""

    def __init__(self, port, context, greet=True):
        super().__init__(port, greet=False)
        try:
            self.socket = context.wrap_socket(self.socket, server_hostname="redis.test")
        except BaseException:
            self.socket.close()
            raise
        if greet:
            self.send(PREFACE + frame(SETTINGS))


class Site(Weir):
    def __init__(self, certificates, client_ca=False, extra=""):
        self.grpc = free_port()
        files = {"server.pem": certificates["server.pem"], "server.key": certificates["server.key"], "ca.pem": certificates["ca.pem"]}
        super().__init__("policies: []\n", 1, extra=extra + "api: {listen: none}\n"
                         f"grpc: {{listen: 127.0.0.1:{self.grpc}, tls: {{cert: server.pem, key: server.key"
                         f"{', client_ca: ca.pem' if client_ca else ''}}}}}\nratelimit: {{files: [limits.yaml]}}\n",
                         files={"limits.yaml": FILE})
        for name, path in files.items():
            shutil.copy(path, f"{self.directory}/{name}")

    def metric(self, name):
        page = self.health("/metrics").body.decode()
        return next(int(line.rsplit(" ", 1)[1]) for line in page.splitlines() if line.startswith(name + " "))


class GrpcOverTls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.certificates = Certificates()
        cls.addClassCleanup(cls.certificates.scratch.cleanup)

    def context(self, alpn=("h2",), client=None, ca="ca", version=None):
        context = ssl.create_default_context(cafile=self.certificates[f"{ca}.pem"])
        if alpn:
            context.set_alpn_protocols(list(alpn))
        if client:
            context.load_cert_chain(self.certificates[f"{client}.pem"], self.certificates[f"{client}.key"])
        if version:
            context.minimum_version = context.maximum_version = version
        return context

    def serves(self, port, context):
        """Whether a call is answered."""
        with contextlib.suppress(OSError), TlsPeer(port, context) as peer:
            return peer.call(LIMIT, limit("ann"))[:2] == b"\x08\x01"
        return False

    def test_who_is_served(self):
        with Site(self.certificates) as site:
            for name, context, wanted in (
                    ("TLS 1.3", self.context(version=ssl.TLSVersion.TLSv1_3), True),
                    ("TLS 1.2", self.context(version=ssl.TLSVersion.TLSv1_2), True),
                    ("h2 among others", self.context(alpn=("http/1.1", "h2")), True),
                    ("without ALPN, as Envoy may be", self.context(alpn=()), True),
                    ("another protocol", self.context(alpn=("http/1.1",)), False)):
                with self.subTest(name):
                    self.assertEqual(self.serves(site.grpc, context), wanted)
            with Peer(site.grpc) as clear:  # no TLS: this peer alone is cut
                self.assertIsNone(clear.read())
            self.assertTrue(self.serves(site.grpc, self.context()))
            self.assertGreaterEqual(site.metric("weir_grpc_tls_failed_total"), 2)
            self.assertEqual(site.stop(), 0)

    def test_clients_need_a_certificate_where_it_says_so(self):
        with Site(self.certificates, client_ca=True) as site:
            self.assertFalse(self.serves(site.grpc, self.context()))
            self.assertTrue(self.serves(site.grpc, self.context(client="client")))
            other = self.context()
            other.load_cert_chain(self.certificates["other.pem"], self.certificates["other.key"])
            self.assertFalse(self.serves(site.grpc, other))
            context = self.context(client="client", version=ssl.TLSVersion.TLSv1_2)
            first = TlsPeer(site.grpc, context)
            session = first.socket.session
            first.socket.close()
            again = context.wrap_socket(socket.create_connection(("127.0.0.1", site.grpc), timeout=10), server_hostname="redis.test",
                                        session=session)
            self.assertTrue(again.session_reused)  # a resumed session needs its context
            again.close()

    def test_many_calls_and_large_messages_on_one_connection(self):
        with Site(self.certificates) as site, TlsPeer(site.grpc, self.context()) as peer:
            streams = [peer.begin(LIMIT, limit("ann")) for _ in range(300)]
            self.assertEqual(len(set(streams)), 300)
            big = message(limit("ann") + b"\x7a\x80\x80\x02" + b"x" * 32_768)  # an unknown field of 32 KiB: several records
            for stream in range(601, 641, 2):
                pieces = [big[i:i + 16_000] for i in range(0, len(big), 16_000)]
                peer.send(frame(HEADERS, END_HEADERS, stream, call_fields(LIMIT)) + b"".join(
                    frame(DATA, END_STREAM if piece is pieces[-1] else 0, stream, piece) for piece in pieces))
            waiting = {*streams, *range(601, 641, 2)}
            while waiting:
                kind, flags, of, payload = peer.read()
                if kind == DATA and of in waiting:
                    self.assertEqual(payload[5:7], b"\x08\x01")
                if kind == HEADERS and flags & END_STREAM:
                    waiting.discard(of)

    def test_stalled_handshakes_keep_nobody_out(self):
        with Site(self.certificates) as site, contextlib.ExitStack() as stalled:
            for n in range(700):  # more than a worker's 256, on two workers at most
                s = stalled.enter_context(socket.create_connection(("127.0.0.1", site.grpc), timeout=10))
                if n % 2:
                    s.send(b"\x16\x03\x01\x02\x00\x01")  # the begin of a record
            eventually(lambda: site.metric("weir_grpc_connections_total") >= 700, what="all of them to be accepted")
            for _ in range(20):
                self.assertTrue(self.serves(site.grpc, self.context()))
            self.assertLessEqual(site.metric("weir_grpc_connections_open"), 2 * 256 + 20)
            # They have ten seconds, and no more.
            eventually(lambda: site.metric("weir_grpc_connections_open") == 0, 20, "the stalled ones to be ended")
            self.assertGreater(site.metric('weir_grpc_timeouts_total{phase="tls"}'), 0)

    @unittest.skipIf(SANITIZED, "a sanitizer takes much memory for itself")
    def test_what_tls_keeps_is_a_part_of_the_buffers(self):
        # A record of 16 KiB, and in it a greeting that announces 128 KiB, for which OpenSSL makes room at once.
        greeting = b"\x16\x03\x01\x40\x00" + b"\x01\x01\xff\x00\x03\x03" + b"x" * 16_378
        for name, open_one in (("idle", lambda port: TlsPeer(port, self.context()).socket),
                               ("half a greeting", lambda port: socket.create_connection(("127.0.0.1", port), timeout=10))):
            with self.subTest(name), contextlib.ExitStack() as peers, \
                    Site(self.certificates, extra="threads: 1\nlimits: {memory: 16MiB, buffers: 8MiB}\n") as site:
                self.assertTrue(self.serves(site.grpc, self.context()))
                before = site.rss_kib()
                for _ in range(250):
                    with contextlib.suppress(OSError):  # refused
                        peer = peers.enter_context(open_one(site.grpc))
                        if name != "idle":
                            peer.sendall(greeting)
                # The half of the buffers that the door has, and what the heap and the program hold besides.
                self.assertLess(site.rss_kib() - before, (4 + 6) * 1024)
                eventually(lambda: self.serves(site.grpc, self.context()), what="somebody else is served")

    def test_a_reload_takes_new_certificates_and_leaves_connections(self):
        newer = Certificates()
        self.addCleanup(newer.scratch.cleanup)
        with Site(self.certificates) as site, TlsPeer(site.grpc, self.context()) as old:
            self.assertEqual(old.call(LIMIT, limit("ann"))[:2], b"\x08\x01")
            fresh = ssl.create_default_context(cafile=newer["ca.pem"])
            fresh.set_alpn_protocols(["h2"])
            self.assertFalse(self.serves(site.grpc, fresh))
            # A key that does not belong to the certificate: all stays as it was.
            shutil.copy(newer["server.pem"], f"{site.directory}/server.pem")
            eventually(lambda: "certificates cannot be used" in site.log(), what="the reload to say so")
            self.assertTrue(self.serves(site.grpc, self.context()))
            shutil.copy(newer["server.key"], f"{site.directory}/server.key.new")
            shutil.move(f"{site.directory}/server.key.new", f"{site.directory}/server.key")
            eventually(lambda: self.serves(site.grpc, fresh), what="the new certificate")
            self.assertFalse(self.serves(site.grpc, self.context()))
            self.assertEqual(old.call(LIMIT, limit("ann"))[:2], b"\x08\x01")
            self.assertEqual(site.stop(), 0)

    def test_a_drain_loses_no_call(self):
        with Site(self.certificates) as site, TlsPeer(site.grpc, self.context()) as peer:
            self.assertEqual(peer.call(LIMIT, limit("ann"))[:2], b"\x08\x01")
            began = time.monotonic()
            self.assertEqual(site.stop(), 0)
            self.assertLess(time.monotonic() - began, 6)
            while peer.read() is not None:
                pass  # its GOAWAYs, and an end


if __name__ == "__main__":
    unittest.main()
