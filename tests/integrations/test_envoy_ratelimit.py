"""Real Envoys ask weir's rate limit service, with the configuration of docs/integrations/envoy_ratelimit.md as it is there."""

import json
import os
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import peers  # noqa: E402
from certificates import Certificates  # noqa: E402
from http_client import once  # noqa: E402
from origin import Origin, answer  # noqa: E402
from test_forward_auth import ask  # noqa: E402
from weir_process import eventually, free_port  # noqa: E402

PAGE = "envoy_ratelimit.md"

LIMITS = """
domain: web
descriptors:
  - {key: remote_address, rate_limit: {unit: hour, requests_per_unit: 3, name: address}}
  - key: path
    value: /trial
    shadow_mode: true
    descriptors:
      - {key: remote_address, shadow_mode: true, rate_limit: {unit: hour, requests_per_unit: 1, name: trial}}
"""


class Site:
    """An app, a weir and an Envoy before them."""

    def __init__(self, binary, change=lambda text: text, policies=None, extra="", files=None, tls=""):
        self.exits = []
        self.app = Origin(lambda request: answer(200, request.path.encode()))
        self.exits.append(self.app.stop)
        self.weir = peers.DoorWeir(peers.policies_of(PAGE) if policies is None else policies, extra=extra, grpc=True, tls=tls)
        for name, text in (files or {}).items():
            with open(os.path.join(self.weir.directory, name), "w", encoding="utf-8") as f:
                f.write(text)
        self.weir.start()
        self.exits.append(self.weir.kill)
        scratch = tempfile.TemporaryDirectory(prefix="weir-envoy-")
        self.exits.append(scratch.cleanup)
        self.front, self.admin = free_port(), free_port()
        text = peers.placed(change(peers.block(PAGE, "yaml", "http.ratelimit")), weir=self.weir.api_port, grpc=self.weir.grpc_port,
                            app=self.app.port, front=self.front, admin=self.admin)
        try:
            self.envoy = peers.envoy(binary, scratch.name, text, self.front)
        except BaseException:
            self.close()
            raise
        self.exits.append(self.envoy.stop)

    def close(self):
        for leave in reversed(self.exits):
            leave()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def ask(self, path="/", source="127.0.0.2", headers=()):
        return ask(self.front, "GET", path, headers, source, b"")

    def seen(self, path):
        return [r for r in self.app.requests if r.path == path]

    def stat(self, name):
        page = once(self.admin, "GET", "/stats?format=json&filter=" + name).body
        return sum(s.get("value", 0) for s in json.loads(page)["stats"] if s.get("name", "").endswith(name))


