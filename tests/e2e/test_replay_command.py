"""`weir replay` on files of our own: what cannot be read, logs that are mapped to requests, lists of a policy, labels, sweeps, csv."""

import csv
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

LOGINS = """weir: 1
events:
  login: {match: POST /login, fields: {user: body.user.lowerAscii()}}
  login_failed: {is: login, when: status == 401}
policies:
  - name: per-ip
    watch: login_failed
    key: ip
    window: 10m
    then: [{over: 2, do: flag}, {over: 4, do: deny, for: 1h}]
  - name: per-user
    watch: login_failed
    key: user
    window: 10m
    missing: skip
    then: [{over: 3, do: flag}]
"""
GOLD = """weir: 1
events: {gold: {source: {csv: [user, ocpc, os, amount, ts], time: {field: ts, as: seconds}}, fields: {gold: int(amount)}}}
tables:
  limits: {by: [ocpc, os], values: {baidu: {android: 3, ios: 5}, "*": 7}}
policies:
  - {name: gold, watch: gold, key: user, metric: sum(gold), window: 1h, missing: skip, then: [{over: limits, do: flag}]}
"""


class Replay(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name
        self.write("weir.yaml", LOGINS)

    def write(self, name, text):
        with open(os.path.join(self.directory, name), "w", encoding="utf-8") as f:
            f.write(text)

    def replay(self, *flags):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        return subprocess.run([os.environ["WEIR_BINARY"], "replay", *flags], cwd=self.directory, env=environment, capture_output=True, text=True,
                              timeout=60, check=False)

    def good(self, *flags):
        done = self.replay(*flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def access_log(self, rows):
        """(seconds, ip, status) each."""
        self.write("access.log", "".join(
            f'{ip} - - [05/Jan/2026:10:{second // 60:02}:{second % 60:02} +0000] "POST /login HTTP/1.1" {status} 12 "-" "curl/8"\n'
            for second, ip, status in rows))

    # Unreadable input.

    def test_no_readable_row_is_no_success(self):
        self.write("empty.log", "")
        self.write("wrong.log", "not a line of a log\nnor this one\n")
        done = self.replay("--event", "request=wrong.log")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, r"wrong\.log as request: none of its 2 rows can be read; the first: wrong\.log:1:\d+: ")
        done = self.replay("--event", "request=empty.log", "-o", "ndjson")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("there is nothing to judge: no file has a row", done.stderr)
        self.access_log([(0, "198.51.100.1", 401)])
        done = self.replay("--event", "request=access.log", "--to", "2025-01-01")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("no row lies between --from and --to", done.stderr)
        # One file of several that is of another kind is a mistake as well.
        done = self.replay("--event", "request=access.log", "--event", "request=wrong.log")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(self.replay("--event", "request=access.log", "--event", "request=empty.log").returncode, 0)

    def test_bad_rows_have_a_bound(self):
        self.access_log([(n, "198.51.100.1", 200) for n in range(99)])
        with open(os.path.join(self.directory, "access.log"), "a", encoding="utf-8") as f:
            f.write("garbage\n")
        self.assertEqual(self.replay("--event", "request=access.log").returncode, 0)
        self.assertEqual(self.replay("--event", "request=access.log", "--max-bad", "1%").returncode, 0)
        done = self.replay("--event", "request=access.log", "--max-bad", "0.5%")
        self.assertEqual((done.returncode, "--max-bad 0.5%: 1 of 100 rows are bad" in done.stderr), (1, True), done.stderr)
        self.assertEqual(self.replay("--event", "request=access.log", "--max-bad", "0").returncode, 1)
        for wrong in ("1 %", "x", "-1", "%", "101%"):
            self.assertEqual(self.replay("--event", "request=access.log", f"--max-bad={wrong}").returncode, 2, wrong)

    # Logs of other forms as requests.

    MAP = "ts=when,ip=client.ip,method=verb,path=uri,status=code,body.user=login"

    def test_json_and_csv_are_judged_as_the_access_log_is(self):
        rows = [(second, f"198.51.100.{1 + second % 2}", 401 if second % 5 else 200) for second in range(40)]
        self.write("weir.yaml", LOGINS.replace("do: deny, for: 1h", "do: flag"))  # what is refused is not counted by the other policy
        self.access_log(rows)
        self.write("app.ndjson", "".join(json.dumps(
            {"when": f"2026-01-05T10:00:{second:02}Z", "client": {"ip": ip}, "verb": "POST", "uri": "/login?next=%2F", "code": status,
             "login": f"User{second % 3}"}) + "\n" for second, ip, status in rows))
        self.write("app.csv", "code,uri,verb,client.ip,when,login\n" + "".join(
            f'{status},"/login?next=a,b",POST,{ip},{1767607200 + second}.5,User{second % 3}\n' for second, ip, status in rows))
        log, mapped, table = (self.verdicts(*flags) for flags in (
            ("--event", "request=access.log"), ("--event", "request=app.ndjson", "--map", self.MAP),
            ("--event", "request=app.csv", "--map", self.MAP)))
        self.assertGreater(len(log), 5)
        self.assertEqual(self.of("per-ip", log), self.of("per-ip", mapped))
        # csv has a line of names, and half a second.
        self.assertEqual([(line - 1, *rest) for line, *rest in self.of("per-ip", table)], self.of("per-ip", mapped))
        # Only the mapped ones know the user; its policy reads a body as the proxy does.
        self.assertEqual(self.of("per-user", log), [])
        self.assertEqual({row[1] for row in self.of("per-user", mapped)}, {"user0", "user1", "user2"})
        self.assertEqual([row[1:] for row in self.of("per-user", mapped)], [row[1:] for row in self.of("per-user", table)])
        # Sorting reads every text twice, and so does another configuration.
        sorted_ = self.verdicts("--event", "request=app.csv", "--map", self.MAP, "--lateness", "5s")
        self.assertEqual(self.of("per-ip", sorted_), self.of("per-ip", table))
        beside = json.loads(self.good("--event", "request=app.csv", "--map", self.MAP, "--against", "weir.yaml", "-o", "json"))
        self.assertEqual(beside["verdicts"], beside["verdicts_there"])

    def verdicts(self, *flags):
        return [json.loads(line) for line in self.good(*flags, "-o", "ndjson").splitlines() if '"type":"verdict"' in line]

    @staticmethod
    def of(policy, rows):
        return [(r["line"], r["key"][0], r["value"], r["do"]) for r in rows if r["policy"] == policy]

    def test_parts_of_a_request_come_from_where_the_mapping_says(self):
        self.write("weir.yaml", """weir: 1
policies:
  - name: all
    watch: request
    when: 'method == "GET" && path == "/a%20b" && query.q == "1" && host == "shop.example" && header.x_user == "anna" && cookie.sid == "s1"'
    key: ip
    window: 1m
    then: [{over: 0, do: flag}]
  - name: answers
    watch: request
    when: 'status == 200 && response.header.x_cache == "hit" && response.body.tokens > 5'
    window: 1m
    then: [{over: 0, do: flag}]
""")
        self.write("app.ndjson", json.dumps({"@timestamp": 1767607200123, "http": {"request": "GET /a%20b HTTP/1.1"}, "args": "q=1", "vhost": "Shop.Example:443",
                                             "ip": "::ffff:198.51.100.7", "user": "anna", "sid": "s1", "status": "200", "cache": "hit", "tokens": 7}) + "\n")
        rows = self.verdicts("--event", "request=app.ndjson", "--map",
                             "ts=@timestamp,request=http.request,query=args,host=vhost,ip=ip,header.X-User=user,cookie.sid=sid,status=status,"
                             "response.header.X-Cache=cache,response.body.tokens=tokens")
        self.assertEqual([(r["policy"], r["ts"], r["key"]) for r in rows],
                         [("all", 1767607200123, ["198.51.100.7"]), ("answers", 1767607200123, [])])

    def test_lists_and_objects_of_a_mapped_body_are_read_as_the_app_got_them(self):
        self.write("weir.yaml", "weir: 1\npolicies: [{name: large, watch: request, when: 'body.cart.total > 5 && body.tags[1] == \"b\"', "
                   "window: 1m, then: [{over: 0, do: flag}]}]\n")
        lines = [{"t": n, "i": "203.0.113.7", "m": "POST", "p": "/", "cart": {"total": total, "of": [{"x": "\u4e2d\""}]}, "tags": ["a", "b"]}
                 for n, total in enumerate((9, 5, 6))]
        self.write("app.ndjson", "".join(json.dumps(line) + "\n" for line in lines))
        rows = self.verdicts("--event", "request=app.ndjson", "--map", "ts=t,ip=i,method=m,path=p,body.cart=cart,body.tags=tags")
        self.assertEqual([r["line"] for r in rows], [1, 3])

    def test_names_of_columns_may_have_commas_and_quotes(self):
        self.write("weir.yaml", "weir: 1\npolicies: [{name: all, watch: request, key: ip, window: 1m, then: [{over: 0, do: flag}]}]\n")
        self.write("app.csv", '"a,b","say ""t""",ip,method,path\nx,1,203.0.113.7,GET,/\n')
        rows = self.verdicts("--event", "request=app.csv", "--map", 'ts=say "t",ip=ip,method=method,path=path')
        self.assertEqual([(r["ts"], r["key"]) for r in rows], [(1000, ["203.0.113.7"])])
        self.write("open.csv", 'ts,"ip,method,path\n1,203.0.113.7,GET,/\n')
        done = self.replay("--event", "request=open.csv", "--map", "ts=ts,ip=ip,method=method,path=path")
        self.assertEqual((done.returncode, "the first line has no names of columns" in done.stdout + done.stderr), (1, True), done.stdout + done.stderr)

    def test_a_caller_may_come_with_its_port(self):
        self.write("weir.yaml", "weir: 1\npolicies: [{name: all, watch: request, key: ip, window: 1m, then: [{over: 0, do: flag}]}]\n")
        callers = ["203.0.113.7:4711", "203.0.113.7", "[2001:db8::1]:4711", "2001:db8::1", "::ffff:203.0.113.7"]
        self.write("app.ndjson", "".join(json.dumps({"t": 1, "i": caller, "m": "GET", "p": "/"}) + "\n" for caller in callers))
        rows = self.verdicts("--event", "request=app.ndjson", "--map", "ts=t,ip=i,method=m,path=p")
        v6 = rows[2]["key"][0]
        self.assertEqual([r["key"][0] for r in rows], ["203.0.113.7", "203.0.113.7", v6, v6, "203.0.113.7"])
        for caller in ("203.0.113.7:", "203.0.113.7:x", "shop.example:80", ":80", ""):
            self.write("app.ndjson", json.dumps({"t": 1, "i": caller, "m": "GET", "p": "/"}) + "\n")
            self.assertEqual(self.replay("--event", "request=app.ndjson", "--map", "ts=t,ip=i,method=m,path=p").returncode, 1, caller)

    def test_a_mapping_says_how_times_are_written_and_builds_the_objects_of_a_body(self):
        self.write("weir.yaml", "weir: 1\npolicies: [{name: tokens, watch: request, when: 'response.body.usage.total_tokens > 100', key: ip, "
                   "window: 1m, then: [{over: 1, do: flag}]}]\n")
        # The second request is over by its own possible match: so the first one has matched, by its body.
        lines = [{"t": t, "i": "203.0.113.7", "m": "POST", "p": "/", "tokens": tokens} for t, tokens in ((1795252320500000000, 120), (1795252321500000000, 90))]
        self.write("app.ndjson", "".join(json.dumps(line) + "\n" for line in lines))
        rest = "ip=i,method=m,path=p,response.body.usage.total_tokens=tokens"
        rows = self.verdicts("--event", "request=app.ndjson", "--map", "ts.nanos=t," + rest)
        self.assertEqual([(r["line"], r["ts"]) for r in rows], [(2, 1795252321500)])
        self.write("app.csv", "t,i,m,p,tokens\n21.11.2026 09:12:00,203.0.113.7,POST,/,120\n21.11.2026 09:12:01,203.0.113.7,POST,/,90\n")
        rows = self.verdicts("--event", "request=app.csv", "--map", "ts.%d.%m.%Y %H:%M:%S=t," + rest)
        self.assertEqual([(r["line"], r["ts"]) for r in rows], [(3, 1795252321000)])

    def test_what_is_wrong_with_a_mapping_is_told(self):
        self.access_log([(0, "198.51.100.1", 200)])
        for mapping, says in (("ts=t", "a request needs ts, ip, and request or method and path"), ("tss=t", '"tss" is not a part of a request'),
                              ("ts", "write PART=NAME"), ("ts=a,ts=b", "gives a part again"), ("header.=a", "needs one name after header."),
                              ("ts.secs=t", '"secs" is not a time format')):
            done = self.replay("--event", "request=access.log", "--map", mapping)
            self.assertEqual((done.returncode, says in done.stderr), (2, True), done.stderr)
        self.write("app.csv", "when,ip,verb\n1,198.51.100.1,GET\n")
        done = self.replay("--event", "request=app.csv", "--map", "ts=when,ip=ip,method=verb,path=uri")
        self.assertEqual(done.returncode, 1)
        self.assertIn('the first line names no column "uri"; it has when, ip, verb', done.stderr)
        self.write("bad.ndjson", '{"t":1,"i":"x","m":"GET","p":"/"}\n{"i":"::1","m":"GET","p":"/"}\n{"t":1,"i":"::1","p":"/"}\n{"t":1,"i":"::1","m":"GET","p":"/%zz"}\nnonsense\n')
        done = self.replay("--event", "request=bad.ndjson", "--map", "ts=t,ip=i,method=m,path=p")
        for says in ("the caller is not an address", "it has no time", "it has no method and path", "a path that the proxy refuses",
                     "this is not a JSON object"):
            self.assertIn(says, done.stdout + done.stderr)
        self.assertEqual(done.returncode, 1)

    def test_requests_that_the_proxy_would_refuse_are_no_bad_rows(self):
        self.write("weir.yaml", "weir: 1\nevents: {login: {match: POST /api/login}}\n"
                   "policies: [{name: login, watch: login, key: ip, window: 1m, then: [{over: 5, do: deny}]}]\n")
        self.write("odd.log", "".join(f'198.51.100.1 - - [17/May/2015:10:05:03 +0000] "{line} HTTP/1.1" 200 1\n' for line in
                                      ("POST /api%2flogin", "POST /api/login%0a", "GET /@babel%2fcore", "POST /api/login",
                                       "post /api/login", "A" * 40 + " /api/login", "OPTIONS *", "get *", "GET *",
                                       "GET http://a..b/x", "GET http://A.b./x")))
        report = json.loads(self.good("--event", "request=odd.log", "-o", "json"))
        self.assertEqual((report["rows"], report["bad"], report["refused_paths"], report["events"]), (11, 0, 7, 4))
        self.assertIn("7 that the proxy would refuse (400: ", self.good("--event", "request=odd.log"))

    # Refusals by a policy's own list.

    def test_refusals_by_a_policys_own_list_are_its_own(self):
        self.access_log([(n, "198.51.100.1", 401) for n in range(20)] + [(30, "198.51.100.2", 200)])
        report = json.loads(self.good("--event", "request=access.log", "-o", "json"))
        policy = next(p for p in report["policies"] if p["policy"] == "per-ip")
        denied = report["verdicts"]["deny"]
        own = sum(r["verdicts"] for r in policy["rungs"] if r["do"] == "deny")
        self.assertEqual(policy["listed"] + own, denied)
        self.assertGreater(policy["listed"], 10)
        self.assertIn(f"; {policy['listed']} events met its list", self.good("--event", "request=access.log"))

    # Reports.

    def test_a_table_is_told_cell_by_cell(self):
        self.write("gold.yaml", GOLD)
        self.write("gold.csv", "".join(f"u{n % 3},{('baidu', 'baidu', 'other')[n % 3]},{('android', 'ios', 'web')[n % 3]},1,{n}\n" for n in range(60)))
        report = json.loads(self.good("-c", "gold.yaml", "--event", "gold=gold.csv", "-o", "json"))
        self.assertEqual(report["policies"][0]["cells"], [{"cell": "baidu, android", "limit": 3, "verdicts": 17}, {"cell": "baidu, ios", "limit": 5, "verdicts": 15},
                                                          {"cell": "*", "limit": 7, "verdicts": 13}])
        self.assertIn("verdicts by cell of the table", self.good("-c", "gold.yaml", "--event", "gold=gold.csv"))

    def test_the_time_line_holds_every_event_once(self):
        self.access_log([(n * 7 % 3000, f"198.51.100.{n % 7}", 401) for n in range(300)])
        report = json.loads(self.good("--event", "request=access.log", "-o", "json"))
        line = report["timeline"]
        self.assertLessEqual(len(line["pass"]), 60)
        self.assertEqual(sum(sum(line[name]) for name in line if name not in ("start", "width")), report["events"])
        self.assertEqual(line["start"] % line["width"], 0)
        self.assertLessEqual(line["start"], report["first"])
        for name, count in report["verdicts"].items():
            self.assertEqual(sum(line.get(name, [])), count, name)
        text = self.good("--event", "request=access.log", "--report", "r.html")
        self.assertRegex(text, r"over time, \d+\w+ a column, ")
        with open(os.path.join(self.directory, "r.html"), encoding="utf-8") as f:
            self.assertIn('<svg class="time"', f.read())

    def test_against_keeps_the_keys_in_its_page(self):
        self.access_log([(n, f"198.51.100.{n % 4}", 401) for n in range(12)])
        self.write("strict.yaml", LOGINS.replace("over: 2", "over: 3"))
        self.good("--event", "request=access.log", "--against", "strict.yaml", "--report", "r.html")
        with open(os.path.join(self.directory, "r.html"), encoding="utf-8") as f:
            page = f.read()
        self.assertRegex(page, r"per-ip, only here</h3><ul><li><code>198\.51\.100\.\d</code>")

    def test_labels_give_precision_and_recall(self):
        bad = [f"198.51.100.{n}" for n in range(4)]
        self.access_log([(n, bad[n % 3], 401) for n in range(20)] + [(100 + n, "203.0.113.9", 401) for n in range(5)])
        self.write("labels.txt", "# confirmed\n" + "\n".join(bad) + "\n\n")
        report = json.loads(self.good("--event", "request=access.log", "--labels", "labels.txt", "-o", "json"))
        label = next(x for x in report["labels"] if x["policy"] == "per-ip")
        self.assertEqual(label, {"policy": "per-ip", "keys_hit": 4, "confirmed": 3, "labels": 4, "precision": 0.75, "recall": 0.75})
        self.assertIn("precision 75.0 %", self.good("--event", "request=access.log", "--labels", "labels.txt"))
        self.assertEqual(self.replay("--event", "request=access.log", "--labels", "absent.txt").returncode, 4)

    def test_a_sweep_is_what_single_runs_are(self):
        self.access_log([(n, f"198.51.100.{n * n % 7}", 401 if n % 4 else 200) for n in range(200)])
        self.write("labels.txt", "198.51.100.1\n198.51.100.3\n")
        flags = ("--event", "request=access.log", "--labels", "labels.txt")
        rows = list(csv.DictReader(io.StringIO(self.good(*flags, "--sweep", "per-ip:1=4,10..30:10", "-o", "csv"))))
        self.assertEqual([row["limit"] for row in rows], ["4", "10", "20", "30"])
        for row in rows:
            self.write("one.yaml", LOGINS.replace("over: 4", f"over: {row['limit']}"))
            report = json.loads(self.good("-c", "one.yaml", *flags, "-o", "json"))
            policy = report["policies"][0]
            label = report["labels"][0]
            self.assertEqual((int(row["verdicts"]), int(row["keys_hit"]), int(row["refused"]), int(row["confirmed"])),
                             (policy["verdicts"], policy["keys_hit"], report["verdicts"]["deny"], label["confirmed"]), row)
        self.assertGreater(len({row["refused"] for row in rows}), 1)
        self.assertEqual(len(json.loads(self.good(*flags, "--sweep", "per-ip=1..5", "-o", "json"))), 5)
        for sweep, says in (("per-ipp=1", 'did you mean "per-ip"?'), ("per-ip:7=1", "has no rung 7"), ("per-ip", "write POLICY=5,10,20"),
                            ("per-ip=1..500", "at most 50 values"), ("per-ip=x", "write POLICY=5,10,20")):
            done = self.replay(*flags, "--sweep", sweep)
            self.assertEqual((done.returncode, says in done.stderr), (2, True), f"{sweep}: {done.stderr}")
        self.assertEqual(self.replay("--event", "request=-", "--sweep", "per-ip=1").returncode, 2)

    def test_rows_as_csv_are_the_rows_of_ndjson(self):
        self.write("weir.yaml", LOGINS.replace("key: ip", "key: [ip, header.user_agent]"))
        agents = ['=HYPERLINK("x")', 'a "b", c', "plain"]
        self.write("app.ndjson", "".join(json.dumps({"t": n, "i": "198.51.100.1", "m": "POST", "p": "/login", "s": 401, "ua": agents[n % 3]}) + "\n"
                                         for n in range(12)))
        flags = ("--event", "request=app.ndjson", "--map", "ts=t,ip=i,method=m,path=p,status=s,header.user-agent=ua", "--readings", "per-ip")
        known = [json.loads(line) for line in self.good(*flags, "-o", "ndjson").splitlines()]
        rows = list(csv.DictReader(io.StringIO(self.good(*flags, "-o", "csv"))))
        known = [r for r in known if r["type"] in ("reading", "verdict")]
        self.assertGreater(len([r for r in known if r["type"] == "verdict"]), 2)
        self.assertEqual([(r["type"], r["policy"], r["event"], r["line"], r["ts"], r["key"], r["value"], r["do"], r["rung"], r["limit"]) for r in rows],
                         [(r["type"], r["policy"], r["event"], str(r["line"]), str(r["ts"]), ", ".join(r["key"]), str(r["value"]), r.get("do", ""),
                           str(r.get("rung", "")), str(r.get("limit", ""))) for r in known])

    def test_a_spreadsheet_is_given_no_formula(self):
        self.write("weir.yaml", LOGINS.replace("key: ip", "key: header.user_agent").replace("window: 10m\n    then", "window: 10m\n    missing: skip\n    then"))
        self.write("app.ndjson", "".join(json.dumps({"t": n, "i": "198.51.100.1", "m": "POST", "p": "/login", "s": 401, "ua": ("=1+1", "'=1+1")[n % 2]}) + "\n"
                                         for n in range(8)))
        out = self.good("--event", "request=app.ndjson", "--map", "ts=t,ip=i,method=m,path=p,status=s,header.user-agent=ua", "-o", "csv")
        self.assertTrue(re.search(r",\"'=1\+1\",", out), out)
        self.assertTrue(re.search(r",\"''=1\+1\",", out), f"another key, so another cell: {out}")

    def test_gray_and_graylist_are_one_word(self):
        self.access_log([(n, "198.51.100.1", 401) for n in range(9)])
        for word in ("graylist", "gray"):
            self.write("weir.yaml", LOGINS.replace("do: flag}, {over: 4, do: deny, for: 1h", f"do: {word}, for: 1h"))
            for asked in ("gray>0", "graylist>0"):
                done = self.replay("--event", "request=access.log", "--fail-if", asked)
                self.assertEqual(done.returncode, 1, f"{word}, {asked}: {done.stderr}")

    # Threads.

    def several(self, *flags):
        """What three threads say is what one says; gives how the work was shared out."""
        shared = ""
        for output in ("human", "json", "ndjson", "csv"):
            one, three = (self.replay(*flags, "-o", output, "--report", f"{threads}.html", "--threads", str(threads), "-v") for threads in (1, 3))
            self.assertEqual((one.returncode, three.returncode), (0, 0), three.stderr)
            self.assertGreater(len(one.stdout), 100)
            self.assertEqual(three.stdout, one.stdout)
            pages = []
            for threads in (1, 3):
                with open(os.path.join(self.directory, f"{threads}.html"), encoding="utf-8") as f:
                    pages.append(f.read())
            self.assertEqual(pages[0], pages[1])
            shared = three.stderr
        return shared

    def test_threads_change_nothing_but_the_time(self):
        self.access_log([(n // 3, f"198.51.100.{n * n % 7}", 401 if n % 3 else 200) for n in range(9_000)])
        path = os.path.join(self.directory, "access.log")
        with open(path, "rb") as plain, gzip.open(path + ".gz", "wb") as packed:
            packed.write(plain.read())
        suffixes = ["", ".gz"]
        if shutil.which("zstd"):
            subprocess.run(["zstd", "-q", path], check=True)
            suffixes.append(".zst")
        self.write("weir.yaml", LOGINS.replace("key: user", "key: [user, ip]"))
        for suffix in suffixes:
            self.assertIn("3 threads share out rows by ip", self.several("--event", f"request=access.log{suffix}"), suffix)
        self.write("weir.yaml", LOGINS)
        self.assertIn("--threads 3: one thread judges, another one reads: not by rows (", self.several("--event", "request=access.log"))
        self.write("weir.yaml", LOGINS.replace("do: deny, for: 1h", "do: flag").replace("missing: skip", "missing: same") +
                   "  - {name: all, watch: request, window: 1m, then: [{over: 90, do: flag}]}\n"
                   "  - {name: network, watch: request, key: ip/24, window: 1m, then: [{over: 90, do: flag}]}\n")
        self.assertIn("threads share out policies", self.several("--event", "request=access.log.gz", "--lateness", "2s"))

    def test_a_process_with_one_core_takes_one_thread(self):
        self.access_log([(n // 20, "198.51.100.1", 401) for n in range(60_000)])  # above 4 MiB
        command = [os.environ["WEIR_BINARY"], "replay", "--event", "request=access.log", "-v"]
        core = {min(os.sched_getaffinity(0))}
        done = subprocess.run(command, cwd=self.directory, capture_output=True, text=True, timeout=60, check=False,
                              preexec_fn=lambda: os.sched_setaffinity(0, core))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.splitlines(), ["weir: one thread: this process has one core"])

    def test_where_one_thread_is_needed_it_is_said_once(self):
        self.access_log([(n, "198.51.100.1", 401) for n in range(9)])
        with open(os.path.join(self.directory, "access.log"), encoding="utf-8") as rows:
            done = subprocess.run([os.environ["WEIR_BINARY"], "replay", "--event", "request=-", "--threads", "4"], cwd=self.directory, stdin=rows,
                                  capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.splitlines(), ["weir: --threads 4: one thread judges, another one reads: - is not a plain file, and is read once"])
        self.assertEqual(self.good("--event", "request=access.log"), done.stdout.replace("- as request", "access.log as request"))
        done = self.replay("--event", "request=access.log")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.replay("--event", "request=access.log", "--threads", "65").returncode, 2)
        self.assertEqual(self.replay("--event", "request=access.log", "--threads", "x").returncode, 2)

    def test_check_says_how_replays_are_shared_out(self):
        self.write("weir.yaml", LOGINS.replace("key: user", "key: [user, ip]"))
        check = [os.environ["WEIR_BINARY"], "check", "weir.yaml"]
        said = subprocess.run([*check, "-v"], cwd=self.directory, capture_output=True, text=True, timeout=60, check=True).stdout
        self.assertIn("replay: threads share out rows by ip", said)
        data = json.loads(subprocess.run([*check, "-o", "json"], cwd=self.directory, capture_output=True, text=True, timeout=60, check=True).stdout)
        self.assertEqual((data[0]["replay"]["by"], data[0]["replay"]["field"]), ("rows", "ip"))
        self.write("weir.yaml", LOGINS)
        said = subprocess.run([*check, "-v"], cwd=self.directory, capture_output=True, text=True, timeout=60, check=True).stdout
        self.assertIn("replay: one thread judges: not by rows (policy per-user counts without ip)", said)


if __name__ == "__main__":
    unittest.main()
