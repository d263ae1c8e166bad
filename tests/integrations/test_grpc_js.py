"""The gRPC door as grpc-js sees it, in the clear, over a Unix socket and over TLS, with Envoy's own .proto files. `scripts/deps peers`
installs it where there is npm."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

from peers import HERE, ROOT, Weir, free_port

from certificates import Certificates

PACKAGES = os.path.join(os.environ.get("WEIR_PEERS") or os.path.join(ROOT, "build", "peers"), "grpc-js", "node_modules")
POLICIES = """policies:
  - {name: flags, watch: request, when: path == "/flag", then: [{if: true, do: flag}]}
  - {name: gold, watch: request, when: 'path == "/gold" and envoy.context.tier == "gold"', then: [{if: true, do: flag}]}
  - {name: banned, watch: request, when: path == "/banned", then: [{if: true, do: deny, status: 403, tell: full}]}
  - {name: items, watch: request, when: 'path == "/body" and body.item == "a"', missing: skip, then: [{if: true, do: deny}]}
  - {name: slow, watch: request, when: path == "/slow", then: [{if: true, do: delay, hold: 150ms}]}
  - {name: users, watch: {domain: shop, descriptors: {user: "*"}}, key: descriptor.user, window: 1h, then: [{over: 5, do: deny}]}
"""


@unittest.skipIf(shutil.which("node") is None or not os.path.isdir(os.path.join(PACKAGES, "@grpc")), "no grpc-js: scripts/deps peers")
class GrpcJs(unittest.TestCase):
    def seen(self, listen, address, *certificates, tls=""):
        with Weir(POLICIES, 1, extra=f"grpc: {{listen: '{listen}', message: 64KiB{tls}}}\n"):
            done = subprocess.run(["node", os.path.join(HERE, "grpc_js.js"), address, *certificates], capture_output=True, text=True,
                                  timeout=120, env=dict(os.environ, NODE_PATH=PACKAGES), check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)

    def expect_all(self, seen):
        def names(answer):
            return {option["header"]["key"]: option["header"]["value"] for option in answer["headers"]}

        for name in ("passed", "flagged", "gold", "denied", "body", "under", "over", "packed", "binary"):
            self.assertEqual(seen[name]["status"], "OK", seen[name])
        passed = seen["passed"]["answer"]
        self.assertEqual((passed["status"]["code"], passed["http_response"]), (0, "ok_response"))
        self.assertEqual(set(passed["ok_response"]["headers_to_remove"]),
                         {"x-weir-verdict", "x-weir-policy", "x-weir-score", "x-weir-request-id"})
        flagged = seen["flagged"]["answer"]["ok_response"]
        self.assertEqual(names(flagged)["x-weir-verdict"], "flag")
        self.assertEqual({option["append_action"] for option in flagged["headers"]}, {"OVERWRITE_IF_EXISTS_OR_ADD"})
        self.assertNotIn("x-weir-verdict", flagged["headers_to_remove"])
        self.assertEqual(names(seen["gold"]["answer"]["ok_response"])["x-weir-policy"], "gold")
        denied = seen["denied"]["answer"]
        self.assertEqual((denied["status"]["code"], denied["denied_response"]["status"]["code"]), (7, "Forbidden"))
        self.assertEqual(json.loads(denied["denied_response"]["body"])["status"], 403)
        self.assertEqual(denied["dynamic_metadata"]["fields"]["policy"]["stringValue"], "banned")
        self.assertEqual(seen["body"]["answer"]["denied_response"]["status"]["code"], "TooManyRequests")
        self.assertEqual(seen["held"]["answer"]["http_response"], "ok_response")
        hurried = seen["hurried"]["answer"]["denied_response"]  # it would have left before the hold ends
        self.assertEqual((hurried["status"]["code"], names(hurried)["retry-after"]), ("TooManyRequests", "1"))
        self.assertEqual(seen["cancelled"]["status"], "CANCELLED")
        under, over = seen["under"]["answer"], seen["over"]["answer"]
        self.assertEqual((under["overall_code"], over["overall_code"]), ("OK", "OVER_LIMIT"))
        self.assertEqual((under["statuses"][0]["limit_remaining"], over["statuses"][0]["limit_remaining"]), (4, 0))
        self.assertEqual(seen["no_domain"]["status"], "INVALID_ARGUMENT")
        self.assertEqual(seen["large"]["status"], "RESOURCE_EXHAUSTED")
        self.assertEqual(seen["no_method"]["status"], "UNIMPLEMENTED")
        self.assertEqual(seen["no_message"]["status"], "INTERNAL")
        self.assertEqual(seen["many"], ["OK"])
        self.assertEqual(seen["exact"], 5)

    def test_in_the_clear(self):
        port = free_port()
        self.expect_all(self.seen(f"127.0.0.1:{port}", f"127.0.0.1:{port}"))

    def test_on_a_unix_socket(self):
        with tempfile.TemporaryDirectory(prefix="weir-grpc-js-") as directory:
            self.expect_all(self.seen(f"unix:{directory}/grpc.sock", f"unix:{directory}/grpc.sock"))

    def test_over_tls_with_certificates_on_both_sides(self):
        certificates = Certificates()
        self.addCleanup(certificates.scratch.cleanup)
        tls = (f", tls: {{cert: {certificates['server.pem']}, key: {certificates['server.key']}, "
               f"client_ca: {certificates['ca.pem']}}}")
        for words, served in ((("ca.pem", "client.key", "client.pem"), True), (("ca.pem", "other.key", "other.pem"), False),
                              (("ca.pem",), False), (("other.pem", "client.key", "client.pem"), False), ((), False)):
            port = free_port()
            with self.subTest(words=words):
                seen = self.seen(f"127.0.0.1:{port}", f"localhost:{port}", *(certificates[name] for name in words), tls=tls)
                if served:
                    self.expect_all(seen)
                else:
                    self.assertIn(seen["passed"]["status"], ("UNAVAILABLE", "DEADLINE_EXCEEDED"), seen)


if __name__ == "__main__":
    unittest.main()
