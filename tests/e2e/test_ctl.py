"""`weir ctl` against a running weir: every command, for people and for programs, and its exit codes."""

import json
import os
import subprocess
import threading
import unittest

from http_client import once
from origin import Origin, answer
from weir_process import Weir, eventually

POLICIES = """
lists:
  banned: {of: ip, kind: deny}
  office: {of: ip, kind: allow, entries: [{key: 10.0.0.0/8, why: the office}]}
events:
  create: {match: POST /orders, fields: {order: query.id}}
  pay: {match: POST /pay, fields: {order: query.id}}
policies:
  - name: hits-per-ip
    watch: request
    key: ip
    window: 10m
    then: [{over: 2, do: flag}, {over: 4, do: graylist, for: 15m}]
  - name: hits-per-path
    watch: request
    key: [ip, path]
    window: {last: 1h, exact: true}
    then: [{over: 100, do: deny}]
  - name: unpaid
    sequence: [create, no pay]
    within: 15m
    key: order
    then: [{do: graylist, for: 1h}]
views:
  - {name: hot-paths, watch: request, by: path, window: {every: 1h}, top: 3}
"""


class Ctl(unittest.TestCase):
    def setUp(self):
        self.origin = self.enterContext(Origin(lambda _: answer(200, b"ok")))
        self.weir = self.enterContext(Weir(POLICIES, self.origin.port))

    def ctl(self, *arguments, code=0):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        environment["WEIR_ADMIN_LISTEN"] = f"127.0.0.1:{self.weir.admin_port}"
        done = subprocess.run([self.weir.binary, "ctl", *arguments], capture_output=True, text=True, timeout=60,
                              env=environment, check=False)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        if code == 0:
            self.assertEqual(done.stderr, "", arguments)
        return done.stdout if code == 0 else done.stdout + done.stderr

    def send(self, times, ip="203.0.113.7", path="/"):
        for _ in range(times):
            once(self.weir.port, "GET", path, headers=[("X-Forwarded-For", ip)])

    def test_what_was_counted_and_listed_can_be_seen_and_changed(self):
        self.send(6)
        self.assertRegex(self.ctl("counter", "hits-per-ip", "203.0.113.7"), r"(?m)^hits-per-ip  203\.0\.113\.7\n.*\n.* 6 ")
        self.assertIn(" 6 ", self.ctl("counter", "hits-per-path", "203.0.113.7", "/"))
        data = json.loads(self.ctl("-o", "json", "counter", "hits-per-ip", "203.0.113.7"))
        self.assertEqual(data["counters"][0]["value"], 6)
        self.assertIn("1 counter emptied for 203.0.113.7", self.ctl("counter", "hits-per-ip", "203.0.113.7", "--reset"))
        data = json.loads(self.ctl("-o", "json", "counter", "hits-per-ip", "203.0.113.7"))
        self.assertEqual(data["counters"][0]["value"], 0)

        self.assertRegex(self.ctl("policy"), r"(?m)^hits-per-ip +enforce +request +ip")
        self.assertIn("name: hits-per-ip\n", self.ctl("policy", "hits-per-ip"))
        self.assertRegex(self.ctl("top"), r"(?m)^POLICY +MODE +.*\nhits-per-ip +enforce")
        self.assertEqual(len(self.ctl("-o", "json", "top", "-n", "2", "--interval", "100ms").splitlines()), 2)
        self.assertIn("hot-paths", self.ctl("view"))
        self.assertIn("config:\n", self.ctl("status"))

        self.assertRegex(self.ctl("list"), r"(?m)^banned +deny +ip +0 ")
        self.assertRegex(self.ctl("list", "hits-per-ip"), r"(?m)^203\.0\.113\.7 .*hits-per-ip \d/4$")
        self.assertIn("the office", self.ctl("list", "office", "10.1.2.3"))
        self.assertEqual(self.ctl("list", "banned", "203.0.113.8", code=1), "not listed\n")
        self.assertIn("203.0.113.8 is on banned until ",
                      self.ctl("list", "banned", "203.0.113.8", "--add", "--for", "1h", "--why", "scraping"))
        self.assertIn("scraping", self.ctl("list", "banned", "203.0.113.8"))
        self.assertEqual(once(self.weir.port, "GET", "/", headers=[("X-Forwarded-For", "203.0.113.8")]).status, 403)
        self.assertEqual(self.ctl("list", "banned", "203.0.113.8", "--remove"), "203.0.113.8 is off banned\n")
        self.assertEqual(self.ctl("list", "banned", "203.0.113.8", "--remove"), "203.0.113.8 was not listed\n")

    def test_reloads_and_drains_are_told_in_words(self):
        self.assertRegex(self.ctl("reload"), r"\Areloaded, configuration [0-9a-f]{32}, 1 warning\n")
        self.weir.write(POLICIES.replace("window: 10m", "windw: 10m"))
        said = self.ctl("reload", code=1)
        self.assertIn("not reloaded: the configuration before it stays in force\n", said)
        self.assertIn(': error: unknown key "windw" in a policy\n    did you mean "window"?\n', said)
        self.assertFalse(json.loads(self.ctl("-o", "json", "reload", code=1))["ok"])
        self.assertEqual(self.ctl("drain", "--begin"), "draining: not ready any more, still serving\n")
        self.assertEqual(self.ctl("drain", "--end"), "not draining: ready\n")

    def test_a_tail_shows_verdicts_as_they_come(self):
        shown = []
        tail = threading.Thread(target=lambda: shown.append(self.ctl("tail", "-n", "3", "--interval", "100ms")))
        tail.start()
        # It has asked once when weir keeps verdicts: send until it has seen enough.
        eventually(lambda: self.send(1) or not tail.is_alive(), 30, "three verdicts in the tail")
        tail.join()
        self.assertEqual(len(shown[0].splitlines()), 3)
        self.assertIn("203.0.113.7", shown[0])

    def test_mistakes_are_told_by_words_and_exit_codes(self):
        for arguments, code, words in (
                (("status", "extra"), 2, "extra"),
                (("policy", "hits-per-pi"), 1, 'there is no policy of that name; did you mean "hits-per-ip"?'),
                (("list", "baned"), 1, 'did you mean "banned"?'),
                (("view", "hot-path"), 1, 'did you mean "hot-paths"?'),
                (("list", "hits-per-pi", "203.0.113.8", "--forgive"), 1, 'did you mean "hits-per-ip"?'),
                (("counter", "hits-per-pi", "203.0.113.8"), 1, 'did you mean "hits-per-ip"?'),
                (("table", "gold"), 1, "there is no table of that name"),
                (("policy", "something"), 1, "there is no policy of that name; there are hits-per-ip, hits-per-path and unpaid"),
                (("tail", "--policy", "hits-per-pi"), 1, 'there is neither a policy nor a list "hits-per-pi"; did you mean "hits-per-ip"?'),
                (("tail", "--policy", "baned"), 1, 'did you mean "banned"?'),
                (("tail", "--verdict", "deny,gryalist"), 2, '"gryalist" is none of flag, graylist, delay, challenge, deny; did you mean "graylist"?'),
                (("top", "keys", "--policy", "hits-per-pi"), 1, 'did you mean "hits-per-ip"?'),
                (("top", "--policy", "hits-per-ip"), 2, "--policy and --verdict go with keys"),
                (("counter",), 2, 'try "weir ctl counter --help"'),
                (("counter", "hits-per-ip"), 1, "key"),
                (("counter", "unpaid", "1"), 1, "it waits for a pattern"),
                (("list", "banned", "203.0.113.8", "--add"), 2, "--add needs --for"),
                (("list", "banned", "203.0.113.8", "--for", "1h"), 2, "--for and --until go with --add"),
                (("list", "banned", "--remove"), 2, "--remove needs a list and a key"),
                (("list", "banned", "203.0.113.8", "--add", "--for", "soon"), 1, "--for: "),
                (("list", "office", "10.1.2.3", "--remove"), 1, "only the file can remove it"),
                (("drain",), 2, "drain needs --begin or --end"),
                (("top", "--interval", "1ms"), 2, "at least 100ms"),
                (("--admin", "127.0.0.1:1", "status"), 4, "does not answer"),
                (("--admin", "https://localhost", "status"), 2, "neither HOST:PORT nor unix:/path"),
        ):
            with self.subTest(arguments=arguments):
                self.assertIn(words, self.ctl(*arguments, code=code))


if __name__ == "__main__":
    unittest.main()