class RateLimitService(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.envoys = peers.envoys()
        if not cls.envoys:
            raise unittest.SkipTest("there is no Envoy on this machine: scripts/deps peers")

    def each(self, **options):
        for version, binary in self.envoys.items():
            with self.subTest(envoy=version), Site(binary, **options) as site:
                yield site

    def newest(self, **options):
        return Site(self.envoys[max(self.envoys, key=lambda v: [int(n) for n in v.split(".")])], **options)

    def test_the_page_flags_refuses_and_only_looks_in_shadow_mode(self):
        for site in self.each():
            self.assertEqual([site.ask("/a").status for _ in range(5)], [200] * 4 + [429])
            self.assertEqual([r.header("x-weir-verdict") for r in site.seen("/a")], [None, None, "flag", "flag"])
            over = site.ask("/a")
            self.assertIn("per-address", over.body.decode())
            self.assertEqual(over.header("content-type"), "application/problem+json")
            self.assertGreater(int(over.header("retry-after")), 0)
            self.assertEqual(over.header("x-envoy-ratelimited"), "true")
            self.assertEqual([site.ask("/trial", "127.0.0.3").status for _ in range(3)], [200] * 3)
            self.assertEqual(site.stat("ratelimit.error"), 0)
            self.assertGreaterEqual(site.stat("ratelimit.over_limit"), 2)

    def test_a_client_cannot_choose_the_verdict_that_the_app_sees_nor_the_path_that_is_counted(self):
        for site in self.each():
            lies = [("X-Weir-Verdict", "trusted"), ("X-Weir-Policy", "none"), ("X-Weir-Score", "-9"), ("X_Weir_Verdict", "trusted")]
            for _ in range(3):
                self.assertEqual(site.ask("/lies", headers=lies).status, 200)
            first, *_, flagged = site.seen("/lies")
            self.assertEqual([value for name, value in first.headers if "weir" in name.lower()], [])
            self.assertEqual([value for name, value in flagged.headers if name.lower().replace("_", "-") == "x-weir-verdict"], ["flag"])
            for path in ("/trial", "/trial?", "/trial?x=1", "/trial/"):
                self.assertEqual(site.ask(path, "127.0.0.4").status, 200)
            self.assertEqual(site.weir.metric("weir_shadow_total", 'policy="per-path",action="deny"'), 3)

    def test_envoys_headers_tell_the_scarcest_limit(self):
        for site in self.each():
            first = site.ask("/")
            self.assertTrue(first.header("x-ratelimit-limit").startswith("4"), first.header("x-ratelimit-limit"))
            self.assertIn("w=60", first.header("x-ratelimit-limit"))
            self.assertEqual(first.header("x-ratelimit-remaining"), "3")
            self.assertTrue(1 <= int(first.header("x-ratelimit-reset")) <= 60)

    def test_what_is_charged_after_the_answer_refuses_the_next_request(self):
        route = peers.block(PAGE, "yaml", "apply_on_stream_done: true")
        policies = peers.block(PAGE, "yaml", "charge: always").replace("over: 1000000", "over: 5")

        def change(text):
            begin = text.index("              - match: {prefix: /}")
            return text[:begin] + route + text[text.index("          http_filters:"):]
        for site in self.each(change=change, policies=policies):
            self.assertEqual(site.ask("/nine-byte").status, 200)
            eventually(lambda s=site: s.ask("/nine-byte").status == 429, what="the refusal of a spent budget")
            self.assertEqual(site.ask("/nine-byte", "127.0.0.3").status, 200)
            self.assertEqual(site.stat("ratelimit.error"), 0)

    def test_without_charge_always_nothing_that_comes_after_the_answer_refuses(self):
        """The page says so: hits that would go over the limit are dropped, and the sum stays below it."""
        route = peers.block(PAGE, "yaml", "apply_on_stream_done: true")
        policies = peers.block(PAGE, "yaml", "charge: always").replace("over: 1000000", "over: 5").replace("    charge: always\n", "")
        self.assertNotIn("charge", policies)

        def change(text):
            begin = text.index("              - match: {prefix: /}")
            return text[:begin] + route + text[text.index("          http_filters:"):]
        for site in self.each(change=change, policies=policies):
            self.assertEqual([site.ask("/nine-byte").status for _ in range(6)], [200] * 6)
            eventually(lambda s=site: s.weir.metric("weir_rate_limit_calls_total", 'result="over_limit"') >= 6, what="the calls after the answers")
            self.assertEqual(site.ask("/nine-byte").status, 200)

    def test_hits_addend_needs_the_form_of_one_route(self):
        """In `rate_limits` of a route Envoy takes it, and sends one hit all the same."""
        def change(text):
            return text.replace("- actions: [{remote_address: {}}]", "- {actions: [{remote_address: {}}], hits_addend: {number: 3}}")
        for site in self.each(change=change):
            self.assertEqual([site.ask("/a", "127.0.0.2").status for _ in range(5)], [200] * 4 + [429])

    def test_a_refusal_is_429_or_what_the_filter_says_and_other_words_mean_pass_or_refuse(self):
        policies = """policies:
  - {name: a, watch: {domain: web, descriptors: {remote_address: "*"}}, key: ip, window: 1h, then: [{over: 1, do: %s}]}
"""
        for do, status in (("deny, status: 403", 429), ("deny, status: 503", 429), ("challenge", 429), ("delay, hold: 20s", 200)):
            for site in self.each(policies=policies % do):
                begin = time.monotonic()
                self.assertEqual([site.ask("/a", "127.0.0.2").status for _ in range(2)], [200, status], do)
                self.assertLess(time.monotonic() - begin, 10)
                self.assertEqual(site.stat("ratelimit.error"), 0)
        own = "              failure_mode_deny: false"
        for site in self.each(policies=policies % "deny", change=lambda text: text.replace(own, "              rate_limited_status: {code: 503}\n" + own)):
            self.assertEqual([site.ask("/a", "127.0.0.2").status for _ in range(2)], [200, 503])

    def test_a_policy_that_announces_its_limit(self):
        policies = """policies:
  - {name: a, watch: {domain: web, descriptors: {remote_address: "*"}}, key: ip, window: 1h, announce: true, then: [{over: 9, do: deny}]}
"""
        for site in self.each(policies=policies):
            passed = site.ask("/a", "127.0.0.2")
            self.assertIn('"a";r=8', passed.header("ratelimit"))
            self.assertIn('"a";q=9', passed.header("ratelimit-policy"))
        for site in self.each(policies=policies.replace(" announce: true,", "")):
            self.assertIsNone(site.ask("/a", "127.0.0.2").header("ratelimit"))

    def test_files_of_envoyproxy_ratelimit(self):
        for site in self.each(policies="policies: []\n", extra="ratelimit: {files: [limits.yaml], headers: true}\n",
                              files={"limits.yaml": LIMITS}):
            self.assertEqual([site.ask("/trial").status for _ in range(4)], [200] * 3 + [429])
            over = site.ask("/x")
            # One more was asked for /is-it-ready.
            self.assertEqual((over.header("ratelimit-limit"), over.header("ratelimit-remaining")), ("3", "0"))
            self.assertIn('name="address"', over.header("x-ratelimit-limit"))
            page = once(site.weir.health_port, "GET", "/metrics").body.decode()
            for line in ('total_hits{domain="web",key1="remote_address"} 6', 'over_limit{domain="web",key1="remote_address"} 2',
                         'near_limit{domain="web",key1="remote_address"} 1',
                         'shadow_mode{domain="web",key1="path_/trial",key2="remote_address"} 3'):
                self.assertIn("ratelimit_service_rate_limit_" + line, page)

    def test_a_descriptor_that_is_built_of_a_client_s_header(self):
        def change(text):
            return text.replace("- actions: [{remote_address: {}}]", "- actions: [{request_headers: {header_name: x-user, descriptor_key: user}}]")
        policies = """policies:
  - {name: users, watch: {domain: web, descriptors: {user: "*"}}, key: descriptor.user, window: 1h, then: [{over: 1, do: deny}]}
"""
        with self.newest(change=change, policies=policies) as site:
            for odd in ("ann", "\u00e9", "a_b", "*"):
                name = odd.encode().decode("latin-1")
                codes = [site.ask(headers=[("X-User", name)]).status for _ in range(2)]
                self.assertEqual(codes, [200, 429], odd)
            self.assertEqual(site.ask().status, 200)
            self.assertEqual(site.stat("ratelimit.error"), 0)

    def test_over_tls_with_certificates_on_both_sides(self):
        certificates = Certificates()
        self.addCleanup(certificates.scratch.cleanup)
        names = {name: json.dumps(certificates[name]) for name in ("ca.pem", "server.pem", "server.key", "client.pem", "client.key")}
        tls = f"{{cert: {names['server.pem']}, key: {names['server.key']}, client_ca: {names['ca.pem']}}}"

        def change(alpn, own):
            socket = ("    transport_socket:\n      name: envoy.transport_sockets.tls\n      typed_config:\n"
                      '        "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext\n'
                      "        sni: redis.test\n        common_tls_context:\n" + alpn + own +
                      f"          validation_context: {{trusted_ca: {{filename: {names['ca.pem']}}}}}\n")
            return lambda text: text.replace("  - name: weir\n    type: STATIC\n", "  - name: weir\n    type: STATIC\n" + socket)
        own = (f"          tls_certificates: [{{certificate_chain: {{filename: {names['client.pem']}}}, "
               f"private_key: {{filename: {names['client.key']}}}}}]\n")
        for alpn in ("", "          alpn_protocols: [h2]\n"):
            for site in self.each(change=change(alpn, own), tls=tls):
                self.assertEqual([site.ask("/a").status for _ in range(5)], [200] * 4 + [429])
                self.assertEqual(site.stat("ratelimit.error"), 0)
        with self.newest(change=change("", ""), tls=tls) as site:  # without a certificate weir does not answer
            site.ask("/a")
            self.assertGreater(site.stat("ratelimit.error"), 0)
            self.assertEqual(site.stat("ratelimit.ok"), 0)

    def test_weir_is_away(self):
        for deny, status in (("false", 200), ("true", 500)):
            with self.newest(change=lambda text, d=deny: text.replace("failure_mode_deny: false", "failure_mode_deny: " + d)) as site:
                self.assertEqual(site.ask("/fine").status, 200)
                site.weir.kill()
                eventually(lambda s=site, want=status: s.ask("/fine").status == want, what="what holds without weir")
                self.assertGreater(site.stat("ratelimit.error"), 0)

    def test_redis_is_away(self):
        policies = """defaults: {on_error: %s}
policies:
  - {name: a, watch: {domain: web, descriptors: {remote_address: "*"}}, key: ip, window: 1h, share: redis, then: [{over: 2, do: deny}]}
"""
        for on_error, codes in (("local", [200, 200, 429]), ("allow", [200, 200, 200]), ("deny", [429, 429, 429])):
            with self.subTest(on_error=on_error), self.newest(
                    policies=policies % on_error, extra=f"redis: {{url: 'redis://127.0.0.1:{free_port()}', secret: {'s' * 32}}}\n") as site:
                got = [site.ask("/").status for _ in range(3)]
                if on_error == "deny":  # whatever it is, it is a refusal
                    self.assertTrue(all(code in (429, 503) for code in got), got)
                else:
                    self.assertEqual(got, codes)
                self.assertEqual(site.stat("ratelimit.error"), 0)


if __name__ == "__main__":
    unittest.main()
