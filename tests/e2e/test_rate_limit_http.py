"""Paths of other rate limit services on the api door, as their callers use them."""

import json
import re
import shutil
import signal
import unittest
from concurrent.futures import ThreadPoolExecutor

from http_client import once
from redis_process import Redis
from weir_process import Weir, eventually, free_port

FILE = """domain: shop
descriptors:
  - {key: path, value: /login, rate_limit: {unit: hour, requests_per_unit: 100, name: logins}}
"""
CALL = {"domain": "shop", "descriptors": [{"entries": [{"key": "path", "value": "/login"}]}]}


class Site(Weir):
    def __init__(self, policies="policies: []\n", ratelimit="{files: [limits.yaml]}", api="", extra="", files=None):
        self.api_port = free_port()
        super().__init__(policies, 1, extra=f"api: {{listen: 127.0.0.1:{self.api_port}{api}}}\ngrpc: {{listen: none}}\n"
                         f"ratelimit: {ratelimit}\n" + extra, files=files or {"limits.yaml": FILE})

    def ask(self, path, body=None, headers=(), method=None):
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        return once(self.api_port, method or ("GET" if body is None else "POST"), path, headers, data,
                    host=f"127.0.0.1:{self.api_port}")


class EnvoyProxyRateLimit(unittest.TestCase):
    def test_a_limit_holds_exactly_under_parallel_calls(self):
        for api in ("", ", forward_auth: [nginx]"):  # also where the workers take the connections
            with self.subTest(api=api), Site(api=api) as site:
                with ThreadPoolExecutor(16) as pool:
                    codes = [r.status for r in pool.map(lambda _: site.ask("/json", CALL), range(150))]
                self.assertEqual((codes.count(200), codes.count(429)), (100, 50))
                self.assertEqual(site.stop(), 0)

    def test_answers_of_every_kind(self):
        with Site() as site:
            first = json.loads(site.ask("/json", CALL, [("Content-Type", "application/x-www-form-urlencoded")]).body)
            self.assertEqual(first["overallCode"], "OK")
            self.assertEqual(first["statuses"][0]["currentLimit"], {"requestsPerUnit": 100, "unit": "HOUR", "name": "logins"})
            self.assertEqual(first["statuses"][0]["limitRemaining"], 99)
            for body in (b"", b"{", b"[]", {"domain": "shop"}, {"domain": "shop", "descriptor": []}, b"\xff"):
                self.assertEqual(site.ask("/json", body).status, 400, body)
            self.assertEqual(site.ask("/json").status, 405)
            self.assertEqual(site.ask("/json", CALL, [("Origin", "http://elsewhere.example")]).status, 403)
            self.assertEqual(site.ask("/elsewhere").status, 404)
            self.assertEqual(site.ask("/check", {}).status, 404)
            self.assertEqual(site.ask("/v1/else", {}).status, 404)
            self.assertEqual(site.stop(), 0)

    def test_a_service_that_is_no_proxy_starts(self):
        limits = {"limits.yaml": "- {namespace: shop, max_value: 0, seconds: 60}\n"}
        for ratelimit, files, path, call, status in (
                ("{files: [limits.yaml]}", None, "/json", CALL, 200), ("{json: true}", None, "/json", CALL, 200),
                ("{limitador: limits.yaml}", limits, "/check", {"namespace": "shop", "values": {}, "delta": 1}, 429)):
            with self.subTest(ratelimit=ratelimit):
                site = Site(ratelimit=ratelimit, files=files)
                site.head = re.sub("(?s)proxy: .*\nadmin: ", "admin: ", site.head)
                site.write("policies: []\n")
                with site:
                    self.assertEqual(site.ask(path, call).status, status)

    def test_health_ends_with_the_drain(self):
        with Site() as site:
            self.assertEqual((site.ask("/healthcheck").status, site.ask("/healthcheck").body), (200, b"OK"))
            site.admin("POST", "/v1/drain", {"begin": True})
            eventually(lambda: site.ask("/healthcheck").status == 500, what="the health check to fail")
            self.assertEqual(site.ask("/json", CALL).status, 200)  # late callers are answered

    def test_health_ends_with_the_signal(self):
        with Site(extra="drain: {delay: 60s, timeout: 5s}\n") as site:
            self.assertEqual(site.ask("/healthcheck").status, 200)
            site.signal(signal.SIGTERM)
            eventually(lambda: site.ask("/healthcheck").status == 500, what="the health check to fail")
            self.assertEqual(site.ask("/json", CALL).status, 200)
            self.assertEqual(site.stop(), 0)  # a second signal ends weir at once

    def test_loads_are_counted_by_its_names(self):
        with Site() as site:
            def loads():
                page = site.health("/metrics").body.decode()
                return [int(page.split(f"\nratelimit_service_config_load_{name} ")[1].split()[0]) for name in ("success", "error")]
            self.assertEqual(loads(), [1, 0])
            site.replace(site.directory + "/limits.yaml", FILE.replace("unit: hour", "unit: fortnight"))
            eventually(lambda: loads() == [1, 1], what="the failure to be counted")
            site.replace(site.directory + "/limits.yaml", FILE.replace("100", "50"))
            eventually(lambda: loads() == [2, 1], what="the new file to be counted")

    def test_calls_over_http_are_no_calls_of_grpc(self):
        with Site() as site:
            self.assertEqual(site.ask("/json", CALL).status, 200)
            self.assertEqual(site.ask("/json", b"{").status, 400)
            page = site.health("/metrics").body.decode()
            self.assertIn('\nratelimit_service_total_requests{grpc_method="ShouldRateLimit"} 0\n', page)
            self.assertIn('\nweir_rate_limit_calls_total{result="ok"} 1\n', page)
            self.assertIn('\nweir_rate_limit_calls_total{result="error"} 1\n', page)

    def test_nothing_is_served_that_nobody_configured(self):
        with Site(ratelimit="{shadow: false}") as site:
            self.assertEqual([site.ask("/json", CALL).status, site.ask("/healthcheck").status], [404, 404])
        with Site(ratelimit="{json: true}", policies="""policies:
  - {name: own, watch: {domain: shop, descriptors: {path: "*"}}, window: 1h, then: [{over: 1, do: deny}]}
""") as site:
            self.assertEqual([site.ask("/json", CALL).status for _ in range(2)], [200, 429])


