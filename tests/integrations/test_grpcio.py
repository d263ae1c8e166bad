"""The gRPC door as an independent client sees it: Python's grpcio. `scripts/deps peers` installs it."""

import os
import sys
import unittest

from peers import ROOT, Weir, free_port

from certificates import Certificates

PEERS = os.environ.get("WEIR_PEERS", os.path.join(ROOT, "build", "peers"))
sys.path.insert(0, os.path.join(PEERS, "grpcio"))
try:
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc
except ImportError:
    grpc = None


@unittest.skipIf(grpc is None, "grpcio is not installed: scripts/deps peers")
class Grpcio(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.port = free_port()
        cls.weir = Weir("policies: []\n", 1, extra=f"grpc: {{listen: 127.0.0.1:{cls.port}, message: 64KiB}}\n")
        cls.weir.__enter__()
        cls.addClassCleanup(cls.weir.__exit__, None, None, None)

    def setUp(self):
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.port}")
        self.addCleanup(self.channel.close)
        self.health = health_pb2_grpc.HealthStub(self.channel)

    def code_of(self, call):
        with self.assertRaises(grpc.RpcError) as raised:
            call()
        return raised.exception.code()

    def test_health(self):
        answer = self.health.Check(health_pb2.HealthCheckRequest(), timeout=5)
        self.assertEqual(answer.status, health_pb2.HealthCheckResponse.SERVING)
        unknown = health_pb2.HealthCheckRequest(service="none.None")
        self.assertEqual(self.code_of(lambda: self.health.Check(unknown, timeout=5)), grpc.StatusCode.NOT_FOUND)
        watch = self.health.Watch(health_pb2.HealthCheckRequest(), timeout=5)
        self.assertEqual(next(watch).status, health_pb2.HealthCheckResponse.SERVING)
        watch.cancel()

    def test_compressed_both_ways(self):
        for coding in (grpc.Compression.Gzip, grpc.Compression.Deflate):
            answer = self.health.Check(health_pb2.HealthCheckRequest(), timeout=5, compression=coding)
            self.assertEqual(answer.status, health_pb2.HealthCheckResponse.SERVING)

    def raw(self, path):
        return self.channel.unary_unary(path, request_serializer=lambda b: b, response_deserializer=lambda b: b)

    def test_errors(self):
        self.assertEqual(self.code_of(lambda: self.raw("/none.None/None")(b"", timeout=5)), grpc.StatusCode.UNIMPLEMENTED)
        check = self.raw("/grpc.health.v1.Health/Check")
        self.assertEqual(self.code_of(lambda: check(b"\x0a\x7f", timeout=5)), grpc.StatusCode.INTERNAL)
        self.assertEqual(self.code_of(lambda: check(b"x" * 70_000, timeout=5)), grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertEqual(check(b"", timeout=5), b"\x08\x01")

    def test_a_thousand_calls_at_once(self):
        request = health_pb2.HealthCheckRequest()
        calls = [self.health.Check.future(request, timeout=20) for _ in range(1000)]
        self.assertTrue(all(call.result().status == health_pb2.HealthCheckResponse.SERVING for call in calls))


@unittest.skipIf(grpc is None, "grpcio is not installed: scripts/deps peers")
class GrpcioOverTls(unittest.TestCase):
    def test_health_with_certificates_on_both_sides(self):
        certificates = Certificates()
        self.addCleanup(certificates.scratch.cleanup)

        def text(name):
            with open(certificates[name], "rb") as f:
                return f.read()
        port = free_port()
        with Weir("policies: []\n", 1, extra=f"grpc: {{listen: 127.0.0.1:{port}, tls: {{cert: {certificates['server.pem']}, "
                  f"key: {certificates['server.key']}, client_ca: {certificates['ca.pem']}}}}}\n"):
            for own, serves in (((text("client.key"), text("client.pem")), True), ((text("other.key"), text("other.pem")), False),
                                ((None, None), False)):
                with grpc.secure_channel(f"localhost:{port}", grpc.ssl_channel_credentials(text("ca.pem"), *own)) as channel:
                    calls = [health_pb2_grpc.HealthStub(channel).Check.future(health_pb2.HealthCheckRequest(), timeout=10)
                             for _ in range(200 if serves else 1)]
                    codes = {call.code() for call in calls}
                self.assertEqual(codes, {grpc.StatusCode.OK if serves else grpc.StatusCode.UNAVAILABLE})


if __name__ == "__main__":
    unittest.main()
