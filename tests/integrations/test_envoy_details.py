"""Real Envoys ask weir: what docs/integrations/envoy.md says beside its configurations."""

import json
import os
import socket
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import peers  # noqa: E402
import test_envoy  # noqa: E402
from http_client import Reader, render  # noqa: E402
from weir_process import eventually, free_port  # noqa: E402

PROXY_PROTOCOL = """    listener_filters:
    - name: envoy.filters.listener.proxy_protocol
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.filters.listener.proxy_protocol.v3.ProxyProtocol
        allow_requests_without_proxy_protocol: true   # the test asks whether Envoy serves
"""
ACCESS_LOG = """          access_log:
          - name: envoy.access_loggers.file
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog
              path: access.log
              log_format: {json_format: {path: "%REQ(:PATH)%", NAMES}}
"""
NAMES = ("policy", "list", "verdict", "rung", "value", "limit", "request_id")
WORD = '{key: x-weir-client-ip, value: "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"}'
BANNED = """lists:
  banned: {of: ip, kind: deny, entries: [127.0.0.66]}
"""


def own_address():
    """An address of this machine that is not loopback; None: it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return None
        address = s.getsockname()[0]
    return None if address.startswith("127.") else address


class Cases:
    """What holds over gRPC and over HTTP."""

    grpc = False

    @classmethod
    def setUpClass(cls):
        cls.envoys = peers.envoys()
        if not cls.envoys:
            raise unittest.SkipTest("there is no Envoy on this machine: scripts/deps peers")

    def each(self, what=None, **options):
        for version, binary in self.envoys.items():
            with self.subTest(envoy=version, what=what), test_envoy.Site(binary, self.grpc, **options) as site:
                yield site

    @staticmethod
    def ask_through(site, proxied, headers=()):
        """POST /login on a connection about which a proxy says by PROXY protocol whose it is."""
        with socket.create_connection(("127.0.0.1", site.front), 10) as s:
            s.sendall(f"PROXY TCP4 {proxied} 10.0.0.1 40000 80\r\n".encode()
                      + render("POST", "/login", [*headers, ("Connection", "close")]))
            reader = Reader()
            while not (found := reader.feed(data := s.recv(65536))) and data:
                pass
            return found.status

    def expect_one_client(self, site, client, other):
        """Five logins are one client's, whatever else differs; another client is not refused."""
        self.assertEqual([self.ask_through(site, *client(n)) for n in range(6)], [401] * 4 + [429] * 2)
        self.assertEqual(self.ask_through(site, *other), 401)
        self.assertEqual(site.stat("ext_authz.error"), 0)

    def told(self, text):
        if self.grpc:
            return text.replace("envoy_grpc: {cluster_name: weir}",
                                f"envoy_grpc: {{cluster_name: weir}}\n                initial_metadata: [{WORD}]")
        return text.replace("                authorization_response:", f"                authorization_request: {{headers_to_add: [{WORD}]}}\n"
                            "                authorization_response:", 1)

    def test_the_client_that_proxy_protocol_names(self):
        def proxied(text):
            line = "    filter_chains:\n"
            self.assertIn(line, text)
            return text.replace(line, PROXY_PROTOCOL + line, 1)

        def external(text):
            return proxied(text).replace("                - {exact: cookie,", "                - {exact: x-envoy-external-address, ignore_case: true}\n"
                                         "                - {exact: cookie,")

        def xff(text):
            return [("X-Forwarded-For", text)]

        edge, other_edge, lie = "203.0.113.5", "203.0.113.6", "198.51.100.9"
        modes = {
            "hops: 0": ("", proxied, lambda n: (edge, xff(f"{lie}{n}")), (other_edge, xff(f"{lie}1"))),
            "hops: 1": ("{client_ip: {hops: 1}}", proxied, lambda n: (f"10.1.1.{n + 1}", xff(f"7.7.7.{n}, {edge}")), ("10.1.1.1", xff(other_edge))),
            "hops: 2": ("{client_ip: {hops: 2}}", proxied, lambda n: (f"10.1.1.{n + 1}", xff(f"7.7.7.{n}, {edge}, 10.2.2.{n}")),
                        ("10.1.1.1", xff(f"{other_edge}, 10.2.2.1"))),
            "trust": ("{client_ip: {trust: [10.0.0.0/8]}}", proxied, lambda n: (f"10.1.1.{n + 1}", xff(f"7.7.7.{n}, {edge}, 10.2.2.{n}")),
                      ("10.1.1.1", xff(f"{edge}, {other_edge}"))),
            "header": ("{client_ip: {header: x-weir-client-ip}}", lambda text: self.told(proxied(text)),
                       lambda n: (edge, [("X-Weir-Client-Ip", f"7.7.7.{n}")]), (other_edge, [("X-Weir-Client-Ip", edge)])),
            "external": ("{client_ip: {header: x-envoy-external-address}}", external,
                         lambda n: (edge, [("X-Envoy-External-Address", f"7.7.7.{n}")]), (other_edge, [("X-Envoy-External-Address", edge)])),
        }
        for mode, (authz, change, client, other) in modes.items():
            for site in self.each(mode, authz=authz, change=change):
                self.expect_one_client(site, client, other)

    def test_a_body_over_the_buffer_without_parts_never_comes_to_weir(self):
        for allow in ("false", "true"):
            def change(text, allow=allow):
                self.assertIn("allow_partial_message: true", text)
                text = text.replace("failure_mode_allow: false", f"failure_mode_allow: {allow}")
                return text.replace("allow_partial_message: true", "allow_partial_message: false")
            for site in self.each(allow, change=change):
                order = [("Content-Type", "application/json")]
                small = json.dumps({"item": "a", "x": "y" * 8_000}).encode()
                self.assertEqual([site.ask("POST", "/order", order, body=small).status for _ in range(2)], [200, 429])
                large = json.dumps({"item": "b", "x": "y" * 8_192}).encode()
                door = "ext_authz" if self.grpc else "ext_authz_http"

                def checks(site=site, door=door):
                    return sum(site.weir.metric("weir_checks_total", f'door="{door}",result="{word}"') for word in ("allowed", "denied", "failed"))
                eventually(lambda checks=checks: checks() >= 2, what="the checks before in the metrics")
                before = checks()
                self.assertEqual([site.ask("POST", "/order", order, body=large).status for _ in range(3)], [413] * 3)
                self.assertEqual(len(site.seen("/order")), 1)
                self.assertEqual(site.ask("GET", "/banned").status, 403)
                eventually(lambda checks=checks, before=before: checks() > before, what="the check after them in the metrics")
                self.assertEqual(checks(), before + 1)

    def test_redis_is_away(self):
        policies = """defaults: {on_error: %s}
policies:
  - {name: a, watch: request, when: path == "/a", key: ip, window: 1h, share: redis, then: [{over: 2, do: deny}]}
"""
        for on_error, codes in (("local", [200, 200, 429]), ("allow", [200] * 3), ("deny", None)):
            redis = f"redis: {{url: 'redis://127.0.0.1:{free_port()}', secret: {'s' * 32}}}\n"
            for site in self.each(on_error, policies=policies % on_error, extra=redis):
                got = [site.ask("GET", "/a").status for _ in range(3)]
                if codes is None:  # whatever it is, it is a refusal
                    self.assertTrue(all(code in (429, 503) for code in got), got)
                    self.assertEqual(site.seen("/a"), [])
                else:
                    self.assertEqual(got, codes)
                self.assertEqual(site.stat("ext_authz.error"), 0)


