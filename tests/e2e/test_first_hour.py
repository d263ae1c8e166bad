"""What newcomers write in their first hour, and what `weir check` says of it: each is told, at its place, with what to write instead.
The golden files hold the words."""

import os
import subprocess
import tempfile
import unittest

import golden

FLAG = "    then: [{over: 5, do: flag}]\n"
NBSP = "\u00a0"


def policy(lines):
    return "policies:\n  - name: p\n    watch: request\n" + lines


def condition(when):
    return policy(f"    key: ip\n    window: 10m\n    when: {when}\n{FLAG}")


def event(match):
    return f"events: {{e: {{match: {match}}}}}\npolicies:\n  - {{name: p, watch: e, key: ip, window: 1m, then: [{{over: 5, do: flag}}]}}\n"


def rungs(then):
    return policy(f"    key: ip\n    window: 10m\n    then: [{then}]\n")


def trust(networks):
    return f"proxy: {{upstream: 'http://127.0.0.1:1', client_ip: {{trust: [{networks}]}}}}\npolicies: []\n"


WARNINGS = {
    "everybody is trusted": trust("0.0.0.0/0, '::/0'"),
    "half of everybody is trusted": trust("0.0.0.0/1"),
    "a method in small letters": condition("'method == \"post\"'"),
    "a method in small letters in a list": condition("'method in [\"GET\", \"put\"]'"),
    "a host with its port": condition("'host == \"shop.example:8080\"'"),
    "a host in capitals": condition("'host != \"Shop.example\"'"),
    "a path without its slash": condition("'path == \"login\"'"),
    "a path with a query": condition("'path == \"/login?x=1\"'"),
    "a path with a slash at its end": condition("'path == \"/login/\"'"),
    "a path with letters that are not ASCII": condition("'path == \"/caf\u00e9\"'"),
    "a path with two slashes": condition("'path == \"/api//login\"'"),
    "a path with parameters": condition("'path in [\"/\", \"/a;b=1\"]'"),
    "a path with a star": condition("'path == \"/api/*\"'"),
    "a begin with a star": condition("'path.startsWith(\"/api/*\")'"),
    "paths with a bar": condition("'path.contains(\"wp-admin|phpmyadmin\")'"),
    "a pattern that is a glob": condition("'path.matches(\"/api/*\")'"),
    "an entry with a star": "lists: {l: {of: path, kind: deny, entries: ['/wp-admin/*']}}\npolicies: []\n",
    "a scheme that is none": condition("'scheme == \"HTTPS\"'"),
    "a status that is none": condition("'status == 40'"),
    "small letters beside capitals": condition("'header.x.lowerAscii() == \"Anna\"'"),
    "a segment as express has it": event("GET /api/:id"),
    "a segment as a shell has it": event("GET /api/$id"),
    "a segment as flask has it": event("GET /api/<id>"),
    "a route as a pattern": event("'GET /api/(.*)'"),
    "a threshold below nothing": rungs("{over: -5, do: flag}"),
    "a threshold that every event reaches": rungs("{at: 0, do: flag}"),
    "a condition that always holds": condition("1 == 1"),
    "a condition that never holds": condition("'1 > 2'"),
    "an event that always happens": "events: {e: {match: GET /a, when: 'true'}}\n" + policy(f"    key: ip\n    window: 1m\n{FLAG}"),
    "a rung that never holds": rungs("{if: 'false', do: flag}"),
    "a threshold with a condition that says nothing": rungs("{over: 5, if: 'true', do: flag}"),
    "a step that never comes": "events: {a: {match: GET /a}, b: {match: GET /b}}\npolicies:\n  - {name: p, sequence: [a, {event: b, when: 'false'}], "
                               "within: 1m, key: ip, then: [{do: flag}]}\n",
    "a view of nothing": "policies: []\nviews:\n  - {name: v, watch: request, when: 'false', by: path, window: {every: 1h}}\n",
    "everybody is denied": policy("    window: 1m\n    then: [{over: 100, do: deny, for: 1h}]\n"),
    "everybody is gray-listed until the window ends": policy("    window: {every: 1h}\n    then: [{over: 100, do: graylist, for: window}]\n"),
    "nothing is judged": "policies:\n",
}
DASHES = {
    "a header": "fields: {u: header.x-user-id}\npolicies: []\n",
    "a header as a key": policy("    key: header.x-user-id\n    window: 1m\n" + FLAG),
    "a header in a condition": condition("'header.x-user-id == \"anna\"'"),
    "a header with a method after it": condition("'header.user-agent.contains(\"bot\")'"),
    "a header that is asked for": condition("'has(header.x-device-id)'"),
    "a cookie": "fields: {u: cookie.session-id}\npolicies: []\n",
    "a member of the body": "fields: {u: body.user-name}\npolicies: []\n",
    "a header of the answer": "events: {e: {match: GET /, when: 'response.header.x-cache == \"hit\"'}}\npolicies: []\n",
}
FOREIGN = {
    "a rate limiter's policy": policy("    rate: 10\n    limit: 5\n    burst: 3\n    period: 1m\n    action: block\n"),
    "Envoy's file": "domain: shop\ndescriptors: [{key: user, rate_limit: {unit: minute}}]\n",
    "Envoy's policy": policy("    descriptors: [user]\n    domain: x\n    then: [{do: flag}]\n"),
    "CrowdSec's policy": policy("    filter: x\n    groupby: ip\n    capacity: 5\n    leakspeed: 10s\n    blackhole: 5m\n    then: [{do: flag}]\n"),
    "actions": rungs("{over: 9, do: block}, {over: 5, do: throttle}, {over: 3, do: captcha}, {over: 2, do: log}, {over: 1, do: ban}"),
    "words of a rung": rungs("{gt: 9, action: deny, duration: 5m}"),
    "lists": "lists: {a: {of: ip, kind: whitelist}, b: {type: deny, of: ip}}\npolicies: []\n",
    "a mode": policy("    mode: dry_run\n    key: ip\n    window: 1m\n" + FLAG),
    "an upstream at the top": "listen: 8080\nupstream: http://127.0.0.1:3000\npolicies: []\n",
    "fields of other languages": condition("'remote_addr == \"10.0.0.1\" && request.method == \"GET\" && user_agent != \"\"'"),
    "functions of other languages": condition("'lower(host) == \"a\" && len(path) > 5'"),
    "a metric": policy("    key: ip\n    metric: requests\n    window: 1m\n" + FLAG),
    "a window": policy("    key: ip\n    window: {size: 10m}\n" + FLAG),
    "an event": "events: {e: {route: /login, method: POST}}\npolicies: []\n",
}
LOOK_ALIKES = {
    "a no-break space that indents": f"policies:\n  - name: p\n{NBSP}   watch: request\n    window: 1m\n{FLAG}",
    "a no-break space before a value": policy(f"    key: ip\n    window:{NBSP}10m\n{FLAG}"),
    "full-width punctuation": policy("    key\uff1a ip\n    window: 10m\n    then: [{over: 5\uff0c do: flag}]\n"),
    "full-width brackets": policy("    key: ip\n    window: 10m\n    then: \uff3b{over: 5, do: flag}\uff3d\n"),
    "curly quotes": policy(f"    key: ip\n    window: 10m\n    when: path == \u201c/a\u201d\n{FLAG}"),
    "an expression in full width": condition("'path \uff1d\uff1d \"/a\"'"),
    "a no-break space in an expression": condition(f"'path{NBSP}== \"/a\"'"),
    "words in capitals": condition("path == \"/a\" AND method == \"GET\""),
    "another word in capitals": condition("path == \"/a\" Or method == \"GET\""),
    "a negation in capitals": condition("NOT has(header.x)"),
    "a value in capitals": condition("has(header.x) == TRUE"),
}


