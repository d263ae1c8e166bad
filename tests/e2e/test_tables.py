"""Tables that people keep: set, shown, approved, taken back, kept over reloads and restarts."""

import os
import subprocess
import unittest

from http_client import once
from origin import Origin
from weir_process import Weir, eventually

POLICIES = """
events:
  reward: {match: POST /reward, fields: {gold: int(header.x_gold), shop: header.x_shop, os: header.x_os}}
tables:
  gold_limit:
    by: [shop, os]
    values:
      baidu: {android: 3000, ios: 2500}
      "*": 1500
policies:
  - name: gold
    watch: reward
    key: ip
    metric: sum(gold)
    window: 1h
    then: [{over: gold_limit, do: deny}]
"""


def pays(weir, ip, gold, shop="baidu", os="android"):
    return once(weir.port, "POST", "/reward",
                {"X-Forwarded-For": ip, "X-Gold": str(gold), "X-Shop": shop, "X-Os": os}).status


def ctl(weir, *words):
    done = subprocess.run([weir.binary, "ctl", *words], env={"WEIR_ADMIN_LISTEN": f"127.0.0.1:{weir.admin_port}"},
                          capture_output=True, text=True, timeout=20)
    return done.returncode, done.stdout + done.stderr


def with_state(weir, policies, admin=""):
    weir.stop()
    weir.head += f"state: {{dir: {weir.directory}/state}}\n"
    if admin:
        weir.head = weir.head.replace("admin: {", "admin: {" + admin + ", ")
    weir.write(policies)
    weir.start()


