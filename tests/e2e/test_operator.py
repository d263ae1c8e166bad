"""The operator's hour by command line: why is it blocked, how is it let go, what can be taken back."""

import json
import os
import re
import subprocess
import threading
import unittest

from http_client import Client, once
from origin import Origin, answer
from weir_process import Weir, eventually

POLICIES = """
fields: {user: header.x_user_id}
events:
  login: {match: POST /login}
  login_failed: {is: login, when: 'status == 401'}
lists:
  office: {of: ip, kind: allow, entries: [{key: 10.0.0.0/8, why: the office}]}
  banned: {of: ip, kind: deny}
policies:
  - name: login-per-ip
    watch: login_failed
    key: ip
    window: 10m
    then:
      - {over: 5, do: flag}
      - {over: 10, do: deny, for: 1h}
  - name: per-user-and-ip
    watch: login
    key: [ip, user]
    window: 10m
    then: [{over: 3, do: graylist, for: 1h}]
  - name: everybody
    watch: request
    window: 10m
    when: 'path == "/flood"'
    then: [{over: 2, do: deny, for: 1h}]
"""


class Operator(unittest.TestCase):
    def setUp(self):
        self.origin = self.enterContext(Origin(lambda request: answer(401 if request.path == "/login" else 200, b"ok")))
        self.weir = self.enterContext(Weir(POLICIES, self.origin.port))

    def ctl(self, *arguments, code=0, stdin=None):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        environment["WEIR_ADMIN_LISTEN"] = f"127.0.0.1:{self.weir.admin_port}"
        done = subprocess.run([self.weir.binary, "ctl", *arguments], capture_output=True, text=True, timeout=60,
                              env=environment, check=False, input=stdin)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        return done.stdout if code == 0 else done.stdout + done.stderr

    def json(self, *arguments, code=0):
        return json.loads(self.ctl("-o", "json", *arguments, code=code))

    def test_an_entry_of_a_silenced_policy_is_seen_and_lifted(self):
        def login(ip):
            return self.status(ip, "/login", "POST")

        for ip in ("203.0.113.7", "203.0.113.8"):
            for _ in range(11):
                login(ip)
            self.assertEqual(login(ip), 403)
        self.ctl("policy", "login-per-ip", "shadow", "--for", "10m", "--reason", "too strict")
        self.assertEqual([login(ip) for ip in ("203.0.113.7", "203.0.113.8")], [401, 401])
        why = self.ctl("why", "203.0.113.7")
        self.assertIn("which acts on nobody until the override of its policy ends", why)
        self.assertIn("lift: weir ctl list login-per-ip:deny 203.0.113.7 --forgive", why)
        self.assertIn("203.0.113.7", self.ctl("list", "login-per-ip:deny"))
        self.ctl("list", "login-per-ip:deny", "203.0.113.7", "--forgive")
        self.ctl("policy", "login-per-ip", "restore")
        self.assertEqual([login(ip) for ip in ("203.0.113.7", "203.0.113.8")], [401, 403])

    def status(self, ip, path="/", method="GET", user=None):
        headers = [("X-Forwarded-For", ip)] + ([("X-User-Id", user)] if user else [])
        return once(self.weir.port, method, path, headers=headers).status

    def tries(self, times, ip, user=None):
        return [self.status(ip, "/login", "POST", user) for _ in range(times)]

    def changes(self):
        """What operators have changed by the admin door, as the log has it."""
        return [line for line in self.weir.logged("audit") if line["from"] != "weir itself"]

    def test_the_hour(self):
        """An attack begins, is found and explained; one victim is forgiven; the policy is silenced and enforced again; a
        threshold is tried; and all of it is in the log."""
        for host in range(1, 6):
            self.tries(11, f"203.0.113.{host}")
        self.assertEqual(len(self.json("list", "login-per-ip")["entries"]), 5)
        victim = "203.0.113.3"
        self.assertIn("is on login-per-ip:deny (deny) until ", self.ctl("why", victim))
        self.assertIn("login-per-ip", self.ctl("explain", "-X", "POST", "--ip", victim, "/login", code=1))
        self.ctl("list", "login-per-ip", victim, "--forgive")
        self.assertEqual(self.status(victim, "/login", "POST"), 401)
        self.assertEqual(self.status("203.0.113.4", "/login", "POST"), 403)
        self.ctl("policy", "login-per-ip", "shadow", "--for", "10m", "--reason", "ticket 4711")
        self.assertEqual(self.status("203.0.113.4", "/login", "POST"), 401)
        self.ctl("policy", "login-per-ip", "restore")
        self.assertEqual(self.status("203.0.113.4", "/login", "POST"), 403)
        self.ctl("policy", "login-per-ip", "set", "deny.over=7", "--for", "10m", "--reason", "try seven")
        self.assertEqual(self.tries(8, "203.0.113.77"), [401] * 7 + [429])
        self.ctl("list", "login-per-ip", "--remove", "--all")
        noted = eventually(lambda: (lines := self.changes()) and len(lines) == 5 and lines)
        self.assertEqual([line["action"] for line in noted],
                         ["list.remove", "override.set", "override.end", "override.set", "list.clear"])
        self.assertEqual([line.get("reason") for line in noted], [None, "ticket 4711", None, "try seven", None])
        self.assertEqual(noted[0]["key"], self.json("hash", victim)["hashes"][0]["hash"])
        self.assertEqual({(line["who"], line["done"]) for line in noted}, {("127.0.0.1", "yes")})

    def test_why_says_what_stands_against_an_address_and_its_commands_lift_it(self):
        self.assertEqual(self.tries(12, "203.0.113.9")[-1], 403)
        data = self.json("why", "203.0.113.9")
        self.assertTrue(data["listed"])
        self.assertEqual(data["effect"], "deny")
        entry = next(entry for entry in data["entries"] if entry["list"] == "login-per-ip:deny")
        self.assertEqual((entry["policy"], entry["value"], entry["limit"]), ("login-per-ip", 11, 10))
        self.assertTrue(entry["until"])
        counter = next(counter for counter in data["counters"] if counter["policy"] == "login-per-ip")
        self.assertEqual(counter["value"], 10)
        self.assertEqual([rung["holds"] for rung in counter["rungs"]], [True, False])
        text = self.ctl("why", "203.0.113.9")
        self.assertIn("203.0.113.9 is on login-per-ip:deny (deny) until ", text)
        self.assertIn("the count stands at 10 of 10: the next login_failed lists again", text)
        self.assertIn("lift: weir ctl list login-per-ip:deny 203.0.113.9 --remove", text)
        self.assertIn("silence: weir ctl policy login-per-ip shadow --for 10m --reason TEXT", text)
        self.assertIn("allow list", self.ctl("why", "10.1.2.3"))
        self.assertIn("is on no list, and nothing counts it", self.ctl("why", "198.51.100.1"))
        # The second command that it prints, word for word: the entry and the count.
        command = next(c for c in entry["commands"] if c.endswith("--forgive"))
        self.ctl(*command.split()[2:])
        self.assertEqual(self.tries(1, "203.0.113.9"), [401])
        self.assertFalse(self.json("why", "203.0.113.9")["listed"])

    def test_a_word_is_found_in_keys_of_several_parts(self):
        self.tries(4, "203.0.113.5", "alice")
        data = self.json("why", "alice")
        self.assertEqual([entry["key"] for entry in data["entries"]], [["203.0.113.5", "alice"]])
        self.assertIn("weir ctl list per-user-and-ip:graylist 203.0.113.5 alice --remove", data["entries"][0]["commands"])

    def test_removing_says_what_remains_and_forgiving_leaves_nothing(self):
        self.tries(12, "203.0.113.9")
        said = self.ctl("list", "login-per-ip", "203.0.113.9", "--remove")
        self.assertIn("203.0.113.9 is off login-per-ip\n", said)
        self.assertIn("the count stands at 10 of 10: the next login_failed lists again", said)
        self.assertEqual(self.tries(2, "203.0.113.9")[-1], 403)  # it does
        said = self.ctl("list", "login-per-ip", "203.0.113.9", "--forgive")
        self.assertIn("login-per-ip: the count is empty", said)
        self.assertEqual(set(self.tries(10, "203.0.113.9")), {401})

    def test_a_sweep_is_tried_first_and_undone_by_its_token(self):
        for n in range(1, 31):
            self.ctl("list", "banned", f"198.51.100.{n}", "--add", "--for", "1h")
        self.assertIn("would remove 30 entries of banned", self.ctl("list", "banned", "--remove", "--all", "--dry-run"))
        self.assertEqual(self.status("198.51.100.7"), 403)
        self.assertEqual(self.json("list", "banned", "--remove", "--all", "--since", "2099-01-01")["matched"], 0)
        before = self.json("list", "banned", "198.51.100.7")["entries"][0]
        said = self.ctl("list", "banned", "--remove", "--all", "--since", "1h")
        self.assertRegex(said, r"removed 30 entries of banned since 20[0-9-]+T[0-9:.]+Z\n")
        self.assertEqual(self.status("198.51.100.7"), 200)
        token = re.search(r"weir ctl undo ([0-9a-f]{16})", said)[1]
        self.assertIn(token, self.ctl("undo"))
        self.assertEqual(self.ctl("undo", token), "undone (removed 30 entries of banned): 30 entries are back\n")
        after = self.json("list", "banned", "198.51.100.7")["entries"][0]
        self.assertEqual({k: v for k, v in after.items() if k != "left_seconds"},
                         {k: v for k, v in before.items() if k != "left_seconds"})
        self.assertEqual(self.status("198.51.100.7"), 403)
        self.assertIn("works once", self.ctl("undo", token, code=1))

    def test_lists_go_out_and_come_back_as_csv_and_json(self):
        self.ctl("list", "banned", "198.51.100.1", "--add", "--for", "1h", "--why", 'a "quoted", word')
        self.ctl("list", "banned", "2001:db8::1", "--add", "--until", "2099-01-01T00:00:00Z")
        for kind, flags in (("csv", ()), ("json", ("-o", "json"))):
            with self.subTest(kind=kind):
                text = self.ctl(*flags, "list", "banned", "--export")
                self.ctl("list", "banned", "--remove", "--all")
                said = self.ctl("list", "banned", "--import", "-", stdin=text)
                self.assertIn("2 entries read into banned: 2 new", said)
                data = self.json("list", "banned", "198.51.100.1")["entries"][0]
                self.assertEqual(data["why"], 'a "quoted", word')
                self.assertEqual(self.json("list", "banned", "2001:db8::1")["entries"][0]["until"], "2099-01-01T00:00:00.000Z")
                self.assertEqual(self.ctl(*flags, "list", "banned", "--export").count("\n"), text.count("\n"))
        many = "ip,until,why\n" + "".join(f"192.0.{i // 250}.{i % 250},,bulk\n" for i in range(3000))
        self.assertIn("3,000 entries can be read", self.ctl("list", "banned", "--import", "-", "--dry-run", stdin=many))
        said = self.ctl("list", "banned", "--import", "-", stdin=many)
        self.assertEqual(self.status("192.0.7.7"), 403)
        token = re.search(r"weir ctl undo (\w+)", said)[1]
        self.assertEqual(self.ctl("undo", token), "undone (imported into banned): 3000 entries are off again\n")
        self.assertEqual(self.status("192.0.7.7"), 200)
        for wrong, words in (("ip\nnowhere\n", "entry 1: "), ('ip\n"1.2.3.4\n', "a quote is not closed"), ("{", "not JSON"),
                             ('[{"key": 7}]', "entry 1: "), ("ip,until\n1.2.3.4,soon\n", "`until`")):
            with self.subTest(wrong=wrong):
                self.assertIn(words, self.ctl("list", "banned", "--import", "-", code=1, stdin=wrong))

    def test_the_entry_of_a_policy_without_a_key_is_removed_without_a_key(self):
        for _ in range(4):
            self.status("198.51.100.1", "/flood")
        self.assertEqual(self.status("198.51.100.2", "/flood"), 403)
        self.assertIn("the entry for all is off everybody", self.ctl("list", "everybody", "--forgive"))
        self.assertEqual(self.status("198.51.100.2", "/flood"), 200)
        self.assertIn("--remove needs a list and a key", self.ctl("list", "banned", "--remove", code=2))

    def test_a_policy_is_silenced_for_a_while_and_its_counters_go_on(self):
        self.assertEqual(self.tries(12, "203.0.113.9")[-1], 403)
        said = self.ctl("policy", "login-per-ip", "shadow", "--for", "2s", "--reason", "ticket 4711")
        self.assertRegex(said, r"login-per-ip: shadow until \S+ \(\S+ left\): ticket 4711\n")
        self.assertIn("its counters go on counting", said)
        self.assertEqual(self.tries(1, "203.0.113.9"), [401])
        self.assertEqual(self.json("policy", "login-per-ip")["mode"], "shadow")
        for command in ("status", "policy"):
            self.assertIn("login-per-ip: shadow until ", self.ctl(command))
        self.assertIn("login-per-ip (shadow)", self.ctl("why", "203.0.113.9"))
        self.weir.write(POLICIES + "# a comment\n")  # it survives a reload
        self.assertIn("reloaded", self.ctl("reload"))
        self.assertEqual(self.json("policy", "login-per-ip")["overrides"][0]["reason"], "ticket 4711")
        self.assertGreaterEqual(self.json("counter", "login-per-ip", "203.0.113.9")["counters"][0]["value"], 11)
        eventually(lambda: self.json("policy", "login-per-ip")["mode"] == "enforce", 10, "the end of the override")
        self.assertEqual(self.tries(1, "203.0.113.9"), [403])  # its entry acts again
        self.assertEqual(len(self.weir.logged("an override is in force")), 1)
        self.assertEqual(len(eventually(lambda: self.weir.logged("an override has ended"))), 1)
        changed = self.changes()
        self.assertEqual((changed[0]["action"], changed[0]["reason"]), ("override.set", "ticket 4711"))

    def test_a_threshold_is_set_for_a_while(self):
        self.assertEqual(self.tries(11, "203.0.113.9")[-1], 429)
        self.ctl("list", "login-per-ip", "203.0.113.9", "--forgive")
        self.assertIn("means several rungs of this policy", self.ctl("policy", "login-per-ip", "set", "over=20", "--for", "1m", code=1))
        self.assertIn("its counters keep", self.ctl("policy", "login-per-ip", "set", "deny.over=14", "--for", "1m"))
        self.assertEqual(set(self.tries(14, "203.0.113.9")), {401})
        self.assertEqual(self.tries(1, "203.0.113.9"), [429])
        self.assertIn("deny.over=14", self.ctl("status"))
        self.assertIn("as the files say", self.ctl("policy", "login-per-ip", "restore"))
        self.assertEqual(self.json("status")["overrides"], [])
        self.ctl("policy", "everybody", "set", "over=4", "--for", "1m")
        self.assertEqual([self.status("198.51.100.1", "/flood") for _ in range(5)], [200] * 4 + [429])
        for arguments, code, words in (
                (("policy", "login-per-ip", "shadow"), 2, "--for"),
                (("policy", "login-per-ip", "quiet", "--for", "1m"), 2, "is not a change of a policy"),
                (("policy", "login-per-ip", "set", "over", "--for", "1m"), 2, "is not like over=20"),
                (("policy", "login-per-ip", "set", "over=99999999999999999999", "--for", "1m"), 2, "9223372036854775807"),
                (("policy", "login-per-ip", "set", "over=few", "--for", "1m"), 2, '"few" is no'),
                (("policy", "login-per-pi", "shadow", "--for", "1m"), 1, 'did you mean "login-per-ip"?'),
                (("policy", "login-per-ip", "restore"), 1, "there is no override"),
                (("policy", "login-per-ip", "shadow", "--for", "100d"), 1, "31 days"),
        ):
            with self.subTest(arguments=arguments):
                self.assertIn(words, self.ctl(*arguments, code=code))

    def test_an_override_says_which_counters_it_replaces(self):
        """Whether a rung clears the count is a part of the counter: with another threshold, or in shadow, it is another one."""
        self.weir.write(POLICIES + """  - {name: bursts, watch: login, key: ip, window: 10m, then: [{over: 9, do: flag, clear: true}]}
""")
        self.ctl("reload")
        self.tries(5, "203.0.113.9")
        value = lambda: self.json("counter", "bursts", "203.0.113.9")["counters"][0]["value"]
        self.assertEqual(value(), 5)
        replaced = "until the override ends, policy bursts uses another counter (count over the last 10m)"
        for change in (("set", "over=8"), ("shadow",)):
            with self.subTest(change=change):
                told = self.ctl("policy", "bursts", *change, "--for", "1m")
                self.assertIn(replaced, told)
                self.assertNotIn("counters keep", told)
                self.assertNotIn("go on counting", told)
                self.assertEqual(value(), 0)
                self.ctl("policy", "bursts", "restore")
                self.assertEqual(value(), 5)
        self.assertNotIn("another counter", self.ctl("policy", "login-per-ip", "shadow", "--for", "1m"))

    def test_a_dump_has_what_support_needs_and_no_secret(self):
        self.weir.write(POLICIES + "notify: {ops: {webhook: 'http://ops:hunter2@127.0.0.1:9/x', per_minute: 1}}\n")
        self.ctl("reload")
        # Values from clients, and sources of lists: the dump names both.
        more = POLICIES.replace("policies:\n", """  feed: {of: ip, kind: deny, url: {url: 'http://127.0.0.1:9/list.txt?api_key=hunter8'}}
tables:
  failures: {by: [user], values: {"*": 9}}
policies:
  - name: with-a-token
    watch: request
    when: 'query.token != "hunter4" && header.x_api_key in ["hunter5", "hunter6"] && header.authorization == "Bearer hunter7"'
    key: ip
    window: 1m
    then: [{over: 900, do: flag}]
""")
        self.weir.write(more + "notify: {ops: {webhook: 'http://ops:hunter3@127.0.0.1:9/x', per_minute: 2}}\n")
        self.assertIn("reloaded", self.ctl("reload"))
        self.ctl("list", "banned", "203.0.113.99", "--add", "--for", "1h", "--reason", "ticket 4711")
        self.ctl("list", "banned", "203.0.113.99", "--remove")
        self.ctl("table", "failures", "set", "*=8", "--by", "ann")
        path = os.path.join(self.weir.directory, "dump.json")
        self.assertIn("secrets masked; the keys of tables", self.ctl("support-dump", path))
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        self.assertNotIn("hunter", text)
        self.assertIn("list.txt?api_key=*", text)
        self.assertIn("with-a-token", text)
        shown = self.json("config")
        self.assertEqual(json.loads(text)["config"], shown, "weir's mask is not laid over itself")
        dump = json.loads(text)
        self.assertIn("weir_connections_total", dump["metrics"])
        self.assertEqual({*dump} - {"made", "ctl_version"}, {"status", "config", "policies", "overrides", "reloads", "lists", "views",
                                                              "lineage", "tables", "replicas", "audit", "metrics"})
        self.assertNotIn("203.0.113.99", text)
        self.assertIn(("list.add", "ticket 4711"), [(each["action"], each.get("reason")) for each in dump["audit"]["entries"]])
        self.assertEqual(dump["tables"]["tables"][0]["set_here"], [{"key": "*", "value": 8}])
        self.assertEqual([each["self"] for each in dump["replicas"]["replicas"]], [True])
        self.assertIn("# table failures: 1 limit is other than in the files (weir ctl table failures history):\n#   *  8\n", self.ctl("config"))
        self.assertIn("login-per-ip", dump["config"]["files"][0]["text"])
        self.assertIn("per_minute: 2", self.ctl("reloads"))
        self.assertNotIn("hunter", self.ctl("config"))
        self.assertNotIn("hunter", self.weir.log())

    def test_limits_of_a_table_are_told(self):
        self.weir.write("""
fields: {user: header.x_user_id}
events: {reward: {match: POST /reward, fields: {gold: int(header.x_gold), shop: header.x_shop, os: header.x_os}}}
tables: {gold_limit: {by: [shop, os], values: {baidu: {android: 3000, ios: 2500}, "*": 1500}}}
policies:
  - {name: gold-per-user, watch: reward, key: user, metric: sum(gold), window: 1h, then: [{over: gold_limit, do: graylist, for: 1h}]}
""")
        self.assertEqual(self.weir.reload()[0], 200)
        once(self.weir.port, "POST", "/reward", headers=[("X-User-Id", "bob"), ("X-Gold", "4000"), ("X-Shop", "baidu"), ("X-Os", "android")])
        told = ("the sum stands at 4000, listed at 3000; gold_limit has 1500 to 3000 by shop, os: the next reward lists again "
                "while it does")
        why = self.ctl("why", "bob")
        self.assertIn(f"      over gold_limit: graylist for 1h  <- reached\n        {told}\n", why)
        self.assertIn("over gold_limit: graylist for 1h (1500 to 3000)", self.ctl("counter", "gold-per-user", "bob"))
        self.assertEqual(self.ctl("list", "gold-per-user", "bob", "--remove"),
                         f"bob is off gold-per-user\ngold-per-user: {told} (--forgive empties the count)\n")

    def test_networks_and_entries_of_files(self):
        with open(os.path.join(self.weir.directory, "feed.txt"), "w", encoding="ascii") as f:
            f.write("198.51.100.0/24, 2099-01-01, feed partner\n")
        with open(os.path.join(self.weir.directory, "pairs.csv"), "w", encoding="ascii") as f:
            f.write("alice,192.0.2.77\n")
        self.weir.write(POLICIES.replace("lists:\n", "lists:\n  feed: {of: ip, kind: deny, file: feed.txt}\n"
                                                     "  pairs: {of: [user, ip], kind: deny, file: pairs.csv}\n"))
        self.assertEqual(self.weir.reload()[0], 200)
        why = self.ctl("why", "198.51.100.5")
        self.assertIn("  feed  198.51.100.0/24  deny, deny, until 2099-01-01", why)
        self.assertIn("the entry 198.51.100.0/24 comes from ", why)
        self.assertIn("NOT SEARCHED\n  pairs: 1 entry of ", self.ctl("why", "alice"))
        self.assertIn("alice, 192.0.2.77 is on pairs (deny)", self.ctl("why", "alice", "192.0.2.77"))
        self.assertIn("is a network: ask for an address in it", self.ctl("why", "203.0.113.0/24", code=1))
        self.assertIn("the key is empty", self.ctl("why", "", code=1))
        self.assertIn("give the name of a person", self.ctl("dashboard", "--as", "", code=2))
        self.assertIn("198.51.100.0/24", self.ctl("list", "feed", "198.51.100.128/25"))
        self.assertIn("10.0.0.0/8", self.ctl("list", "office", "10.0.0.0/8"))
        self.assertIn("not listed", self.ctl("list", "banned", "1.2.3.0/24", code=1))
        self.assertIn("is a network", self.ctl("list", "banned", "1.2.3.0/24", "--add", "--for", "1h", code=1))
        self.assertIn("is a network", self.ctl("list", "banned", "--import", "-", stdin="key\n1.2.3.0/24\n", code=1))

    def test_a_key_of_any_characters_is_shown_taken_off_and_put_back(self):
        """Commas, quotes, blanks, letters of other scripts, a line feed, and nothing at all."""
        odd = ["a, b", 'say "hi", he said', '"quoted"', " blank ", "张三", "line\nfeed", "=1+1", "'x", ""]
        keys = [[user, ip] for user in odd for ip in ("192.0.2.7",)]
        self.weir.write(POLICIES + """  - name: per-name
    watch: request
    when: 'path == "/named"'
    key: [header.x_name, ip]
    missing: same
    window: 10m
    then: [{over: 0, do: graylist, for: 1h}]
""" + "".join(f"""  - name: {name}
    watch: request
    when: 'path == "/{name}"'
    {key}
    window: 10m
    then: [{{over: 0, do: graylist, for: 1h}}]
""" for name, key in (("nameless", "key: query.name"), ("keyless", ""))))
        self.assertIn("reloaded", self.ctl("reload"))
        rows = [{"key": key, "for": "1h", "why": "odd"} for key in keys]
        self.assertIn(f"{len(keys)} new", self.ctl("list", "per-name", "--import", "-", stdin=json.dumps(rows)))
        for kind, flags in (("csv", ()), ("json", ("-o", "json"))):
            with self.subTest(kind=kind):
                text = self.ctl(*flags, "list", "per-name", "--export")
                self.ctl("list", "per-name", "--remove", "--all")
                self.assertIn(f"{len(keys)} new", self.ctl("list", "per-name", "--import", "-", stdin=text))
                self.assertEqual(sorted(entry["key"] for entry in self.json("list", "per-name")["entries"]), sorted(keys))
        for key in keys:
            with self.subTest(key=key):
                entry, = self.json("why", *key)["entries"]
                done = subprocess.run(["bash", "-c", entry["commands"][0].replace("weir ctl", '"$WEIR" ctl', 1)], capture_output=True, text=True, timeout=60,
                                      env={"WEIR": self.weir.binary, "WEIR_ADMIN_LISTEN": f"127.0.0.1:{self.weir.admin_port}", "LC_ALL": "C.UTF-8"}, check=False)
                self.assertEqual((done.returncode, self.json("list", "per-name", *key, code=1)["listed"]), (0, False), done.stdout + done.stderr)
                token = self.json("undo")["changes"][0]["undo"]
                self.ctl("undo", token)
                self.assertTrue(self.json("list", "per-name", *key)["listed"])
        shown = self.ctl("list", "per-name")
        for text in ('"a, b", 192.0.2.7 ', '"say ""hi"", he said", 192.0.2.7 ', '" blank ", 192.0.2.7 ', '"", 192.0.2.7 ', "张三, 192.0.2.7 "):
            self.assertIn(text, shown)
        # An empty key, and the entry of a policy without a key.
        with Client(self.weir.port) as connection:
            for path in ("/nameless?name=", "/keyless"):
                connection.request("GET", path, {})
        for name, text, said in (("nameless", '""', '"" is off nameless'), ("keyless", "(everybody)", "the entry for all is off keyless")):
            with self.subTest(name=name):
                self.assertIn(f"\n{text} ", self.ctl("list", name))
                key = [""] if name == "nameless" else []
                exported = self.ctl("list", name, "--export")
                self.assertIn(said, self.ctl("list", name, *key, "--remove"))
                self.assertIn("1 new", self.ctl("list", name, "--import", "-", stdin=exported))
                self.assertEqual([entry["key"] for entry in self.json("list", name)["entries"]], [key])
        why = self.ctl("why", "")
        self.assertRegex(why, r'''(?m)^"" is on .* until ''')
        self.assertIn("  nameless:graylist  gray, flag, until ", why)
        self.assertIn("  keyless:graylist  (everybody)  gray, flag, until ", why)
        self.assertIn("192.0.2.1 is like everybody on keyless:graylist", self.ctl("why", "192.0.2.1"))

    def test_an_empty_key_is_told_from_everybody_in_verdicts(self):
        self.weir.write(POLICIES + "".join(f"""  - name: {name}
    watch: request
    when: 'path == "/{name}"'
    {key}
    window: 10m
    then: [{{over: 0, do: graylist, for: 1h}}]
""" for name, key in (("nameless", "key: query.name"), ("keyless", ""))))
        self.assertIn("reloaded", self.ctl("reload"))

        def send():
            with Client(self.weir.port) as connection:
                for path in ("/nameless?name=", "/keyless"):
                    connection.request("GET", path, {})

        for command, wanted in ((("top", "keys", "-n", "1", "--interval", "2s"), (r'(?m)^"" +nameless +\d', r"(?m)^\(everybody\) +keyless +\d")),
                                (("tail", "-n", "40", "--interval", "100ms"), (r'  ""  +listed  nameless ', r"  \(everybody\) +listed  keyless "))):
            with self.subTest(command=command):
                shown = []
                watch = threading.Thread(target=lambda: shown.append(self.ctl(*command)))
                watch.start()
                eventually(lambda: send() or not watch.is_alive(), 30, "what is watched for")
                watch.join()
                for each in wanted:
                    self.assertRegex(shown[0], each)

    def test_top_keys_tells_who_was_not_counted(self):
        def flood(times):
            with Client(self.weir.port) as connection:
                for _ in range(times):
                    connection.request("GET", "/flood", {"X-Forwarded-For": "203.0.113.9"})

        shown = []
        watch = threading.Thread(target=lambda: shown.append(self.ctl("top", "keys", "-n", "1", "--interval", "3s")))
        watch.start()
        eventually(lambda: self.ctl("list", "everybody", "--forgive") and flood(400) or not watch.is_alive(), 30, "what is watched for")
        watch.join()
        self.assertIn("(everybody)", shown[0])
        self.assertRegex(shown[0], r"\d+ verdicts came too fast to be counted here\n$")

    def test_verdicts_are_watched_by_policy_verdict_and_key(self):
        for command, ended in ((("tail", "-n", "1", "--policy", "login-per-ip", "--verdict", "deny", "--interval", "100ms"),
                                lambda out: "login-per-ip" in out and "flag" not in out),
                               (("-o", "json", "top", "keys", "-n", "1", "--interval", "1s"),
                                lambda out: ["203.0.113.9"] in [row["key"] for row in json.loads(out)["keys"]])):
            with self.subTest(command=command):
                shown = []
                watch = threading.Thread(target=lambda: shown.append(self.ctl(*command)))
                watch.start()
                eventually(lambda: self.tries(12, "203.0.113.9") and not watch.is_alive(), 30, "what is watched for")
                watch.join()
                self.assertTrue(ended(shown[0]), shown[0])
                self.ctl("list", "login-per-ip", "203.0.113.9", "--forgive")
        self.assertIn("is none of flag", self.ctl("tail", "--verdict", "gray,denied", code=2))

    def test_a_request_is_explained_by_the_running_weir(self):
        asked = ("-X", "POST", "--ip", "203.0.113.9", "/login")
        self.assertIn("login-per-ip", self.ctl("explain", *asked))
        self.tries(12, "203.0.113.9")
        self.assertIn("deny", self.ctl("explain", "--live", *asked, code=1))
        self.assertEqual(self.json("explain", *asked, code=1)["verdict"]["effect"], "deny")
        done = subprocess.run([self.weir.binary, "explain", "--live", "--admin", f"127.0.0.1:{self.weir.admin_port}", *asked],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("deny", done.stdout)

    def test_a_command_runs_at_several_replicas(self):
        other = self.enterContext(Weir(POLICIES + "# another text\n", self.origin.port))
        doors = f"127.0.0.1:{self.weir.admin_port},127.0.0.1:{other.admin_port}"
        self.assertRegex(self.ctl("status", "--replicas", doors), r"(?s)behind.*in force")
        self.ctl("policy", "login-per-ip", "shadow", "--for", "1m", "--replicas", doors)
        self.assertEqual(self.ctl("status", "--replicas", doors).count("login-per-ip shadow"), 2)
        self.ctl("list", "banned", "198.51.100.1", "--add", "--until", "2099-01-01T00:00:00Z", "--replicas", doors)
        data = self.json("list", "banned", "198.51.100.1", "--replicas", doors)
        self.assertEqual([each["answer"]["listed"] for each in data["replicas"]], [True, True])
        self.assertIn(f"== {doors.replace(',', ', ')}\nname", self.ctl("policy", "everybody", "--replicas", doors))
        other.stop()
        self.assertIn("does not answer", self.ctl("status", "--replicas", doors, code=4))
        self.assertIn("one replica at a time", self.ctl("top", "--replicas", doors, code=2))

    def test_the_hash_of_a_key_is_what_the_log_has(self):
        self.tries(11, "203.0.113.9")
        row = self.json("hash", "203.0.113.9")["hashes"][0]
        self.assertRegex(row["hash"], r"^#[0-9a-f]{16}$")
        self.status("203.0.113.9")
        eventually(lambda: row["hash"] in {line.get("client") for line in self.weir.logged("verdict")}, 10, "its verdict")
        self.assertIn(row["hash"], {line.get("key") for line in self.weir.logged("listed")})


if __name__ == "__main__":
    unittest.main()