class FirstHour(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name

    def check(self, text, *flags):
        with open(os.path.join(self.directory, "weir.yaml"), "w", encoding="utf-8") as f:
            f.write("weir: 1\n" + text)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        done = subprocess.run([os.environ["WEIR_BINARY"], "check", *flags, "weir.yaml"], cwd=self.directory, env=environment,
                              capture_output=True, text=True, timeout=60, check=False)
        return done.stdout

    def expect(self, name, mistakes):
        out = ""
        for what, text in mistakes.items():
            said = self.check(text)
            self.assertRegex(said, ": (error|warning): ", f"nothing is said of {what}:\n{text}")
            out += f"## {what}\n{said}\n"
        self.assertEqual(golden.difference(f"app/{name}.txt", out), "")

    def test_what_is_legal_and_not_meant_is_warned_of(self):
        self.expect("check_warnings", WARNINGS)

    def test_names_with_dashes_get_the_right_spelling(self):
        self.expect("check_dashes", DASHES)

    def test_words_of_other_programs_get_a_hint(self):
        self.expect("check_foreign_words", FOREIGN)

    def test_characters_that_look_like_others_are_named(self):
        self.expect("check_look_alikes", LOOK_ALIKES)

    def test_prose_is_left_alone(self):
        said = self.check("# \u767b\u5f55\uff0c\u5931\u8d25\u3002\nlists: {office: {of: ip, kind: allow, entries: [{key: 10.0.0.0/8, why: "
                          "\u5408\u4f5c\uff0c\u5185\u90e8}]}}\npolicies:\n  - {name: p, watch: request, windw: 5m}\n")
        self.assertIn("did you mean \"window\"?", said)
        self.assertNotIn("full-width", said)

    def test_what_is_right_gets_one_line(self):
        text = "proxy: {upstream: 'http://127.0.0.1:1'}\n" + rungs("{over: 5, do: flag}")
        self.assertEqual(self.check(text), "weir.yaml: ok: 1 policy, 0 events, 0 lists, 0 tables\n")
        more = self.check(text, "-v")
        self.assertIn("\nmemory: ", more)
        self.assertIn("\nrecording: ", more)


if __name__ == "__main__":
    unittest.main()