LIMITS = """
- {namespace: shop, max_value: 3, seconds: 600, name: posts, conditions: ["descriptors[0]['req.method'] == 'POST'"],
   variables: ["descriptors[0].user_id"]}
- {namespace: shop, max_value: 100, seconds: 3600, variables: [tier]}
- {namespace: other, id: one, max_value: 0, seconds: 1, conditions: [], variables: []}
"""


class Limitador(unittest.TestCase):
    def site(self, **options):
        return Site(ratelimit="{limitador: limits.yaml}", files={"limits.yaml": LIMITS}, **options)

    @staticmethod
    def question(user="ann", delta=1, space="shop", **more):
        values = {"req.method": "POST", "user_id": user} if space == "shop" else {}
        return {"namespace": space, "values": {**values, **more.pop("values", {})}, "delta": delta, **more}

    def codes(self, site, path, *questions):
        replies = [site.ask(path, question) for question in questions]
        for reply in replies:
            if reply.status in (200, 429):
                self.assertEqual(reply.body, b"Too many requests" if reply.status == 429 and path == "/check" else b"null")
        return [reply.status for reply in replies]

    def test_checks_reports_and_both_at_once(self):
        with self.site() as site:
            ask = self.question
            self.assertEqual(self.codes(site, "/check_and_report", *[ask()] * 4), [200, 200, 200, 429])
            self.assertEqual(self.codes(site, "/check", ask(), ask("bob"), ask("bob", 3), ask("bob", 4)), [429, 200, 200, 429])
            self.assertEqual(self.codes(site, "/check", *[ask("bob")] * 5), [200] * 5, "a check counts nothing")
            self.assertEqual(self.codes(site, "/report", ask("eve"), ask("eve", 2), ask("eve", 9)), [200] * 3)
            self.assertEqual(self.codes(site, "/check", ask("eve")), [429])
            # A report counts whole, also over a limit, and in the other limits of the call.
            self.assertEqual(self.codes(site, "/report", ask("kim", 9, values={"tier": "gold"})), [200])
            self.assertEqual(self.codes(site, "/check_and_report", ask("kim")), [429])
            self.assertEqual(self.codes(site, "/check", ask("kim", 0)), [429], "it is over, not full")
            gold = {"namespace": "shop", "values": {"tier": "gold"}}
            self.assertEqual(self.codes(site, "/check", {**gold, "delta": 91}, {**gold, "delta": 92}), [200, 429])
            # A refused call counts in no limit, and no condition means no limit.
            self.assertEqual(self.codes(site, "/check_and_report", ask("tom", 4), ask("tom", 3)), [429, 200])
            self.assertEqual(self.codes(site, "/check_and_report", *[{"namespace": "shop", "values": {}, "delta": 9}] * 9), [200] * 9)
            self.assertEqual(self.codes(site, "/check", ask(space="other"), ask(space="nowhere")), [429, 200])
            self.assertEqual(site.stop(), 0)

    def test_reports_count_whole_for_all_replicas(self):
        if shutil.which("redis-server") is None:
            self.skipTest("there is no redis-server on this machine")
        redis = Redis().start()
        self.addCleanup(redis.kill)
        shared = {"policies": "defaults: {share: redis}\npolicies: []\n",
                  "extra": f"redis: {{{redis.where}, timeout: 5s, budget: 1s, secret: {'s' * 32}}}\n"}
        gold = {"namespace": "shop", "values": {"tier": "gold"}}
        with self.site(**shared) as one, self.site(**shared) as other:
            self.assertEqual(self.codes(one, "/report", self.question("kim", 9, values={"tier": "gold"})), [200])
            eventually(lambda: other.ask("/check", {**gold, "delta": 92}).status == 429, what="the report to be counted")
            self.assertEqual(self.codes(other, "/check", {**gold, "delta": 91}, self.question("kim", 0)), [200, 429])
            self.assertEqual(self.codes(other, "/report", *[self.question("kim", 5, values={"tier": "gold"})] * 2), [200, 200])
            eventually(lambda: one.ask("/check", {**gold, "delta": 82}).status == 429, what="the reports to be counted")
            self.assertEqual(self.codes(one, "/check", {**gold, "delta": 81}), [200])

    def test_a_report_over_a_limit_counts_in_policies_of_each_kind(self):
        if shutil.which("redis-server") is None:
            self.skipTest("there is no redis-server on this machine")
        redis = Redis().start()
        self.addCleanup(redis.kill)
        policies = """lists:
  grey: {of: descriptor.tier, kind: gray, effect: none}
policies:
  - {name: lists, watch: {domain: shop}, key: descriptor.tier, window: 1h, then: [{over: 8, do: graylist, list: grey, for: 1h}]}
  - {name: flies, watch: [request, {domain: shop}], key: descriptor.tier, metric: in_flight, then: [{over: 8, do: deny}]}
"""
        for share in ("local", "redis", "{redis: {sync: 200ms}}"):
            options = {"policies": f"defaults: {{share: {share}}}\n" + policies,
                       "extra": f"redis: {{{redis.where}, timeout: 5s, budget: 1s, secret: {'s' * 32}}}\n"}
            with self.subTest(share=share), self.site(**options) as site:
                def report(user, delta):
                    question = self.question(user, delta, values={"tier": "gold"})
                    self.assertEqual(self.codes(site, "/report", question), [200])
                report("kim", 9)
                report("zoe", 1)
                eventually(lambda: [entry["key"] for entry in site.entries("grey")] == [["gold"]], what="the tier to be listed", seconds=5)
                for n in range(10):
                    report(f"u{n}", 9)
                tier = {"namespace": "shop", "values": {"tier": "gold"}, "delta": 0}
                self.assertEqual(self.codes(site, "/check", tier), [200], "a report is over: nothing is in flight")
            redis.command("FLUSHALL")

    def test_reports_count_whole_where_limits_are_in_shadow_mode(self):
        with self.site(policies="defaults: {mode: shadow}\npolicies: []\n") as site:
            self.assertEqual(self.codes(site, "/report", self.question("kim", 9, values={"tier": "gold"})), [200])
            counters = json.loads(site.ask("/counters/shop").body)
            self.assertEqual(sorted((c["limit"]["max_value"], c["remaining"]) for c in counters), [(3, 0), (100, 91)])

    def test_a_limit_holds_exactly_under_parallel_calls(self):
        with self.site() as site, ThreadPoolExecutor(16) as pool:
            question = {"namespace": "shop", "values": {"tier": "gold"}, "delta": 1}
            codes = [r.status for r in pool.map(lambda _: site.ask("/check_and_report", question), range(150))]
            self.assertEqual((codes.count(200), codes.count(429)), (100, 50))

    def test_limits_and_counters_of_a_namespace(self):
        with self.site() as site:
            limits = json.loads(site.ask("/limits/shop").body)
            self.assertEqual(limits[0], {"id": None, "namespace": "shop", "max_value": 3, "seconds": 600, "name": "posts",
                                         "conditions": ["descriptors[0]['req.method'] == 'POST'"],
                                         "variables": ["descriptors[0].user_id"]})
            self.assertEqual([limit["max_value"] for limit in limits], [3, 100])
            self.assertEqual(json.loads(site.ask("/limits/other").body)[0]["id"], "one")
            self.assertEqual(json.loads(site.ask("/limits/nowhere").body), [])
            self.assertEqual(json.loads(site.ask("/counters/shop").body), [])
            for user, values in (("ann", {"tier": "gold"}), ("ann", {}), ("bob", {})):
                self.assertEqual(site.ask("/check_and_report", self.question(user, values=values)).status, 200)
            counters = json.loads(site.ask("/counters/shop").body)
            self.assertEqual(sorted((c["limit"]["max_value"], *c["set_variables"].items(), c["remaining"]) for c in counters),
                             [(3, ("descriptors[0].user_id", "ann"), 1), (3, ("descriptors[0].user_id", "bob"), 2),
                              (100, ("tier", "gold"), 99)])
            for counter in counters:
                self.assertTrue(0 < counter["expires_in_seconds"] <= counter["limit"]["seconds"])
            self.assertEqual(json.loads(site.ask("/counters/other").body), [])

    def test_counters_keep_their_limits_where_a_reload_moves_them(self):
        with self.site() as site:
            for user in ("ann", "bob"):
                self.assertEqual(site.ask("/check_and_report", self.question(user, values={"tier": "gold"})).status, 200)
            def counters():
                return sorted(((c["limit"]["max_value"], *c["set_variables"].items(), c["remaining"])
                               for c in json.loads(site.ask("/counters/shop").body)), key=str)
            before = counters()
            self.assertEqual(len(before), 3)
            # Policies without a name of their own are named by their place in the file.
            first, second, other = LIMITS.split("\n-")[1:]
            own = " {namespace: shop, max_value: 9, seconds: 60, variables: [region]}"
            for number, order in enumerate(([own, first, second, other], [second, first, other], [first, second, other])):
                site.replace(site.directory + "/limits.yaml", "".join("\n-" + limit for limit in order))
                eventually(lambda: len(json.loads(site.ask("/limits/shop").body)) == len(order) - 1 and
                           json.loads(site.ask("/status").body)["config_version"] >= 1 + number, what="the new file")
                self.assertEqual(counters(), before, order)

    def test_metrics_by_its_own_names(self):
        with self.site() as site:
            ask = self.question
            self.assertEqual(self.codes(site, "/check_and_report", ask(), ask(delta=2), ask(), ask("bob"), ask(space="other")),
                             [200, 200, 429, 200, 429])
            self.assertEqual(self.codes(site, "/check", ask(), ask("bob")), [429, 200])  # which counts nothing
            self.assertEqual(self.codes(site, "/report", ask("bob"), ask("bob", 9)), [200, 200])  # nor does this
            page = site.ask("/metrics")
            self.assertTrue(page.header("content-type").startswith("text/plain"))
            wanted = {'authorized_calls{limitador_namespace="shop"} 3', 'authorized_hits{limitador_namespace="shop"} 4',
                      'limited_calls{limitador_namespace="shop"} 1', 'limited_calls{limitador_namespace="other"} 1',
                      'authorized_calls{limitador_namespace="other"} 0', "limitador_up 1", "# TYPE authorized_calls counter"}
            self.assertLessEqual(wanted, set(page.body.decode().splitlines()))
            eventually(lambda: wanted <= set(site.health("/metrics").body.decode().splitlines()), what="weir's own page to have them")
            self.assertEqual(site.ask("/metrics", {}).status, 405)

    def test_status_says_which_configuration_is_in_force(self):
        with self.site() as site:
            first = json.loads(site.ask("/status").body)
            self.assertEqual((first["config_version"], first["config_err_since"]), (0, 0))
            self.assertLessEqual(first["started_at"], first["config_applied_at"])
            self.assertRegex(first["started_at"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+$")
            site.replace(site.directory + "/limits.yaml", "no limits\n")
            eventually(lambda: json.loads(site.ask("/status").body)["config_err_since"] == 1, what="the failure to be told")
            for count, broken in enumerate(("max_value: ten", "max_value: -1", "max_value: [3]"), 2):
                site.replace(site.directory + "/limits.yaml", LIMITS.replace("max_value: 3", broken))
                eventually(lambda: json.loads(site.ask("/status").body)["config_err_since"] == count, what=f"{broken} to be refused")
                self.assertEqual(json.loads(site.ask("/limits/shop").body)[0]["max_value"], 3, "the file before it is in force")
            site.replace(site.directory + "/limits.yaml", LIMITS.replace("max_value: 3", "max_value: 5"))
            eventually(lambda: json.loads(site.ask("/status").body)["config_version"] == 1, what="the new configuration")
            last = json.loads(site.ask("/status").body)
            self.assertEqual((last["config_err_since"], last["started_at"]), (0, first["started_at"]))
            self.assertGreater(last["config_applied_at"], first["config_applied_at"])

    def test_headers_where_they_are_asked_for(self):
        with self.site() as site:
            wanted = self.question(values={"tier": "gold"}, response_headers="DraftVersion03")
            first = site.ask("/check_and_report", wanted)
            self.assertEqual(first.header("x-ratelimit-limit"), '3, 3;w=600;name="posts", 100;w=3600')
            self.assertEqual(first.header("x-ratelimit-remaining"), "2")
            self.assertTrue(0 < int(first.header("x-ratelimit-reset")) <= 600)
            over = [site.ask("/check_and_report", wanted) for _ in range(3)][-1]
            self.assertEqual((over.status, over.header("x-ratelimit-remaining")), (429, "0"))
            self.assertIsNone(site.ask("/check_and_report", self.question("bob")).header("x-ratelimit-limit"))

    def test_what_is_no_call(self):
        with self.site() as site:
            for body in (b"", b"{", b"[]", {}, {"namespace": "shop"}, {"namespace": "shop", "values": {}},
                         {"namespace": "shop", "values": {}, "delta": -1}, {"namespace": "shop", "values": {"a": 1}, "delta": 1},
                         {"namespace": "shop", "values": [], "delta": 1}, {"namespace": "shop", "values": {}, "delta": 1.5},
                         b'{"namespace": "shop", "values": {}, "delta": 18446744073709551616}'):
                for path in ("/check", "/report", "/check_and_report"):
                    self.assertEqual(site.ask(path, body).status, 400, (path, body))
            self.assertEqual([site.ask("/check").status, site.ask("/limits/shop", {}).status], [405, 405])
            for path in ("/check", "/report", "/check_and_report"):
                self.assertEqual([site.ask(path, method=m).status for m in ("GET", "HEAD", "PUT", "DELETE")], [405] * 4, path)
            for path in ("/limits/shop", "/counters/shop", "/status", "/metrics"):
                self.assertEqual([site.ask(path, {}, method=m).status for m in ("POST", "PUT", "DELETE")], [405] * 3, path)
            self.assertEqual(site.ask("/limits/%zz").status, 400)
            for path in ("/elsewhere", "/limits", "/limits/", "/counters", "/counters/", "/limits/shop/", "/limits/a/b", "/counters/a/b",
                         "/check/", "/status/"):
                self.assertEqual(site.ask(path).status, 404, path)

    def test_edges_that_limitador_takes(self):
        with self.site() as site:
            for path in ("/check", "/report", "/check_and_report"):  # a namespace without limits, as any other
                self.assertEqual(self.codes(site, path, {"namespace": "", "values": {}, "delta": 1}), [200], path)
            # No delta of 64 bits is too large to be counted: it is over the limit.
            for delta in (2**53, 2**63, 2**64 - 1):
                user = f"u{delta}"
                self.assertEqual(self.codes(site, "/check", self.question(user, delta)), [429], delta)
                self.assertEqual(self.codes(site, "/check_and_report", self.question(user, delta), self.question(user)), [429, 200], delta)
                self.assertEqual(self.codes(site, "/report", self.question(user, delta)), [200], delta)
                self.assertEqual(self.codes(site, "/check", self.question(user)), [429], delta)
            self.assertEqual(json.loads(site.ask("/limits/a%2Fb").body), [])

    def test_the_file_is_read_again_when_it_changes(self):
        with self.site() as site:
            self.assertEqual(self.codes(site, "/check", self.question("bob", 4)), [429])
            site.replace(site.directory + "/limits.yaml", LIMITS.replace("max_value: 3", "max_value: 5"))
            eventually(lambda: site.ask("/check", self.question("bob", 4)).status == 200, what="the new limit")
            self.assertEqual(json.loads(site.ask("/limits/shop").body)[0]["max_value"], 5)


if __name__ == "__main__":
    unittest.main()
