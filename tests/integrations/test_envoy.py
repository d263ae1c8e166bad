"""Real Envoys ask weir, over gRPC and over HTTP, with the configurations of docs/integrations/envoy.md as they are there."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import peers  # noqa: E402
from http_client import once  # noqa: E402
from origin import Origin, answer  # noqa: E402
from test_forward_auth import ask  # noqa: E402
from weir_process import eventually, free_port  # noqa: E402

POLICIES = """
events:
  login: {match: POST /login}
  login_failed: {is: login, when: status == 401}
  order: {match: POST /order, fields: {item: body.item}}
policies:
  - {name: logins, watch: login, key: ip, window: 10m, then: [{over: 2, do: flag}, {over: 4, do: deny, tell: full}]}
  - {name: banned, watch: request, when: path == "/banned", then: [{if: true, do: deny, status: 403}]}
  - {name: overload, watch: request, when: path == "/overload", then: [{if: true, do: deny, status: 503}]}
  - {name: slow, watch: request, when: path == "/slow", then: [{if: true, do: delay, hold: 100ms}]}
  - {name: too-slow, watch: request, when: path == "/too-slow", then: [{if: true, do: delay, hold: 20s}]}
  - {name: items, watch: order, key: item, window: 10m, then: [{over: 1, do: deny}]}
  - {name: failures, watch: login_failed, key: header.x_account, window: 10m, then: [{over: 2, do: deny}]}
  - {name: quota, watch: request, when: path == "/quota", key: ip, window: 1h, announce: true, then: [{over: 100, do: deny}]}
