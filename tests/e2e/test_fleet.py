"""Three replicas, one Redis: each knows who runs what and who is behind; what an operator sets on one holds on all, ends on
all by itself, survives reloads, restarts, a killed replica and a Redis that was away; and is in the audit log of each."""

import os
import subprocess
import time
import unittest

from http_client import once
from origin import Origin
from redis_process import Redis
from weir_process import Weir, eventually

POLICIES = """
events:
  reward: {match: POST /reward, fields: {gold: int(header.x_gold)}}
policies:
  - name: gold
    watch: reward
    key: ip
    metric: sum(gold)
    window: 1h
    then: [{over: 1000, do: deny}]
"""


def pays(weir, ip, gold):
    return once(weir.port, "POST", "/reward", {"X-Forwarded-For": ip, "X-Gold": str(gold)}).status


def ctl(weir, *words):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
    environment["WEIR_ADMIN_LISTEN"] = f"127.0.0.1:{weir.admin_port}"
    done = subprocess.run([weir.binary, "ctl", *words], env=environment, capture_output=True, text=True, timeout=20)
    return done.returncode, done.stdout + done.stderr


class Fleet(unittest.TestCase):
    policies = POLICIES

    def setUp(self):
        self.redis = self.enterContext(Redis())
        self.origin = self.enterContext(Origin())
        self.extra = f"redis: {{url: 'unix://{self.redis.path}', secret: of all replicas}}\nthreads: 1\n"
        self.all = [self.enterContext(Weir(self.policies, self.origin.port, extra=self.extra)) for _ in range(3)]
        for weir in self.all:
            eventually(lambda w=weir: len(self.up(w)) == 3, what="three replicas")

    def rows(self, weir):
        return weir.admin("GET", "/v1/replicas")[1]["replicas"]

    def up(self, weir):
        return [row for row in self.rows(weir) if row["up"]]

    def modes(self, weirs=None):
        return [weir.admin("GET", "/v1/policies/gold")[1]["mode"] for weir in weirs or self.all]

    def audited(self, weir, action):
        return [row for row in weir.admin("GET", "/v1/audit?limit=100")[1]["entries"] if row["action"] == action]

    def redis_is_away(self):
        eventually(lambda: not any(weir.admin("GET", "/v1/replicas")[1]["redis"]["up"] for weir in self.all), what="Redis away for all")

    def silence(self, weir, time="60s", **more):
        status, answer = weir.admin("PUT", "/v1/policies/gold/override", {"mode": "shadow", "for": time, **more})
        self.assertEqual(status, 200, answer)
        return answer

    def give(self, weir, text):
        """The same text under the same name at each, as replicas of one image have it: addresses come from the environment."""
        weir.replace(os.path.join(weir.directory, "weir.yaml"), f"weir: 1\nproxy: {{upstream: 'http://127.0.0.1:{self.origin.port}'}}\n" + self.extra + text)

    def test_each_knows_what_the_others_run_and_who_is_behind(self):
        first, second, third = self.all
        for weir in self.all:
            weir.stop()
            weir.config, weir.cwd = "weir.yaml", weir.directory
            weir.environment = {"WEIR_PROXY_LISTEN": f"127.0.0.1:{weir.port}", "WEIR_ADMIN_LISTEN": f"127.0.0.1:{weir.admin_port}",
                                "WEIR_HEALTH_LISTEN": f"127.0.0.1:{weir.health_port}"}
            self.give(weir, POLICIES)
            weir.start()
        for weir in self.all:
            eventually(lambda w=weir: [row["behind"] for row in self.up(w)] == [False] * 3, what="three in step")
        self.assertEqual([row["behind"] for row in self.rows(first)], [False] * 3)
        self.assertEqual([row["self"] for row in self.rows(first)], [True, False, False])
        self.assertEqual({row["address"] for row in self.rows(first)}, {f"127.0.0.1:{weir.admin_port}" for weir in self.all})
        self.assertEqual(ctl(first, "replicas")[0], 0)
        self.give(first, POLICIES + "# another text\n")
        self.assertEqual(first.reload()[0], 200)
        eventually(lambda: sum(row["behind"] is True for row in self.rows(second)) == 2, what="two that are behind")
        newest = next(row for row in self.rows(second) if not row["behind"])
        self.assertEqual(newest["address"], f"127.0.0.1:{first.admin_port}")
        self.assertEqual(newest["hash"], first.admin("GET", "/v1/status")[1]["config"]["hash"])
        code, text = eventually(lambda: (told := ctl(third, "replicas"))[0] == 1 and told, what="a third that knows as well")
        self.assertEqual(text.count("behind"), 2, text)
        self.assertEqual(second.admin("GET", "/v1/status")[1]["fleet"]["behind"], 2)
        self.assertEqual([weir.metric("weir_fleet_behind") for weir in self.all], [0, 1, 1])
        self.assertEqual([first.metric(f"weir_fleet_{name}") for name in ("up", "replicas", "replicas_behind", "changes_pending")], [1, 3, 2, 0])
        # One that is started again with old files is behind, although it was loaded last.
        third.stop()
        third.start()
        eventually(lambda: {row["address"]: row["behind"] for row in self.up(first)} == {
            f"127.0.0.1:{weir.admin_port}": weir is not first for weir in self.all}, what="the restarted one to be behind")
        # A killed one is missed within seconds, and forgotten after a minute.
        third.kill()
        gone = eventually(lambda: [row for row in self.rows(first) if not row["up"]], 15, what="the dead one to be missed")
        self.assertIn("has said nothing for", gone[0]["why"])
        self.assertEqual(first.metric("weir_fleet_replicas_silent"), 1)
        third.start()

    def test_an_override_holds_on_all_and_ends_on_all(self):
        first, second, third = self.all
        self.assertEqual(pays(second, "192.0.2.1", 1001), 429)
        answer = self.silence(first, "6s", reason="ticket 4711")
        self.assertIn("it holds on 2 other replicas", answer["note"])
        eventually(lambda: self.modes() == ["shadow"] * 3, 3, what="shadow on all")
        self.assertEqual(pays(second, "192.0.2.1", 1001), 200)
        shown = third.admin("GET", "/v1/overrides")[1]["overrides"][0]
        self.assertEqual([shown["text"], shown["reason"], shown["by"], shown["scope"]], ["shadow", "ticket 4711", "127.0.0.1", "all"])
        for weir in self.all:
            row = eventually(lambda w=weir: self.audited(w, "override.set"), what="the audit log")[0]
            self.assertEqual([row["who"], row["target"], row["reason"]], ["127.0.0.1", "gold", "ticket 4711"])
            self.assertEqual("at replica" in row["from"], weir is not first)
            self.assertEqual(weir.reload()[0], 200)
        self.assertEqual(self.modes(), ["shadow"] * 3, "it survives a reload")
        second.kill()
        second.start()
        self.assertEqual(self.modes([second]), ["shadow"], "and a restart, from the first request on")
        self.assertEqual(pays(second, "192.0.2.2", 1001), 200)
        eventually(lambda: self.modes() == ["enforce"] * 3, 12, what="the end on all")
        for weir in self.all:
            eventually(lambda w=weir: len(self.audited(w, "override.end")) == 1, what="the end in the log")
        self.assertEqual(pays(third, "192.0.2.3", 1001), 429)

    def test_it_ends_when_its_policy_is_on_no_replica(self):
        """A rolling change takes the policy from one after the other: the override holds where it still is."""
        first, second, third = self.all
        without = POLICIES.replace("name: gold", "name: silver")
        overrides = lambda weirs: [[row["policy"] for row in weir.admin("GET", "/v1/overrides")[1]["overrides"]] for weir in weirs]
        unfit = lambda: [row["why"] for row in self.rows(third) if row["why"]]
        self.silence(first)
        eventually(lambda: self.modes() == ["shadow"] * 3, what="shadow on all")
        for weir in (first, second):
            weir.write(without)
            self.assertEqual(weir.reload()[0], 200)
        eventually(lambda: len(unfit()) == 2, what="it does not fit two")
        time.sleep(2)
        self.assertEqual(self.modes([third]), ["shadow"], "it holds where the policy still is")
        self.assertEqual(overrides([first, second]), [[], []])
        first.write(POLICIES)
        self.assertEqual(first.reload()[0], 200)
        eventually(lambda: self.modes([first]) == ["shadow"], what="a change that is taken back brings it back")
        for weir in (first, third):
            weir.write(without)
            self.assertEqual(weir.reload()[0], 200)
        eventually(lambda: not unfit(), what="its end")
        for weir in self.all:
            weir.write(POLICIES)
            self.assertEqual(weir.reload()[0], 200)
        time.sleep(2)
        self.assertEqual(self.modes(), ["enforce"] * 3, "it does not come back with the policy")
        self.assertEqual(overrides(self.all), [[], [], []])
        ended = [row["reason"] for weir in self.all for row in self.audited(weir, "override.end")]
        self.assertIn("its policy or rung is in the configuration of no replica", ended)
        self.assertTrue(any(weir.logged("an override has ended: its policy or rung is in the configuration of no replica any more") for weir in self.all))

    def test_it_is_taken_back_on_all_and_the_last_told_wins(self):
        first, second, third = self.all
        self.assertEqual(ctl(first, "policy", "gold", "set", "over=20", "--for", "10m")[0], 0)
        eventually(lambda: pays(third, "192.0.2.1", 21) == 429, what="the threshold on another")
        self.assertEqual(ctl(second, "policy", "gold", "set", "over=500", "--for", "10m")[0], 0)
        texts = lambda: [[row["text"] for row in weir.admin("GET", "/v1/overrides")[1]["overrides"]] for weir in self.all]
        eventually(lambda: texts() == [["over=500"]] * 3, what="the last one on all")
        code, text = ctl(third, "policy", "gold", "restore", "--reason", "done")
        self.assertEqual(code, 0, text)
        eventually(lambda: texts() == [[]] * 3, what="the end on all")
        rows = [eventually(lambda w=weir: self.audited(w, "override.end"), what="the audit log")[0] for weir in self.all]
        self.assertEqual([row["reason"] for row in rows], ["done"] * 3)

    def test_one_of_this_replica_alone(self):
        first, second, _ = self.all
        code, text = ctl(first, "policy", "gold", "shadow", "--for", "10m", "--here")
        self.assertEqual(code, 0, text)
        self.assertIn("this replica alone", text)
        self.silence(second, "10m", reason="all of them")
        shown = lambda: [row["reason"] for row in first.admin("GET", "/v1/overrides")[1]["overrides"]]
        eventually(lambda: shown() == ["all of them"], what="the last told in the place of the one of here")
        eventually(lambda: self.modes() == ["shadow"] * 3, what="shadow on all")
        self.assertEqual(ctl(first, "policy", "gold", "enforce", "--for", "10m", "--here")[0], 0)
        self.assertEqual(self.modes(), ["enforce", "shadow", "shadow"])
        self.assertEqual([row["scope"] for row in first.admin("GET", "/v1/overrides")[1]["overrides"]], ["all", "here"])
        code, text = ctl(first, "policy", "gold", "restore", "--here")
        self.assertEqual(code, 0, text)
        self.assertEqual(self.modes(), ["shadow"] * 3)
        code, text = ctl(first, "policy", "gold", "restore", "--here")
        self.assertEqual(code, 1)
        self.assertIn("holds on all replicas", text)
        self.assertEqual(self.audited(second, "override.set")[-1]["reason"], "all of them", "what holds here alone is not news")

    def test_what_is_set_while_redis_is_away_is_told_when_it_is_back(self):
        first, second, third = self.all
        self.silence(first, "10m")
        eventually(lambda: self.modes() == ["shadow"] * 3, what="shadow on all")
        self.redis.kill()
        self.redis_is_away()
        self.assertEqual(self.modes(), ["shadow"] * 3, "they go on with what they know")
        status, answer = second.admin("PUT", "/v1/policies/gold/override", {"set": {"over": 5}, "for": "10m"})
        self.assertEqual(status, 200)
        self.assertIn("Redis is away", answer["note"])
        self.assertEqual(third.admin("DELETE", "/v1/policies/gold/override", {})[0], 200)
        self.assertEqual(self.modes(), ["shadow", "shadow", "enforce"])
        code, text = ctl(second, "replicas")
        self.assertIn("Redis is away", text)
        self.assertIn("1 change waits to be sent", text)
        self.assertEqual([weir.metric("weir_fleet_changes_pending") for weir in self.all], [0, 1, 1])
        self.assertEqual(first.metric("weir_fleet_up"), 0)
        self.redis.start()  # empty
        eventually(lambda: self.modes() == ["enforce"] * 3, 20, what="the end of shadow on all")
        eventually(lambda: [pays(weir, f"192.0.2.{i}", 6) for i, weir in enumerate(self.all)] == [429] * 3, 20,
                   what="the threshold on all")

    def test_what_is_not_sealed_is_ignored(self):
        first = self.all[0]
        self.silence(first, "10m")
        items = next(key for key in self.redis.all_keys() if key.startswith("weir:fleet:") and key.endswith(":items"))
        self.redis.command("EVAL", "redis.call('HSET', KEYS[1], ARGV[1], (string.gsub(redis.call('HGET', KEYS[1], ARGV[1]), 'shadow', 'enforce')))",
                           1, items, "override:gold:mode")
        late = self.enterContext(Weir(self.policies, self.origin.port, extra=self.extra))
        self.assertEqual(self.modes([late]), ["enforce"])
        eventually(lambda: late.logged("what is on the fleet's board was not sealed"), what="the log")
        self.assertGreater(late.metric("weir_fleet_unsealed_total"), 0)


