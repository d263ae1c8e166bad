"""The dashboard in a real browser: what its three users do, by clicks; and what a page costs.

Skipped where Chromium, node or playwright-core are missing: `scripts/deps browser` installs them.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from dashboard_site import POLICIES, Fleet, Site
from http_client import Client
from weir_process import ROOT, SANITIZED

JOBS = os.path.join(ROOT, "tests", "browser", "jobs.mjs")
MODULES = os.environ.get("BROWSER_DIR", os.path.join(ROOT, "build", "browser"))
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def audit_of(weir):
    """What people have changed, by the log."""
    return [line for line in weir.logged("audit") if line["from"] != "weir itself"]


def missing():
    there = {"chromium": CHROMIUM, "node": shutil.which("node"),
             "playwright-core and axe-core": all(os.path.isdir(os.path.join(MODULES, "node_modules", name)) for name in ("playwright-core", "axe-core"))}
    return [name for name, found in there.items() if not found]


@unittest.skipIf(missing(), f"no {', no '.join(missing())}: scripts/deps browser installs what a browser test needs")
class Clicks(unittest.TestCase):
    def click(self, name, weir, token_file, **more):
        environment = {"PATH": os.environ["PATH"], "HOME": weir.directory, "WEIR_BINARY": os.path.abspath(weir.binary), "CHROMIUM": CHROMIUM,
                       "WEIR_PROXY_PORT": str(weir.port), "WEIR_ADMIN_PORT": str(weir.admin_port), "WEIR_TOKEN_FILE": token_file,
                       "BROWSER_MODULES": os.path.abspath(MODULES), **more}
        for pictures in ("BROWSER_PICTURES", "BROWSER_LOOK"):  # directories for pictures: of what went wrong, and of what a person should see
            if pictures in os.environ:
                environment[pictures] = os.environ[pictures]
        done = subprocess.run(["node", JOBS, name], env=environment, capture_output=True, text=True, timeout=150, check=False)
        self.assertEqual(done.returncode, 0, f"{done.stdout}{done.stderr}")

    def job(self, name):
        with Site() as site:
            self.click(name, site.weir, site.token_file)
            return audit_of(site.weir)

    def test_platform_engineer(self):
        changes = self.job("platform")
        self.assertEqual([each["action"] for each in changes if each["who"] == "session" and not each["action"].startswith("session")],
                         ["list.remove", "list.remove", "override.set", "override.end"])
        self.assertIn("ticket 4711", json.dumps(changes))

    def test_backend_developer(self):
        changes = self.job("backend")
        self.assertEqual([each["action"] for each in changes if each["who"] == "session" and not each["action"].startswith("session")], ["override.set", "override.end"])

    def test_anti_fraud(self):
        self.job("fraud")

    def test_session(self):
        self.job("session")

    def test_ways_back_and_errors(self):
        self.job("ways")

    def test_weir_goes_away(self):
        self.job("away")

    def test_tables(self):
        changes = self.job("tables")
        self.assertEqual([each["action"] for each in changes if each["action"].startswith("table.")], ["table.set", "table.set", "table.undo"])

    def test_tables_with_a_second_person(self):
        with Site(more=", approval: true") as site:
            self.click("approval", site.weir, site.token_file)

    def test_a_session_of_somebody(self):
        with Site(more=", approval: true") as site:
            self.click("named", site.weir, site.token_file)
            who = [(each["action"], each["who"], each["done"]) for each in audit_of(site.weir) if each["action"].startswith("table.")]
            self.assertEqual(who, [("table.set", "session of ann", "yes"), ("table.approve", "session of ann", "no"),
                                   ("table.approve", "session of ann", "no"), ("table.approve", "session of bob", "yes")])

    def test_limits_of_tables_and_entries_of_files(self):
        lists = "lists:\n  feed: {of: ip, kind: deny, file: feed.txt}\n  pairs: {of: [user, ip], kind: deny, file: pairs.csv}\n"
        files = {"feed.txt": "198.51.100.0/24\n192.0.2.66\n", "pairs.csv": "alice,192.0.2.77\n"}
        with Site(POLICIES.replace("lists:\n", lists), files=files) as site:
            with Client(site.weir.port) as connection:
                for user, gold in (("bob", "3000"), ("eve", "2600"), ("tom", "10")):
                    connection.request("POST", "/reward", {"X-User-Id": user, "X-Gold": gold, "X-Shop": "baidu", "X-Os": "android"})
            self.click("limits", site.weir, site.token_file)

    def test_charts_of_views_and_differences_of_loads(self):
        with Site(POLICIES.replace("window: {every: 5s}", "window: {every: 2s}").replace("{last: 1m, hop: 5s}", "{last: 1h, hop: 5m}")) as site:
            with Client(site.weir.port) as connection:
                for burst in range(5):
                    for user in range(4 + 3 * burst):
                        for item in range(1, 2 + user):
                            connection.request("GET", f"/item?item=sku-{item}", {"X-User-Id": f"user-{user}", "X-Forwarded-For": f"198.51.100.{user + 1}"})
                    time.sleep(2)
            self.click("views", site.weir, site.token_file, WEIR_CONFIG=site.weir.config)

    @unittest.skipIf(shutil.which("redis-server") is None, "no redis-server")
    def test_a_ban_is_one_on_the_pages_of_three_replicas(self):
        with Fleet() as fleet:
            ports = ",".join(f"{weir.port}:{weir.admin_port}:{weir.process.pid}" for weir in fleet.weirs)
            self.click("ban", fleet.weirs[0], fleet.token_file, WEIR_REPLICAS=ports)
            for weir in fleet.weirs:
                done = [each for each in audit_of(weir) if each["who"] == "session" and not each["action"].startswith("session")]
                self.assertEqual([each["action"] for each in done], ["list.add", "list.remove", "list.undo"])
                self.assertEqual([" at replica " in each["from"] for each in done], [weir is not fleet.weirs[0]] + [weir is not fleet.weirs[2]] * 2)

    def test_access(self):
        self.job("access")

    @unittest.skipIf(shutil.which("redis-server") is None, "no redis-server")
    def test_hour_over_three_replicas(self):
        with Fleet() as fleet:
            ports = ",".join(f"{weir.port}:{weir.admin_port}:{weir.process.pid}" for weir in fleet.weirs)
            self.click("fleet", fleet.weirs[0], fleet.token_file, WEIR_REPLICAS=ports)
            for number, weir in enumerate(fleet.weirs[:2]):
                authors = [each["who"] for each in audit_of(weir) if each["action"].startswith("override.")]
                # Four by the page of the first replica, which are those of all.
                self.assertEqual(authors, ["session"] * 4)
                places = [each["from"] for each in audit_of(weir) if each["action"].startswith("override.")]
                self.assertEqual([" at replica " in place for place in places], [number == 1] * 4, places)
            self.assertIn("list.remove", [each["action"] for each in audit_of(fleet.weirs[1])])


@unittest.skipIf(shutil.which("node") is None, "no node")
class Texts(unittest.TestCase):
    def test_hidden_characters_are_shown_as_ctl_shows_them(self):
        with open(os.path.join(ROOT, "core", "visible.cc"), encoding="utf-8") as f:
            table = f.read().partition("kHidden{")[2].partition(";")[0]
        ranges = [(int(first, 16), int(last, 16)) for first, last in re.findall(r"\{(0x\w+), (0x\w+)\}", table)]
        self.assertGreater(len(ranges), 20)
        wanted = {}
        for first, last in ranges:
            for code in (first - 1, first, last, last + 1):
                hidden = code not in (0x9, 0xa) and any(a <= code <= b for a, b in ranges)
                if code >= 0:
                    wanted[code] = json.dumps(chr(code))[1:-1] if hidden and code > 0x7f else f"\\u{code:04x}" if hidden else chr(code)
        with open(os.path.join(ROOT, "admin", "dashboard", "page", "dom.js"), encoding="utf-8") as f:
            script = f.read() + f"\nconsole.log(JSON.stringify({json.dumps(list(wanted))}.map((code) => visible(String.fromCodePoint(code)))));\n"
        done = subprocess.run(["node", "--input-type=module"], input=script, capture_output=True, text=True, timeout=30, check=True)
        self.assertEqual(json.loads(done.stdout), list(wanted.values()))


    def test_keys_have_one_text_here_and_at_the_command_line(self):
        """What core/chars/key_text.h says, of the same keys as its own test."""
        keys = [["alice"], ["alice", "192.0.2.7"], [""], ["", "x"], ["a, b"], ["a,b", "c"], [" a"], ["a\n"], ["a b"], ['"a"'], ['say "hi"'], ["(everybody)"], ["张三", "上海"]]
        texts = ["alice", "alice, 192.0.2.7", '""', '"", x', '"a, b"', '"a,b", c', '" a"', '"a\n"', "a b", '"""a"""', 'say "hi"', '"(everybody)"', "张三, 上海"]
        written = {"alice,192.0.2.7": ["alice", "192.0.2.7"], "  alice ,  192.0.2.7\t": ["alice", "192.0.2.7"], '"alice" , 192.0.2.7': ["alice", "192.0.2.7"],
                   "": [], " ": [], "a,": ["a", ""], ",a": ["", "a"], '"a, b': ['"a', "b"], '"a" b, c': ['"a" b', "c"], '"a""': ['"a""']}
        page = os.path.join(ROOT, "admin", "dashboard", "page")
        script = f"""import {{keyParts, keyText}} from {json.dumps("file://" + os.path.join(page, "format.js"))};