"""


class Site:
    """An app, a weir and an Envoy before them."""

    def __init__(self, binary, grpc, change=lambda text: text, policies=POLICIES, authz="", app=None, extra="",
                 listen="127.0.0.1"):
        self.exits = []
        self.grpc = grpc
        self.version = peers.version_of(binary)
        self.app = Origin(app or (lambda request: answer(401 if request.path == "/login" else 200, request.path.encode(),
                                                         [("X-App", "yes")])))
        self.exits.append(self.app.stop)
        self.weir = peers.DoorWeir(policies, api="ext_authz: {prefix: /ext_authz}", authz=authz, grpc=grpc, extra=extra,
                                   listen=listen)
        self.weir.start()
        self.exits.append(self.weir.kill)
        scratch = tempfile.TemporaryDirectory(prefix="weir-envoy-")
        self.exits.append(scratch.cleanup)
        self.front, self.admin = free_port(), free_port()
        text = peers.placed(change(peers.block("envoy.md", "yaml", "envoy_grpc:" if grpc else "http_service:")), weir=self.weir.api_port,
                            grpc=self.weir.grpc_port, app=self.app.port, front=self.front, admin=self.admin, health=self.weir.health_port)
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

    def ask(self, method, path, headers=(), source="127.0.0.1", body=b""):
        return ask(self.front, method, path, headers, source, body)

    def login(self, source="127.0.0.1", headers=(), path="/login"):
        return self.ask("POST", path, headers, source)

    def seen(self, path):
        return [r for r in self.app.requests if r.path == path]

    def stat(self, name):
        page = once(self.admin, "GET", "/stats?format=json&filter=" + name).body
        return sum(s.get("value", 0) for s in json.loads(page)["stats"] if s.get("name", "").endswith(name))


class Cases:
    grpc = False

    @classmethod
    def setUpClass(cls):
        envoys = peers.envoys()
        if not envoys:
            raise unittest.SkipTest("there is no Envoy on this machine: scripts/deps peers")
        cls.envoys = envoys

    def each_version(self):
        for version, binary in self.envoys.items():
            with self.subTest(envoy=version):
                yield binary

    def newest(self, **options):
        return Site(max(self.envoys.values(), key=peers.version_of), self.grpc, **options)

    def test_passes_flags_and_refuses_with_status_body_and_headers(self):
        for binary in self.each_version():
            with Site(binary, self.grpc) as site:
                self.assertEqual([site.login().status for _ in range(4)], [401] * 4)
                verdicts = [r.header("x-weir-verdict") for r in site.seen("/login")]
                self.assertEqual(verdicts, [None, None, "flag", "flag"])
                refused = site.login()
                self.assertEqual(refused.status, 429)
                self.assertTrue(int(refused.header("retry-after")) > 0)
                self.assertIn('"logins";r=0', refused.header("ratelimit"))
                self.assertEqual(json.loads(refused.body)["violated-policies"], ["logins"])
                self.assertEqual(refused.header("content-type"), "application/problem+json")
                self.assertEqual(site.ask("GET", "/banned").status, 403)
                self.assertEqual(site.stat("ext_authz.error"), 0)

    def test_a_client_s_own_verdicts_do_not_reach_the_app(self):
        lies = [("X-Weir-Verdict", "trusted"), ("X-Weir-Policy", "none"), ("X-Weir-Score", "-9"), ("X-Weir-Request-Id", "1")]
        for binary in self.each_version():
            with Site(binary, self.grpc) as site:
                self.assertEqual(site.ask("GET", "/fine", lies).status, 200)
                for name, _ in lies:
                    self.assertIsNone(site.seen("/fine")[-1].header(name), name)
                for name in ("X_Weir_Verdict", "x-weir_verdict"):  # many apps take these for the same header
                    self.assertEqual(site.ask("GET", "/fine", [(name, "trusted")]).status, 200)
                    self.assertNotIn("trusted", [value for _, value in site.seen("/fine")[-1].headers], name)
                for _ in range(3):
                    site.login(headers=lies)
                self.assertEqual(site.seen("/login")[-1].header("x-weir-verdict"), "flag")

    def test_headers_for_the_client_of_a_passed_request(self):
        with self.newest() as site:
            passed = site.ask("GET", "/quota")
            self.assertEqual(passed.status, 200)
            self.assertIn('"quota";q=100;w=3600', passed.header("ratelimit-policy"))

    def test_clients_are_told_apart_and_cannot_choose_who_they_are(self):
        with self.newest() as site:
            for _ in range(5):
                site.login("127.0.0.2")
            self.assertEqual(site.login("127.0.0.2", [("X-Forwarded-For", "127.0.0.9")]).status, 429)
            self.assertEqual(site.login("127.0.0.2", [("X-Envoy-External-Address", "127.0.0.9")]).status, 429)
            self.assertEqual(site.login("127.0.0.3").status, 401)

    def test_one_proxy_before_envoy(self):
        with self.newest(authz="{client_ip: {hops: 1}}") as site:
            for n in range(5):
                site.login("127.0.0.2", [("X-Forwarded-For", f"7.7.7.{n}, 9.9.9.9")])
            self.assertEqual(site.login("127.0.0.3", [("X-Forwarded-For", "9.9.9.9")]).status, 429)
            self.assertEqual(site.login("127.0.0.2", [("X-Forwarded-For", "9.9.9.8")]).status, 401)

    def test_known_proxies_before_envoy(self):
        with self.newest(authz="{client_ip: {trust: [127.0.0.0/8]}}") as site:
            for n in range(5):
                site.login("127.0.0.2", [("X-Forwarded-For", f"7.7.7.{n}, 9.9.9.9, 127.0.0.8")])
            self.assertEqual(site.login("127.0.0.3", [("X-Forwarded-For", "9.9.9.9")]).status, 429)
            self.assertEqual(site.login("127.0.0.2", [("X-Forwarded-For", "9.9.9.8")]).status, 401)

    def test_envoy_says_who_the_client_is(self):
        word = '{key: x-weir-client-ip, value: "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"}'

        def told(text):
            if self.grpc:
                return text.replace("envoy_grpc: {cluster_name: weir}",
                                    f"envoy_grpc: {{cluster_name: weir}}\n                initial_metadata: [{word}]")
            return text.replace("                authorization_response:",
                                f"                authorization_request: {{headers_to_add: [{word}]}}\n"
                                "                authorization_response:", 1)

        with self.newest(authz="{client_ip: {header: x-weir-client-ip}}", change=told) as site:
            for _ in range(5):
                site.login("127.0.0.2", [("X-Weir-Client-Ip", "127.0.0.9")])
            self.assertEqual(site.login("127.0.0.2").status, 429)
            self.assertEqual(site.login("127.0.0.3").status, 401)

    def test_other_spellings_of_a_path_are_one(self):
        def raw(text):
            return text.replace("normalize_path: true", "normalize_path: false").replace("merge_slashes: true",
                                                                                         "merge_slashes: false")
        with self.newest(change=raw) as site:
            for path in ("/login", "//login", "/l%6fgin", "/./login"):
                site.login(path=path)
            self.assertEqual(site.login(path="/a/../login").status, 429)
            self.assertEqual(site.login(path="/a%2f..%2flogin").status, 400)

    def test_bodies_whole_and_cut_off(self):
        order = [("Content-Type", "application/json")]
        for binary in self.each_version():
            with Site(binary, self.grpc) as site:
                bodies = [json.dumps({"item": "a"}).encode(), json.dumps({"item": "b"}).encode()]
                codes = [site.ask("POST", "/order", order, body=b).status for b in bodies + bodies]
                self.assertEqual(codes, [200, 200, 429, 429])
                large = json.dumps({"item": "a", "x": "y" * 20_000}).encode()
                self.assertEqual(site.ask("POST", "/order", order, body=large).status, 200)  # cut: missing, skipped
                self.assertEqual(len(site.seen("/order")[-1].body), len(large))

    def test_a_cut_body_follows_missing(self):
        strict = POLICIES.replace("name: items,", "name: items, missing: deny,")
        with self.newest(policies=strict) as site:
            order = [("Content-Type", "application/json")]
            large = json.dumps({"item": "a", "x": "y" * 20_000}).encode()
            self.assertIn(site.ask("POST", "/order", order, body=large).status, (403, 429))
            self.assertEqual(site.ask("POST", "/order", order, body=b'{"item":"a"}').status, 200)

    def test_delays_within_envoys_patience(self):
        with self.newest() as site:
            start = time.monotonic()
            self.assertEqual(site.ask("GET", "/slow").status, 200)
            self.assertGreaterEqual(time.monotonic() - start, 0.09)
            late = site.ask("GET", "/too-slow")
            self.assertEqual((late.status, late.header("retry-after")), (429, "20"))
            self.assertEqual(site.stat("ext_authz.error"), 0)

    def test_weir_is_away(self):
        for allow, status in (("false", 503), ("true", 200)):
            def change(text, allow=allow):
                return text.replace("failure_mode_allow: false", f"failure_mode_allow: {allow}")
            with self.newest(change=change) as site:
                site.weir.kill()
                self.assertEqual(site.ask("GET", "/fine").status, status)
                self.assertEqual(len(site.seen("/fine")), status == 200)

    def test_gray_callers_and_challenges(self):
        more = POLICIES + """  - {name: grays, watch: request, when: path == "/gray", key: ip, window: 10m, then: [{over: 1, do: graylist, for: 10m}]}
  - {name: robots, watch: request, when: path == "/robot", then: [{if: true, do: challenge}]}