TABLES = """
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


class FleetTables(Fleet):
    """What people set in a table on one replica holds on all; a second person may approve on another."""

    policies = TABLES

    # The tests of overrides are the parent's.
    test_each_knows_what_the_others_run_and_who_is_behind = None
    test_an_override_holds_on_all_and_ends_on_all = None
    test_it_ends_when_its_policy_is_on_no_replica = None
    test_it_is_taken_back_on_all_and_the_last_told_wins = None
    test_one_of_this_replica_alone = None
    test_what_is_set_while_redis_is_away_is_told_when_it_is_back = None
    test_what_is_not_sealed_is_ignored = None

    def pays(self, weir, gold, shop="baidu", os_="android"):
        self.payer = getattr(self, "payer", 0) + 1
        return once(weir.port, "POST", "/reward", {"X-Forwarded-For": f"198.51.{self.payer // 250}.{self.payer % 250}",
                                                  "X-Gold": str(gold), "X-Shop": shop, "X-Os": os_}).status

    def values(self):
        return [weir.admin("GET", "/v1/tables/gold_limit")[1]["values"] for weir in self.all]

    def everywhere(self, values, what):
        eventually(lambda: self.values() == [values] * 3, 20, what)

    def put(self, weir, limits, status=200, **more):
        got, answer = weir.admin("PUT", "/v1/tables/gold_limit", {"set": limits, **more})
        self.assertEqual(got, status, answer)
        return answer

    def test_a_limit_of_one_holds_on_all_and_is_taken_back_on_another(self):
        first, second, third = self.all
        answer = self.put(first, {"baidu,android": 4000}, reason="ticket 4711", by="ann")
        self.assertIn("it holds on 2 other replicas", answer["note"])
        changed = {"baidu": {"android": 4000, "ios": 2500}, "*": 1500}
        self.everywhere(changed, "the limit on all")
        self.assertEqual([self.pays(third, 4000), self.pays(third, 4001)], [200, 429])
        record = third.admin("GET", "/v1/tables/gold_limit")[1]["history"][0]
        self.assertEqual([record["by"], record["reason"], record["state"]], ["ann", "ticket 4711", "applied"])
        for weir in self.all:
            row = eventually(lambda w=weir: self.audited(w, "table.set"), what="the audit log")[0]
            self.assertEqual([row["target"], row["reason"], row["who"]], ["gold_limit", "ticket 4711", "127.0.0.1"])
        self.assertEqual(second.reload()[0], 200)
        third.kill()
        third.start()
        self.everywhere(changed, "it survives a reload and a restart without state.dir")
        self.assertEqual(self.pays(third, 4001), 429, "from the first request on")
        code, text = ctl(second, "table", "gold_limit", "undo", "--by", "bob")
        self.assertNotEqual(code, 0, text)
        self.assertIn("is by ann: baidu,android=4000 (was 3000); say which change", text)
        code, text = ctl(second, "table", "gold_limit", "undo", "--reason", "a mistake")
        self.assertEqual(code, 0, text)
        self.assertIn(f"change {answer['change']} by ann is taken back: baidu,android=4000 (was 3000)", text)
        self.everywhere({"baidu": {"android": 3000, "ios": 2500}, "*": 1500}, "the limit before on all")
        states = [row["state"] for row in third.admin("GET", "/v1/tables/gold_limit")[1]["history"]]
        self.assertEqual(states, ["undo", "undone"])

    def test_the_file_counts_when_all_replicas_have_it(self):
        """A replica whose file is still old goes on with what was set; so all agree at any time."""
        first, second, third = self.all
        said = lambda limit: TABLES.replace("android: 3000", f"android: {limit}")
        limits = lambda: [values["baidu"]["android"] for values in self.values()]
        held = lambda: [weir.admin("GET", "/v1/tables/gold_limit")[1]["set_here"] for weir in self.all]
        self.put(first, {"baidu,android": 4000}, by="ann")
        eventually(lambda: limits() == [4000] * 3, what="the limit on all")
        for weir in (first, second):
            weir.write(said(4000))
            self.assertEqual(weir.reload()[0], 200)
        for _ in range(6):  # longer than it takes to hear of each other
            self.assertEqual(limits(), [4000] * 3, "the third has 3000 in its file")
            time.sleep(0.5)
        self.assertTrue(all(held()), held())
        third.write(said(4000))
        self.assertEqual(third.reload()[0], 200)
        eventually(lambda: not any(held()), what="the file counts on all")
        self.assertTrue(any(self.audited(weir, "table.file") for weir in self.all))
        self.assertEqual(limits(), [4000] * 3)
        for weir in self.all:
            weir.write(said(9000))
            self.assertEqual(weir.reload()[0], 200)
        self.everywhere({"baidu": {"android": 9000, "ios": 2500}, "*": 1500}, "what the files say")

    def test_two_at_once_and_redis_away_lose_nothing(self):
        first, second, third = self.all
        ids = {"ann": self.put(first, {"baidu,android": 4000}, by="ann")["change"], "bob": self.put(second, {"baidu,ios": 4100}, by="bob")["change"]}
        self.everywhere({"baidu": {"android": 4000, "ios": 4100}, "*": 1500}, "both on all")
        for weir in self.all:
            history = weir.admin("GET", "/v1/tables/gold_limit")[1]["history"]
            self.assertEqual({row["by"]: row["id"] for row in history}, ids, "each change has the id that was answered")
        self.redis.kill()
        self.redis_is_away()
        self.assertIn("Redis is away", self.put(first, {"*": 10}, by="ann")["note"])
        self.put(third, {"baidu,android": 5000}, by="cleo")
        self.redis.start()
        self.everywhere({"baidu": {"android": 5000, "ios": 4100}, "*": 10}, "what was set meanwhile on all")
        histories = lambda: [{(row["by"], row["changes"][0]["key"]) for row in weir.admin("GET", "/v1/tables/gold_limit")[1]["history"]} for weir in self.all]
        eventually(lambda: histories() == [{("ann", "baidu,android"), ("bob", "baidu,ios"), ("ann", "*"), ("cleo", "baidu,android")}] * 3, what="one history")

    def test_a_second_person_approves_on_another_replica(self):
        for weir in self.all:
            weir.stop()
            weir.head = weir.head.replace("admin: {", "admin: {approval: true, ")
            weir.write(TABLES)
            weir.start()
        first, second, third = self.all
        answer = self.put(first, {"*": 10}, by="ann", reason="too many")
        waits = lambda: [len(weir.admin("GET", "/v1/tables/gold_limit")[1]["pending"]) for weir in self.all]
        eventually(lambda: waits() == [1] * 3, what="the wish on all")
        self.assertEqual(self.pays(second, 11, "other"), 200)
        status, refused = second.admin("POST", "/v1/tables/gold_limit/approve", {"change": answer["change"], "by": "ann"})
        self.assertEqual(status, 403, refused)
        code, text = ctl(third, "table", "gold_limit", "approve", "--by", "bob")
        self.assertEqual(code, 0, text)
        eventually(lambda: waits() == [0] * 3, what="the decision on all")
        eventually(lambda: self.pays(second, 11, "other") == 429, what="the limit on another")
        record = first.admin("GET", "/v1/tables/gold_limit")[1]["history"][0]
        self.assertEqual([record["by"], record["decided_by"], record["state"]], ["ann", "bob", "applied"])
        # Two decide before they hear of each other: who loses is told of, by the log and by the history.
        change = self.put(first, {"*": 20}, by="ann")["change"]
        eventually(lambda: waits() == [1] * 3, what="the second wish on all")
        self.redis.kill()
        self.redis_is_away()
        for weir, verb, by in ((second, "reject", "cleo"), (third, "approve", "bob")):
            code, text = ctl(weir, "table", "gold_limit", verb, change, "--by", by)
            self.assertEqual(code, 0, text)
        self.assertEqual(self.audited(second, "table.reject")[0]["after"]["state"], "rejected")
        self.redis.start()
        records = lambda: [weir.admin("GET", "/v1/tables/gold_limit")[1]["history"][0] for weir in self.all]
        eventually(lambda: all(each["overtaken"] for each in records()), what="the history on all")
        overtaken = {each["overtaken"] for each in records()}
        self.assertEqual(len(overtaken), 1, overtaken)
        self.assertEqual(overtaken, {"rejected by cleo"} if records()[0]["state"] == "applied" else {"approved by bob"})
        for weir in self.all:
            row = eventually(lambda w=weir: self.audited(w, "table.overtaken"), what="the audit log")[0]
            self.assertEqual(row["before"], {"change": change, "decision": next(iter(overtaken))})


LISTS = """
lists:
  banned: {of: ip, kind: deny, share: redis}