const keys = {json.dumps(keys)}, written = {json.dumps(list(written))};
console.log(JSON.stringify([keys.map(keyText), keys.map((key) => keyParts(keyText(key))), written.map(keyParts)]));
"""
        with tempfile.TemporaryDirectory() as directory:
            for name in ("format.js", "words.js", "words_zh.js"):
                shutil.copy(os.path.join(page, name), directory)
            with open(os.path.join(directory, "package.json"), "w", encoding="utf-8") as f:
                f.write('{"type": "module"}')
            done = subprocess.run(["node", "--input-type=module"], input=script.replace(page, directory), capture_output=True, text=True, timeout=30, check=True)
        self.assertEqual(json.loads(done.stdout), [texts, keys, list(written.values())])


class Scale(unittest.TestCase):
    """100,000 entries and 1,000 policies: what the pages ask for is answered in 100 ms."""

    POLICIES = "lists:\n  banned: {of: ip, kind: deny, max: 200000}\npolicies:\n" + "".join(
        f"  - {{name: policy-{i:04d}, watch: request, when: 'path == \"/p{i}\"', key: ip, window: 10m, then: [{{over: {50 + i}, do: deny, for: 1h}}]}}\n" for i in range(1000))
    MOST = 0.1 * (10 if SANITIZED else 1)

    def test_pages_answer_at_once(self):
        with Site(self.POLICIES, token=False) as site, Client(site.weir.admin_port, host=f"127.0.0.1:{site.weir.admin_port}") as client:
            def ask(method, path, body=None):
                content = b"" if body is None else json.dumps(body).encode()
                answer = client.request(method, path, {"Content-Type": "application/json"} if body is not None else {}, content)
                self.assertEqual(answer.status, 200, answer.body[:300])
                return json.loads(answer.body)

            for block in range(100):
                rows = [{"key": f"10.{block}.{i // 250}.{i % 250}", "for": "4h", "why": "load"} for i in range(1000)]
                ask("POST", "/v1/lists/banned/import", {"entries": rows})
            for path in ("/v1/policies?limit=100&search=", "/v1/policies?limit=100&search=0999", "/v1/entries?limit=100", "/v1/entries?limit=100&search=10.99.3.249",
                         "/v1/lists/banned?limit=100", "/v1/lists", "/v1/why?key=10.50.1.7", "/v1/status", "/v1/policies/policy-0001/readings?bins=600"):
                times = []
                for _ in range(5):
                    begun = time.monotonic()
                    ask("GET", path)
                    times.append(time.monotonic() - begun)
                self.assertLess(min(times), self.MOST, path)
            # A search finds its one entry, wherever it is, by pages that are each as quick.
            after, found = "", []
            while not found:
                page = ask("GET", "/v1/entries?limit=100&search=10.99.3.249" + after)
                found = page["entries"]
                self.assertTrue(found or page["next"])
                after = f"&after={page['next']}"
            self.assertEqual(found[0]["key"], ["10.99.3.249"])


if __name__ == "__main__":
    unittest.main()
