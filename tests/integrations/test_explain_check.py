"""weir explain --door: a check of Envoy's, or a call of its rate limit service, as JSON."""

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import peers  # noqa: E402

CONFIG = """weir: 1
api: {ext_authz: {prefix: /ext_authz}}
authz: {client_ip: {hops: 1}}
policies:
  - {name: banned, watch: request, when: 'path == "/banned" && ip == "203.0.113.5"', then: [{if: true, do: deny, status: 403}]}
  - {name: tier, watch: request, when: 'envoy.context.tier == "gold"', then: [{if: true, do: flag}]}
  - {name: sub, watch: request, when: 'envoy.metadata["jwt"].claims.sub == "alice"', then: [{if: true, do: flag}]}
  - {name: item, watch: request, when: 'body.item == "a"', then: [{if: true, do: flag}]}
"""


def explain(files, door, asked, *words):
    with tempfile.TemporaryDirectory() as directory:
        for name, text in {**files, "asked.json": asked if isinstance(asked, str) else json.dumps(asked)}.items():
            with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
                f.write(text)
        return subprocess.run([os.environ["WEIR_BINARY"], "explain", "-c", "weir.yaml", "--door", door, "asked.json", *words], cwd=directory,
                              capture_output=True, text=True, timeout=60, check=False)


class ExplainCheck(unittest.TestCase):
    @staticmethod
    def explain(check):
        return explain({"weir.yaml": CONFIG}, "ext_authz", check, "-o", "json")

    @staticmethod
    def check(path="/", **more):
        return {"attributes": {"source": {"address": {"socketAddress": {"address": "10.0.0.1", "portValue": 7}}},
                               "request": {"http": {"method": "POST", "path": path, "headers": {
                                   "x-forwarded-for": "9.9.9.9,203.0.113.5,10.0.0.1", "content-type": "application/json"},
                                   **more.pop("http", {})}}, **more}}

    def test_who_asks_and_what_for(self):
        refused = self.explain(self.check("/%62anned"))
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn('"banned"', refused.stdout)
        self.assertEqual(self.explain(self.check("/fine")).returncode, 0)

    def test_what_envoy_says_besides(self):
        for more, policy in (({"contextExtensions": {"tier": "gold"}}, "tier"), ({"context_extensions": {"tier": "gold"}}, "tier"),
                             ({"metadataContext": {"filterMetadata": {"jwt": {"claims": {"sub": "alice"}}}}}, "sub"),
                             ({"http": {"rawBody": base64.b64encode(b'{"item":"a"}').decode()}}, "item"),
                             ({"http": {"headers": {}, "headerMap": {"headers": [
                                 {"key": "x-forwarded-for", "value": "9.9.9.9,203.0.113.5,10.0.0.1"},
                                 {"key": "content-type", "rawValue": base64.b64encode(b"application/json").decode()}]},
                                 "body": '{"item":"a"}'}}, "item"),
                             ({"http": {"body": '{"item":"a"}'}}, "item")):
            told = self.explain(self.check(**more))
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertIn(f"X-Weir-Policy: {policy}", told.stdout.replace('"X-Weir-Policy":"', "X-Weir-Policy: ")
                          .replace('"X-Weir-Policy": "', "X-Weir-Policy: "), more)

    def test_what_is_wrong_is_said(self):
        for text, word in (("{", "JSON"), ("[]", "an object"), ('{"attributes":{"request":{"http":{"path":7}}}}', "path is a text"),
                           (json.dumps(self.check("/%zz")), "escape"),
                           (json.dumps(self.check(http={"headerMap": {"headers": [{"key": "a", "rawValue": "!"}]}})), "raw_value is base64")):
            told = self.explain(text)
            self.assertEqual(told.returncode, 2, told.stdout)
            self.assertIn(word, told.stderr)

    def test_other_flags_of_a_request_are_refused(self):
        for words in (("-X", "POST"), ("-H", "A: b"), ("-d", "x"), ("--ip", "10.0.0.1")):
            told = explain({"weir.yaml": CONFIG}, "ext_authz", self.check(), *words)
            self.assertEqual(told.returncode, 2, told.stdout)
            self.assertIn("--door reads the request from a file", told.stderr)