policies:
  - {name: gold, watch: request, key: ip, window: 1h, then: [{over: 1000, do: deny}]}
"""


class FleetLists(FleetTables):
    """What is done with a shared list on one page is seen, lifted, logged and taken back on all."""

    policies = LISTS

    test_a_limit_of_one_holds_on_all_and_is_taken_back_on_another = None
    test_the_file_counts_when_all_replicas_have_it = None
    test_two_at_once_and_redis_away_lose_nothing = None
    test_a_second_person_approves_on_another_replica = None

    def entries(self):
        return [len(weir.entries("banned")) for weir in self.all]

    def test_a_ban_is_seen_lifted_logged_and_taken_back_on_all(self):
        first, second, third = self.all
        status, answer = first.admin("POST", "/v1/lists/banned/entries", {"key": ["203.0.113.9"], "for": "1h", "why": "scraping"})
        self.assertEqual(status, 201, answer)
        eventually(lambda: self.entries() == [1] * 3, what="the ban on all")
        self.assertEqual(once(third.port, "GET", "/", {"X-Forwarded-For": "203.0.113.9"}).status, 403)
        for weir in self.all:
            row = eventually(lambda w=weir: self.audited(w, "list.add"), what="the audit log")[0]
            self.assertEqual([row["target"], row["key"], row["reason"]], ["banned", ["203.0.113.9"], "scraping"])
        status, removed = second.admin("DELETE", "/v1/lists/banned/entries?key=203.0.113.9&reason=ticket%204711", {})
        self.assertEqual(status, 200, removed)
        eventually(lambda: self.entries() == [0] * 3, what="the release on all")
        for weir in self.all:
            row = eventually(lambda w=weir: self.audited(w, "list.remove"), what="the audit log")[0]
            self.assertEqual([row["reason"], "at replica" in row["from"]], ["ticket 4711", weir is not second])
        # Taken back on the third, where neither was made.
        code, text = ctl(third, "undo", removed["undo"])
        self.assertEqual(code, 0, text)
        eventually(lambda: self.entries() == [1] * 3, what="the ban on all again")
        entry = first.entries("banned")[0]
        self.assertEqual([entry["key"], entry["why"]], [["203.0.113.9"], "scraping"])
        tokens = lambda: [row["undo"] for row in second.admin("GET", "/v1/changes")[1]["changes"]]
        eventually(lambda: tokens() == [answer["undo"]], what="a token that works once")
        self.assertEqual(second.admin("POST", f"/v1/changes/{removed['undo']}/undo", {})[0], 404)
        self.assertEqual(second.admin("POST", f"/v1/changes/{answer['undo']}/undo", {})[0], 200)
        eventually(lambda: self.entries() == [0] * 3, what="the end of the ban on all")
        for weir in self.all:
            eventually(lambda w=weir: sum(row["done"] for row in self.audited(w, "list.undo")) == 2, what="both in the audit log")


class Alone(unittest.TestCase):
    def test_without_redis_there_is_this_one(self):
        with Origin() as origin, Weir(POLICIES, origin.port) as weir:
            code, text = ctl(weir, "replicas")
            self.assertEqual(code, 0)
            self.assertIn("knows only itself", text)
            self.assertIsNone(weir.admin("GET", "/v1/status")[1]["fleet"])


if __name__ == "__main__":
    unittest.main()