class Tables(unittest.TestCase):
    def test_a_limit_is_set_shown_taken_back_and_kept(self):
        with Origin() as origin, Weir(POLICIES, origin.port) as weir:
            with_state(weir, POLICIES)
            self.assertEqual([pays(weir, "192.0.2.1", 3000), pays(weir, "192.0.2.2", 3001)], [200, 429])
            code, text = ctl(weir, "table", "gold_limit", "set", "baidu,android=4000", "--reason", "ticket 4711", "--by", "ann")
            self.assertEqual(code, 0, text)
            self.assertIn("baidu,android  4000", text)
            self.assertEqual([pays(weir, "192.0.2.3", 4000), pays(weir, "192.0.2.4", 4001)], [200, 429])
            shown = weir.admin("GET", "/v1/tables/gold_limit")[1]
            self.assertEqual(shown["values"], {"baidu": {"android": 4000, "ios": 2500}, "*": 1500})
            self.assertEqual(shown["policies"], ["gold"])
            self.assertEqual(shown["set_here"], [{"key": "baidu,android", "value": 4000}])
            self.assertEqual(shown["history"][0]["reason"], "ticket 4711")
            self.assertEqual(shown["history"][0]["changes"], [{"key": "baidu,android", "before": 3000, "after": 4000}])
            self.assertEqual(weir.reload()[0], 200)
            self.assertEqual([pays(weir, "192.0.2.5", 4000), pays(weir, "192.0.2.6", 4001)], [200, 429])
            weir.stop()
            weir.start()
            self.assertEqual([pays(weir, "192.0.2.7", 4000), pays(weir, "192.0.2.8", 4001)], [200, 429])
            self.assertIn("3000 -> 4000", ctl(weir, "table", "gold_limit", "history")[1])
            code, text = ctl(weir, "table", "gold_limit", "undo")
            self.assertEqual(code, 0, text)
            self.assertEqual([pays(weir, "192.0.2.9", 3000), pays(weir, "192.0.2.10", 3001)], [200, 429])
            self.assertEqual(weir.admin("GET", "/v1/tables/gold_limit")[1]["set_here"], [])
            self.assertEqual(len(weir.logged("a table was changed")), 2)
            code, text = ctl(weir, "table", "gold_limit", "set", "*=1500.5")
            self.assertIn("*  1500.5\n", text)

    def test_a_key_that_no_request_has_is_told_to_the_operator(self):
        by_path = """
tables: {per_path: {by: path, values: {/Files: 1, "*": 9}}}
policies:
  - {name: p, watch: request, key: ip, window: 1h, then: [{over: per_path, do: deny}]}
"""
        with Origin() as origin, Weir(by_path, origin.port, proxy="path: {case: fold}") as weir:
            code, text = ctl(weir, "table", "per_path", "set", "/Secret=1")
            self.assertEqual(code, 0, text)
            told = text.splitlines()[0]
            self.assertIn('warning: path is never "/Secret"', told)
            self.assertNotIn("/Files", told, "the log has the warnings about the file")
            code, text = ctl(weir, "table", "per_path", "set", "/open=2")
            self.assertEqual((code, "warning" in text), (0, False), text)
            code, text = ctl(weir, "policy", "p", "set", "over=5", "--for", "1h")
            self.assertNotIn("warning", text)

    def test_what_is_taken_back_gives_way_to_the_file_as_it_is_now(self):
        with Origin() as origin, Weir(POLICIES, origin.port) as weir:
            def values():
                shown = weir.admin("GET", "/v1/tables/gold_limit")[1]
                return shown["values"]["baidu"]["android"], shown["set_here"]
            ctl(weir, "table", "gold_limit", "set", "baidu,android=12")
            weir.write(POLICIES.replace("android: 3000", "android: 8"))
            self.assertEqual(weir.reload()[0], 200)
            self.assertEqual(values()[0], 12)
            code, text = ctl(weir, "table", "gold_limit", "undo")
            self.assertEqual(code, 0, text)
            self.assertEqual(values(), (8, []))
            # The operator's earlier value comes back.
            for limit in ("20", "30"):
                ctl(weir, "table", "gold_limit", "set", f"baidu,android={limit}")
            ctl(weir, "table", "gold_limit", "undo")
            self.assertEqual(values()[0], 20)
            ctl(weir, "table", "gold_limit", "undo")
            self.assertEqual(values(), (8, []))

    def test_what_could_not_be_written_is_written_later(self):
        with Origin() as origin, Weir(POLICIES, origin.port) as weir:
            with_state(weir, POLICIES)
            in_the_way = os.path.join(weir.directory, "state", "tables.json.new")  # as a full disk: also for root
            for limit, later in ((71, True), (72, False)):
                os.mkdir(in_the_way)
                code, text = ctl(weir, "table", "gold_limit", "set", f"*={limit}", "--by", "ann")
                self.assertEqual(code, 0, text)
                self.assertIn("could not be written to state.dir yet", text)
                self.assertIn(b"[+]state is not written, and lost with the process: what was set in tables",
                              weir.health("/readyz?verbose").body)
                self.assertEqual(weir.metric("weir_state_up"), 0)
                os.rmdir(in_the_way)
                if later:  # without: the end writes it
                    eventually(lambda: b"[+]state ok" in weir.health("/readyz?verbose").body, 10, "the table is written")
                    self.assertEqual(weir.metric("weir_state_up"), 1)
                    self.assertEqual(len(weir.logged("state.dir is written again")), 1)
                    weir.kill()
                else:
                    weir.stop()
                weir.start()
                shown = weir.admin("GET", "/v1/tables/gold_limit")[1]
                self.assertEqual([shown["values"]["*"], shown["history"][0]["changes"][0]["after"]], [limit, limit])

    def test_where_the_file_says_the_same_later_the_file_counts(self):
        said = lambda limit: POLICIES.replace("android: 3000", f"android: {limit}")
        facts = lambda: weir.admin("GET", "/v1/tables/gold_limit")[1]
        android = lambda: [facts()["values"]["baidu"]["android"], facts()["set_here"]]
        for restart in (False, True):
            with Origin() as origin, Weir(POLICIES, origin.port) as weir:
                with_state(weir, POLICIES)
                self.assertEqual(weir.admin("PUT", "/v1/tables/gold_limit", {"set": {"baidu,android": 5000, "*": 7}})[0], 200)
                weir.write(said(5000))
                self.assertEqual(weir.reload()[0], 200)
                self.assertEqual(android()[0], 5000)
                self.assertEqual(len(android()[1]), 1, "the other limit stays")
                entries = [row for row in weir.admin("GET", "/v1/audit?limit=100")[1]["entries"] if row["action"] == "table.file"]
                self.assertEqual([[row["target"], row["before"], row["who"]] for row in entries], [["gold_limit", "baidu,android=5000", "weir"]])
                if restart:
                    weir.stop()
                    weir.start()
                weir.write(said(9000))
                self.assertEqual(weir.reload()[0], 200)
                self.assertEqual(android()[0], 9000)
                self.assertEqual(facts()["values"]["*"], 7)

    def test_the_file_may_say_the_same_while_weir_is_down(self):
        said = lambda limit: POLICIES.replace("android: 3000", f"android: {limit}")
        with Origin() as origin, Weir(POLICIES, origin.port) as weir:
            with_state(weir, POLICIES)
            weir.admin("PUT", "/v1/tables/gold_limit", {"set": {"baidu,android": 5000}})
            weir.stop()
            weir.write(said(5000))
            weir.start()
            self.assertEqual(weir.admin("GET", "/v1/tables/gold_limit")[1]["set_here"], [])
            weir.write(said(9000))
            self.assertEqual(weir.reload()[0], 200)
            self.assertEqual(weir.admin("GET", "/v1/tables/gold_limit")[1]["values"]["baidu"]["android"], 9000)

    def test_one_limit_is_not_given_twice(self):
        with Origin() as origin, Weir(POLICIES, origin.port) as weir:
            code, text = ctl(weir, "table", "gold_limit", "set", "*=9", "*=10")
            self.assertEqual(code, 2, text)
            self.assertIn('there are two limits for "*"', text)
            code, text = ctl(weir, "undo", "")
            self.assertEqual(code, 2, text)

    def test_what_makes_no_sense_changes_nothing(self):
        with Origin() as origin, Weir(POLICIES, origin.port) as weir:
            for body, status, words in (
                    ({"set": {"baidu,android": "many"}}, 400, "a limit is a number"),
                    ({"set": {"*,ios": 1}}, 422, "is a limit already, 1500"),
                    ({"set": {"baidu": 1}}, 422, "has limits below it"),
                    ({"set": {"nobody,android": None}}, 400, "there is no limit"),
                    ({"set": {"baidu,android,8": 1}}, 400, '"baidu,android,8" has 3 values, and the table is by shop, os'),
                    ({"set": {"baidu,android": -1}}, 422, 'the limit -1 of "baidu,android" makes no sense'),
                    ({"values": {"*": -1}}, 422, 'the limit -1 of "*" makes no sense'),
                    ({"set": {"baidu,android": 3000}}, 409, "has these limits already"),
                    ({"values": {}}, 400, "`values` is an object"),
                    ({"values": {"baidu,android": 1}}, 400, '"baidu,android" is for `set`'),
                    ({}, 400, "either `set` or `values`")):
                got, answer = weir.admin("PUT", "/v1/tables/gold_limit", body)
                self.assertEqual(got, status, (body, answer))
                self.assertIn(words, answer["detail"])
            self.assertEqual(weir.admin("PUT", "/v1/tables/none", {"set": {"a": 1}})[0], 404)
            self.assertEqual(pays(weir, "192.0.2.2", 3001), 429)

    def test_a_limit_that_no_reading_reaches_changes_nothing(self):
        counted = POLICIES.replace("    metric: sum(gold)\n    window: 1h\n", "    window: {events: 20}\n").replace(
            "3000", "5").replace("2500", "5").replace("1500", "5")
        with Origin() as origin, Weir(counted, origin.port) as weir:
            got, answer = weir.admin("PUT", "/v1/tables/gold_limit", {"set": {"baidu,android": 20}})
            self.assertEqual(got, 422, answer)
            self.assertIn('the limit 20 of "baidu,android" can never hold: the window has at most 20 events',
                          answer["detail"])
            for limit in (19, "unlimited"):
                got, answer = weir.admin("PUT", "/v1/tables/gold_limit", {"set": {"baidu,android": limit}})
                self.assertEqual(got, 200, answer)

    def test_a_second_person_approves(self):
        with Origin() as origin, Weir(POLICIES, origin.port) as weir:
            with_state(weir, POLICIES, "approval: true")
            self.assertEqual(weir.admin("PUT", "/v1/tables/gold_limit", {"set": {"*": 10}})[0], 400)
            code, text = ctl(weir, "table", "gold_limit", "set", "*=10", "--by", "ann")
            self.assertEqual(code, 0, text)
            self.assertIn("waits for the approval", text)
            self.assertEqual(pays(weir, "192.0.2.1", 11, "other"), 200)
            code, text = ctl(weir, "table", "gold_limit", "approve", "--by", "ann")
            self.assertNotEqual(code, 0)
            self.assertIn("somebody else than ann", text)
            code, text = ctl(weir, "table", "gold_limit", "approve", "--by", " Ann ")
            self.assertIn("somebody else than ann", text)
            weir.stop()
            weir.start()
            code, text = ctl(weir, "table", "gold_limit", "approve", "--by", "bob")
            self.assertEqual(code, 0, text)
            self.assertEqual(pays(weir, "192.0.2.2", 11, "other"), 429)
            record = weir.admin("GET", "/v1/tables/gold_limit")[1]["history"][0]
            self.assertEqual([record["by"], record["decided_by"], record["state"]], ["ann", "bob", "applied"])


if __name__ == "__main__":
    unittest.main()