POLICIES = """weir: 1
policies:
  - {name: users, watch: {domain: shop, descriptors: {user: "*"}}, key: descriptor.user, window: {every: 1m}, then: [{over: 1, do: flag}, {over: 2, do: deny, tell: full}]}
  - {name: addresses, watch: {domain: shop, descriptors: {remote_address: "*"}}, key: ip, window: 1h, then: [{over: 9, do: deny}]}
"""
FILES = """weir: 1
ratelimit: {files: [limits.yaml], headers: true}
policies: []
"""
LIMITS = """domain: shop
descriptors:
  - key: user
    rate_limit: {unit: day, requests_per_unit: 3, name: per-user}
    descriptors:
      - {key: path, value: /login, rate_limit: {unit: minute, requests_per_unit: 1, name: logins, replaces: [{name: per-user}]}}
  - {key: path, value: "/a/*", shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 0, name: trial}}
  - {key: free, rate_limit: {unlimited: true}}
"""


class ExplainCall(unittest.TestCase):
    def test_the_page_shows_what_it_says(self):
        page = "envoy_ratelimit.md"
        call = self.call(([("remote_address", "203.0.113.7")], {"hitsAddend": 3}))
        call["domain"] = "web"
        said = explain({"weir.yaml": "weir: 1\n" + peers.policies_of(page)}, "ratelimit", call).stdout
        shown = peers.block(page, "console", "--door ratelimit").split("\n", 1)[1]
        self.assertEqual(re.sub(r"in \d+ s", "in n s", said), re.sub(r"in \d+ s", "in n s", shown))

    def test_a_list_refuses_a_call_that_nothing_else_judges(self):
        lists = "lists: {banned: {of: ip, kind: deny, entries: [10.0.0.66]}}\n"
        told = self.told(POLICIES.replace("policies:", lists + "policies:"), self.call([("remote_address", "10.0.0.66"), ("x", "y")]), 1)
        self.assertEqual(told["descriptors"][0]["judged"]["lists"][0]["name"], "banned")
        self.assertEqual(told["answer"]["overallCode"], "OVER_LIMIT")

    @staticmethod
    def call(*descriptors, **more):
        return {"domain": "shop", "descriptors": [
            {"entries": [{"key": key, "value": value} for key, value in entries], **extra} for entries, extra in
            ((d if isinstance(d, tuple) else (d, {})) for d in descriptors)], **more}

    def told(self, config, call, code=0, **files):
        done = explain({"weir.yaml": config, **{name + ".yaml": text for name, text in files.items()}}, "ratelimit", call, "-o", "json")
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)

    def test_policies_over_descriptors(self):
        told = self.told(POLICIES, self.call([("user", "ann")], [("remote_address", "10.0.0.9")], [("nobody", "x")]))
        user, address, nobody = told["descriptors"]
        self.assertEqual([line["name"] for line in user["judged"]["policies"]], ["users"])
        self.assertEqual(user["judged"]["policies"][0]["key"], {"descriptor.user": "ann"})
        self.assertEqual(user["judged"]["policies"][0]["counters"][0]["value"], "1")
        self.assertEqual(address["judged"]["policies"][0]["key"], {"ip": "10.0.0.9"})
        self.assertEqual(nobody["unjudged"], "no policy and no rule is for these entries")
        self.assertEqual(told["answer"]["overallCode"], "OK")
        self.assertEqual([status.get("limitRemaining", 0) for status in told["answer"]["statuses"]], [1, 8, 0])

    def test_each_descriptor_finds_what_those_before_it_counted(self):
        told = self.told(POLICIES, self.call([("user", "ann")], [("user", "ann")], [("user", "ann")]), 1)
        self.assertEqual([row["judged"]["policies"][0]["counters"][0]["value"] for row in told["descriptors"]], ["1", "2", "3"])
        self.assertEqual([row["judged"]["verdict"]["effect"] for row in told["descriptors"]], ["pass", "flag", "deny"])
        self.assertEqual([status["code"] for status in told["answer"]["statuses"]], ["OK", "OK", "OVER_LIMIT"])
        self.assertEqual(told["answer"]["overallCode"], "OVER_LIMIT")
        self.assertTrue(told["answer"]["rawBody"])

    def test_files_of_envoyproxy_ratelimit(self):
        told = self.told(FILES, self.call([("user", "ann"), ("path", "/login")], [("user", "ann")], [("path", "/a/1")], [("free", "")]), limits=LIMITS)
        login, user, trial, free = told["descriptors"]
        self.assertEqual(len(login["judged"]["policies"]), 1)
        self.assertEqual(user["unjudged"], "another descriptor of the call replaces its rule")
        self.assertTrue(trial["judged"]["policies"][0]["shadow"])
        self.assertIn("unlimited", free["status"])
        self.assertNotIn("unjudged", free)
        self.assertEqual([status.get("currentLimit", {}).get("name") for status in told["answer"]["statuses"]], ["logins", None, "trial", None])
        self.assertIn({"key": "RateLimit-Limit", "value": "1"}, told["answer"]["responseHeadersToAdd"])

    def test_hits_and_limits_that_the_call_brings_along(self):
        told = self.told(FILES, self.call(([("user", "ann")], {"hitsAddend": 4}), ([("user", "bob")], {"hits_addend": 0}), [("user", "eve")],
                                          ([("user", "joe")], {"limit": {"requestsPerUnit": 7, "unit": "HOUR"}}), hitsAddend=2), 1, limits=LIMITS)
        self.assertEqual([row["hits"] for row in told["descriptors"]], [4, 0, 2, 2])
        self.assertEqual([status["code"] for status in told["answer"]["statuses"]], ["OVER_LIMIT", "OK", "OK", "OK"])
        self.assertEqual([status.get("limitRemaining", 0) for status in told["answer"]["statuses"]], [0, 3, 1, 5])
        self.assertEqual(told["answer"]["statuses"][3]["currentLimit"], {"requestsPerUnit": 7, "unit": "HOUR"})

    def test_a_file_of_limitador(self):
        limits = """- {namespace: shop, max_value: 2, seconds: 60, conditions: ["descriptors[0].method == 'GET'"], variables: ["descriptors[0].user"]}
"""
        config = "weir: 1\nratelimit: {limitador: limits.yaml}\npolicies: []\n"
        for method, hits, code in (("GET", 2, 0), ("GET", 3, 1), ("PUT", 3, 0)):
            told = self.told(config, self.call([("method", method), ("user", "ann")], hitsAddend=hits), code, limits=limits)
            lines = told["descriptors"][0]["judged"]["policies"]
            self.assertEqual([line.get("skipped") is None for line in lines], [method == "GET"], lines)

    def test_for_people(self):
        done = explain({"weir.yaml": POLICIES}, "ratelimit", self.call(([("user", "ann")], {"hitsAddend": 3}), [("nobody", "\x1b[31m")]))
        self.assertEqual(done.returncode, 1, done.stderr)
        for text in ("a call in domain shop with 2 descriptors\n", "\ndescriptor 1: user=ann, 3 hits\n", "policies\n  users  on ",
                     "key descriptor.user=ann\n", "holds  over 2: deny", "\nverdict  deny by users", "\nstatus   OVER_LIMIT: 2 in a minute (users), 0 left",
                     "\ndescriptor 2: nobody=\\u001b[31m, 1 hit\nno policy and no rule is for these entries\nstatus   OK: no limit\n",
                     "\nanswer   OVER_LIMIT\n  to the client: Retry-After: "):
            self.assertIn(text, done.stdout)
        self.assertNotIn("addresses", done.stdout)
        unknown = explain({"weir.yaml": POLICIES}, "ratelimit", {"domain": "other", "descriptors": [{"entries": [{"key": "a"}]}]})
        self.assertEqual(unknown.returncode, 0, unknown.stderr)
        self.assertIn("no policy and no file of `ratelimit` has its domain", unknown.stdout)

    def test_what_is_wrong_is_said(self):
        entry = {"entries": [{"key": "user", "value": "ann"}]}
        for text, word in (("{", "JSON"), ("[]", "object"), ({"descriptors": [entry]}, "the domain is empty"),
                           ({"domain": "shop"}, "there is no descriptor"), ({"domain": "shop", "descriptor": []}, '"descriptor" is n'),
                           ({"domain": "shop", "descriptors": [{**entry, "limit": {"unit": "FORTNIGHT"}}]}, "unit"),
                           ({"domain": "shop", "descriptors": [{**entry, "limit": {"requestsPerUnit": 1}}]}, "unit"),
                           ({"domain": "shop", "descriptors": [{"entries": [{"key": 7}]}]}, '"key" is n'),
                           ({"domain": "shop", "descriptors": [entry], "hitsAddend": -1}, '"hitsAddend" is n')):
            done = explain({"weir.yaml": POLICIES}, "ratelimit", text)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("asked.json: ", done.stderr)
            self.assertIn(word, done.stderr)

    def test_a_file_that_is_not_there(self):
        with tempfile.TemporaryDirectory() as directory:
            config = os.path.join(directory, "weir.yaml")
            with open(config, "w", encoding="utf-8") as f:
                f.write(POLICIES)
            done = subprocess.run([os.environ["WEIR_BINARY"], "explain", "-c", config, "--door", "ratelimit", "nowhere.json"],
                                  capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("nowhere.json: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