"""
        for challenge, status, location in (("", 403, None), ("challenge: {redirect: /captcha}\n", 302, "/captcha")):
            with self.subTest(status=status), self.newest(policies=challenge + more) as site:
                self.assertEqual([site.ask("GET", "/gray").status for _ in range(3)], [200] * 3)
                verdicts = [r.header("x-weir-verdict") for r in site.seen("/gray")]
                self.assertEqual((verdicts[0], verdicts[2]), (None, "gray"))
                asked = site.ask("GET", "/robot", source="127.0.0.2")
                self.assertEqual((asked.status, asked.header("location")), (status, location))
                self.assertEqual(site.seen("/robot"), [])
                self.assertEqual(site.stat("ext_authz.error"), 0)

    def test_a_weir_that_hangs(self):
        """Envoy gives up at its timeout, and its own setting says what holds."""
        for allow, status in (("false", 503), ("true", 200)):
            def change(text, allow=allow):
                return text.replace("failure_mode_allow: false", f"failure_mode_allow: {allow}")
            with self.subTest(allow=allow), self.newest(change=change) as site:
                self.assertEqual(site.ask("GET", "/before").status, 200)
                site.weir.signal(signal.SIGSTOP)
                state = f"/proc/{site.weir.process.pid}/stat"
                eventually(lambda state=state: open(state).read().rsplit(")", 1)[1].split()[0] == "T", what="weir is stopped")
                try:
                    begin = time.monotonic()
                    self.assertEqual(site.ask("GET", "/late").status, status)
                    self.assertGreaterEqual(time.monotonic() - begin, 0.2)
                    self.assertEqual(len(site.seen("/late")), status == 200)
                finally:
                    site.weir.signal(signal.SIGCONT)
                eventually(lambda site=site: site.ask("GET", "/banned").status == 403, what="weir's verdicts again")

    def test_a_refusal_is_no_failure(self):
        def change(text):
            return text.replace("failure_mode_allow: false", "failure_mode_allow: true")
        with self.newest(change=change) as site:
            self.assertEqual(site.ask("GET", "/overload").status, 503 if self.grpc else 429)
            self.assertEqual(site.seen("/overload"), [])

    def test_the_app_tells_of_its_answer_by_the_id(self):
        with self.newest() as site:
            account = [("X-Account", "bob")]
            for n in range(2):
                self.assertEqual(site.login(f"127.0.1.{n + 1}", account).status, 401)
                name = site.seen("/login")[-1].header("x-weir-request-id")
                self.assertEqual(site.weir.tell({"request_id": name, "status": 401}), (200, {"settled": True}))
            # One more may be wrong; two at a time may not, for the first one's answer is not known.
            self.assertEqual(site.login("127.0.1.8", account).status, 429)
            self.assertEqual(site.login("127.0.1.9", [("X-Account", "eve")]).status, 401)

    def test_a_hundred_at_a_time(self):
        for binary in self.each_version():
            with Site(binary, self.grpc) as site:
                codes = []

                def one(number):
                    codes.append(site.ask("GET", f"/fine/{number}", source=f"127.0.2.{number + 1}").status)

                threads = [threading.Thread(target=one, args=(n,)) for n in range(100)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self.assertEqual(codes, [200] * 100)

    def test_nothing_fails_while_weir_drains(self):
        with self.newest() as site:
            site.weir.write(POLICIES)
            codes, going = [], True

            def load():
                while going:
                    codes.append(site.ask("GET", "/fine").status)

            threads = [threading.Thread(target=load) for _ in range(4)]
            for thread in threads:
                thread.start()
            eventually(lambda: len(codes) > 50, what="some requests")
            site.weir.admin("POST", "/v1/drain", {"begin": True})
            before = len(codes)
            eventually(lambda: len(codes) > before + 100, what="more requests")
            going = False
            for thread in threads:
                thread.join()
            self.assertEqual(set(codes), {200})
            self.assertEqual(site.weir.stop(), 0)


    def test_no_request_fails_while_one_weir_of_two_ends(self):
        drain = "drain: {delay: 1s, timeout: 5s}\n"
        second = peers.DoorWeir(POLICIES, api="ext_authz: {prefix: /ext_authz}", grpc=self.grpc, extra=drain)
        self.addCleanup(second.kill)
        second.start()
        with self.newest(extra=drain, change=lambda text: self.with_another(text, second)) as site:
            codes, going = [], True

            def load():
                while going:
                    codes.append(site.ask("GET", "/fine").status)

            threads = [threading.Thread(target=load) for _ in range(4)]
            for thread in threads:
                thread.start()

            def checks(weir):
                return weir.metric("weir_checks_total", f'door="{"ext_authz" if self.grpc else "ext_authz_http"}",result="allowed"')
            eventually(lambda: checks(site.weir) and checks(second), what="checks at both")
            code = site.weir.stop()
            before = len(codes)
            eventually(lambda: len(codes) > before + 100, what="more requests")
            going = False
            for thread in threads:
                thread.join()
            self.assertEqual((code, set(codes)), (0, {200}))
            self.assertEqual(site.stat("ext_authz.error"), 0)

    def with_another(self, text, weir):
        """Envoy's configuration with a second endpoint of the cluster, and health checks as the page has them."""
        port = 8483 if self.grpc else 8484
        checks = peers.block("envoy.md", "yaml", "health_checks:").split("#")[0].rstrip() + "\n"
        checks = checks.replace("nterval: 1s", "nterval: 0.1s")
        health = ["", ""]
        if not self.grpc:
            checks = checks.replace("grpc_health_check: {}", "http_health_check: {path: /readyz}")
            health = [", health_check_config: {port_value: 8482}", f", health_check_config: {{port_value: {weir.health_port}}}"]

        def endpoint(port, health):
            return "{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: " + str(port) + "}}" + health + "}}"

        self.assertIn(endpoint(port, ""), text)
        both = [endpoint(port, health[0]), endpoint(weir.grpc_port if self.grpc else weir.api_port, health[1])]
        text = text.replace(endpoint(port, ""), ", ".join(both))
        return text.replace("  - name: weir\n    type: STATIC\n", "  - name: weir\n    type: STATIC\n" + checks)


class Bootstrap(unittest.TestCase):
    """What `weir dev --envoy` prints."""

    def test_envoy_takes_it_and_sends_what_the_policies_read(self):
        text = subprocess.run([os.environ["WEIR_BINARY"], "dev", "3000", "--recipe", "login", "--recipe", "device_accounts",
                               "--envoy"], capture_output=True, text=True, timeout=60, check=True).stdout
        self.assertIn("{exact: x-device-id, ignore_case: true}", text)
        self.assertIn("max_request_bytes: 65536", text)
        envoys = peers.envoys()
        if not envoys:
            self.skipTest("there is no Envoy on this machine: scripts/deps peers")
        for version, binary in envoys.items():
            with self.subTest(envoy=version), tempfile.TemporaryDirectory() as directory:
                path = os.path.join(directory, "envoy.yaml")
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
                told = subprocess.run([binary, "--mode", "validate", "-c", path], capture_output=True, text=True, timeout=60,
                                      check=False)
                self.assertEqual(told.returncode, 0, told.stderr)


class OverHttp(Cases, unittest.TestCase):
    grpc = False


class OverGrpc(Cases, unittest.TestCase):
    grpc = True


if __name__ == "__main__":
    unittest.main()