class OverHttp(Cases, unittest.TestCase):
    pass


class OverGrpc(Cases, unittest.TestCase):
    grpc = True

    def test_access_logs_name_the_policy_and_what_it_saw(self):
        names = ", ".join(f'{name}: "%DYNAMIC_METADATA(envoy.filters.http.ext_authz:{name})%"' for name in NAMES)

        def change(text):
            line = "          route_config:\n"
            self.assertIn(line, text)
            return text.replace(line, ACCESS_LOG.replace("NAMES", names) + line, 1)
        for site in self.each(change=change, policies=BANNED + test_envoy.POLICIES):
            for n in range(5):  # of five accounts: a policy waits for the answer, so that each check has an id
                site.login("127.0.0.2", [("X-Account", f"a{n}")])
            site.ask("GET", "/banned")
            site.ask("GET", "/fine")
            site.ask("GET", "/fine", source="127.0.0.66")
            ids = [r.header("x-weir-request-id") for r in site.seen("/login")]
            site.envoy.stop()  # writes the rest of the log
            with open(os.path.join(site.envoy.directory, "access.log"), encoding="utf-8") as f:
                lines = [json.loads(line) for line in f]
            of = {path: [line for line in lines if line["path"] == path] for path in ("/login", "/banned", "/fine")}
            self.assertEqual([line["policy"] for line in of["/login"]], [None, None, "logins", "logins", "logins"])
            self.assertEqual([line["verdict"] for line in of["/login"]], [None, None, "flag", "flag", "deny"])
            self.assertEqual([(line["rung"], line["value"], line["limit"]) for line in of["/login"][2:]], [(0, 3, 2), (0, 4, 2), (1, 5, 4)])
            self.assertEqual([line["request_id"] for line in of["/login"]], [*ids, None])
            self.assertTrue(all(ids))
            self.assertEqual([(line["policy"], line["verdict"], line["rung"]) for line in of["/banned"]], [("banned", "deny", 0)])
            self.assertEqual([(line["policy"], line["list"]) for line in of["/fine"]], [(None, None), (None, "banned")])

    def test_a_failure_is_told_as_one_or_as_the_page_says(self):
        """An Envoy that may not ask: weir cannot judge what it asks about."""
        address = own_address()
        if address is None:
            self.skipTest("this machine has no address but loopback")
        for error_response in ("false", "true"):
            for allow in ("false", "true"):
                def change(text, allow=allow):
                    line = "address: {socket_address: {address: 127.0.0.1, port_value: 8483}}"
                    self.assertIn(line, text)
                    text = text.replace(line, line.replace("127.0.0.1", address))
                    return text.replace("failure_mode_allow: false", f"failure_mode_allow: {allow}")
                for site in self.each((error_response, allow), change=change, listen="0.0.0.0",
                                      authz=f"{{client_ip: {{trust: [203.0.113.0/24]}}, error_response: {error_response}}}"):
                    told = site.ask("GET", "/fine")
                    knows = site.version >= [1, 37]
                    if error_response == "true" and not knows:  # a refusal to this Envoy
                        self.assertEqual((told.status, told.header("retry-after")), (403, None))
                    elif allow == "true":
                        self.assertEqual(told.status, 200)
                    else:  # status_on_error, which is 503 as well, or weir's own
                        self.assertEqual((told.status, told.header("retry-after")), (503, "1" if error_response == "true" else None))
                    self.assertEqual(len(site.seen("/fine")), told.status == 200)
                    self.assertEqual(site.stat("ext_authz.error") > 0, error_response == "false" or knows)


if __name__ == "__main__":
    unittest.main()
