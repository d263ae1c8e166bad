"""The audit log: who changed what, from where, and why."""

import json
import os
import re
import signal
import stat
import subprocess
import tempfile
import unittest

from http_client import once
from origin import Origin
from weir_process import ROOT, Weir, eventually

POLICIES = """
lists: {banned: {of: ip, kind: deny}}
events: {login: {match: POST /login}}
policies: [{name: per-ip, watch: login, key: ip, window: 1h, then: [{over: 5, do: deny}]}]
"""


def ctl(weir, *words, door=None):
    run = subprocess.run([weir.binary, "ctl", "--admin", door or f"127.0.0.1:{weir.admin_port}", *words],
                         capture_output=True, text=True, check=False)
    return run.returncode, run.stdout, run.stderr


class Audit(unittest.TestCase):
    def test_every_change_has_a_line(self):
        with tempfile.TemporaryDirectory(prefix="weir-audit-") as directory:
            self.change_everything(os.path.join(directory, "audit.log"))

    def change_everything(self, path):
        with Origin() as app:
            weir = Weir(POLICIES, app.port)
            weir.head += f"audit: {{path: {path}}}\n"
            weir.write(POLICIES)
            with weir:
                self.assertEqual(ctl(weir, "list", "banned", "203.0.113.7", "--add", "--for", "1h", "--reason", "ticket 7")[0], 0)
                self.assertEqual(ctl(weir, "list", "banned", "203.0.113.7", "--remove", "--reason", "a customer")[0], 0)
                self.assertEqual(ctl(weir, "counter", "per-ip", "203.0.113.9", "--reset", "--reason", "a mistake")[0], 0)
                self.assertEqual(ctl(weir, "list", "nobody", "203.0.113.7", "--remove")[0], 1)
                self.assertEqual(ctl(weir, "reload", "--reason", "new limits")[0], 0)
                self.assertEqual(ctl(weir, "drain", "--begin", "--reason", "moving")[0], 0)
                self.assertEqual(ctl(weir, "drain", "--end")[0], 0)
                weir.write(POLICIES.replace("over: 5", "over: 6"))
                weir.signal(signal.SIGHUP)
                eventually(lambda: len(self.rows(path)) >= 9, what="the reload's line")
                weir.write("policies: [{name: x}]\n")
                eventually(lambda: len(self.rows(path)) >= 10, what="the failed reload's line")
                rows = self.rows(path)
                status, page = weir.admin("GET", "/v1/audit?limit=3")
                self.assertEqual(status, 200)
                self.assertEqual((page["lost"], [row["number"] for row in page["entries"]]), (0, [8, 9, 10]))
                self.assertEqual(page["entries"], rows[7:10])
                self.assertEqual(weir.admin("GET", "/v1/audit?limit=0")[0], 400)
                code, shown, _ = ctl(weir, "audit")
                self.assertEqual(code, 0)
                for word in ("list.add", "banned", "203.0.113.7", "ticket 7", "signal SIGHUP"):
                    self.assertIn(word, shown)
                self.assertEqual(json.loads(ctl(weir, "audit", "-n", "1", "-o", "json")[1])["entries"], rows[9:10])
                self.assertEqual(weir.metric("weir_audit_entries_total", 'result="written"'), 10)
                self.assertEqual(weir.metric("weir_audit_entries_total", 'result="lost"'), 0)
                weir.write(POLICIES)
            rows = self.rows(path)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        start, add, remove, reset, nobody, reload, begin, end, hup, failed = rows[:10]
        self.assertEqual(rows[-1]["action"], "stop")
        self.assertEqual(rows[-1]["who"], "signal SIGTERM")
        self.assertEqual((start["action"], start["from"]), ("start", "weir itself"))
        self.assertEqual((add["action"], add["target"], add["key"], add["reason"], add["who"], add["from"], add["done"]),
                         ("list.add", "banned", ["203.0.113.7"], "ticket 7", "127.0.0.1", "127.0.0.1", True))
        self.assertNotIn("before", add)
        self.assertEqual(add["after"]["result"], "created")
        self.assertEqual((remove["action"], remove["reason"], remove["after"]),
                         ("list.remove", "a customer", {"removed": 1, "emptied": []}))
        self.assertEqual(remove["before"][0]["key"], ["203.0.113.7"])
        self.assertEqual((reset["action"], reset["target"], reset["key"], reset["after"]),
                         ("counter.reset", "per-ip", ["203.0.113.9"], "empty"))
        self.assertEqual(reset["before"][0]["value"], 0)
        self.assertEqual((nobody["done"], nobody["target"]), (False, "nobody"))
        self.assertIn("neither a list nor a policy", nobody["problem"])
        self.assertEqual((reload["action"], reload["reason"], reload["before"]), ("reload", "new limits", reload["after"]))
        self.assertEqual((begin["action"], begin["before"], begin["after"]),
                         ("drain.begin", {"draining": False}, {"draining": True}))
        self.assertEqual(end["action"], "drain.end")
        self.assertEqual((hup["action"], hup["who"], hup["done"]), ("reload", "signal SIGHUP", True))
        self.assertNotEqual(hup["before"], hup["after"])
        self.assertEqual((failed["done"], failed["who"], failed["before"]), (False, "files", failed["after"]))
        self.assertTrue(failed["problem"])

    def test_by_a_unix_socket_the_user_is_known_and_by_a_token_its_name(self):
        with Origin() as app:
            weir = Weir(POLICIES, app.port)
            socket = os.path.join(weir.directory, "admin.sock")
            weir.write(POLICIES, weir.head.replace(f"admin: {{listen: 127.0.0.1:{weir.admin_port}}}",
                                                   f"admin: {{listen: 'unix:{socket}'}}") + POLICIES)
            with weir:
                self.assertEqual(ctl(weir, "drain", "--begin", door="unix:" + socket)[0], 0)
                rows = json.loads(ctl(weir, "-o", "json", "audit", door="unix:" + socket)[1])["entries"]
                self.assertEqual(rows[-1]["who"], f"uid {os.getuid()}")
                self.assertRegex(rows[-1]["from"], r"^unix socket, pid \d+$")
        with Origin() as app:
            weir = Weir(POLICIES, app.port)
            token = os.path.join(weir.directory, "ops.token")
            with open(token, "w", encoding="utf-8") as f:
                f.write("\n secret-word \n")  # all who read it take the blanks around it off
            weir.write(POLICIES, weir.head.replace(f"admin: {{listen: 127.0.0.1:{weir.admin_port}}}",
                                                   f"admin: {{listen: 127.0.0.1:{weir.admin_port}, token_file: {token}}}") + POLICIES)
            with weir:
                self.assertEqual(ctl(weir, "--token-file", token, "drain", "--begin")[0], 0)
                rows = json.loads(ctl(weir, "--token-file", token, "-o", "json", "audit")[1])["entries"]
                self.assertEqual((rows[-1]["who"], rows[-1]["from"]), ("token ops.token", "127.0.0.1"))
                self.assertNotIn("secret-word", weir.log())

    def test_who_comes_to_the_dashboard(self):
        """session.link, session.open and session.end; a code that is good no more opens nothing."""
        with Origin() as app:
            weir = Weir(POLICIES, app.port)
            token = os.path.join(weir.directory, "ops.token")
            with open(token, "w", encoding="utf-8") as f:
                f.write("\n secret-word \n")  # all who read it take the blanks around it off
            weir.write(POLICIES, weir.head.replace(f"admin: {{listen: 127.0.0.1:{weir.admin_port}}}",
                                                   f"admin: {{listen: 127.0.0.1:{weir.admin_port}, token_file: {token}}}") + POLICIES)
            door = f"127.0.0.1:{weir.admin_port}"

            def ask(method, path, body=None, **headers):
                fields = {name.replace("_", "-"): value for name, value in headers.items()} | {"Content-Type": "application/json"}
                answer = once(weir.admin_port, method, path, fields, json.dumps(body or {}).encode(), host=door)
                return answer.status, answer.header("set-cookie"), json.loads(answer.body)

            with weir:
                status, _, link = ask("POST", "/v1/session/link", Authorization="Bearer secret-word")
                self.assertEqual(status, 201)
                status, cookie, _ = ask("POST", "/v1/session", {"code": link["code"]})
                self.assertEqual(status, 200)
                self.assertEqual(ask("POST", "/v1/session", {"code": link["code"]})[0], 403, "a link is good once")
                cookie = cookie.split(";")[0]
                self.assertEqual(ask("DELETE", "/v1/session", Cookie=cookie, Origin="http://" + door)[0], 200)
                rows = json.loads(ctl(weir, "--token-file", token, "-o", "json", "audit")[1])["entries"]
                said = json.dumps(rows) + weir.log()
            self.assertEqual([(row["action"], row["who"], row["done"]) for row in rows if row["action"] not in ("start", "stop")],
                             [("session.link", "token ops.token", True), ("session.open", "session", True), ("session.end", "session", True)])
            for secret in ("secret-word", link["code"], cookie.split("=")[1]):
                self.assertNotIn(secret, said)

    def test_the_page_names_every_action(self):
        """observability.md has a row for each change that a route of the admin API makes, and the rows are of changes that there are."""
        with open(os.path.join(ROOT, "docs", "observability.md"), encoding="utf-8") as f:
            table = f.read().split("| action | change |")[1].split("\n\n")[0]
        told = set(re.findall(r"`([a-z.]+)`", "".join(row.split("|")[1] for row in table.splitlines() if row.startswith("| `"))))
        self.assertGreater(len(told), 15)
        sources = ""
        for room in ("admin", "app"):
            for directory, _, names in os.walk(os.path.join(ROOT, room)):
                for name in names:
                    if name.endswith((".cc", ".h")):
                        with open(os.path.join(directory, name), encoding="utf-8") as f:
                            sources += f.read()
        routes = set(re.findall(r'"([a-z]+(?:\.[a-z]+)?)"\}', sources.split("Route{", 1)[1].split("};")[0]))
        self.assertLessEqual(routes - {"drain"}, told, "drain is drain.begin or drain.end")
        for action in told - {"drain.begin", "drain.end"}:
            self.assertTrue(f'"{action}"' in sources, action)

    def test_in_the_log_keys_are_hidden_and_no_level_hides_a_change(self):
        with Origin() as app, Weir(POLICIES, app.port, extra="log: {level: error}\n") as weir:
            self.assertEqual(ctl(weir, "list", "banned", "203.0.113.7", "--add", "--for", "1h", "--why", "scraping")[0], 0)
            line = eventually(lambda: [r for r in weir.logged("audit") if r["action"] == "list.add"], what="the line")[0]
            self.assertRegex(line["key"], "^#[0-9a-f]{16}$")
            self.assertEqual((line["target"], line["reason"], line["who"]), ("banned", "scraping", "127.0.0.1"))
            self.assertNotIn("203.0.113.7", json.dumps(line))

    def test_the_file_may_be_moved_aside(self):
        with Origin() as app:
            weir = Weir(POLICIES, app.port)
            path = os.path.join(weir.directory, "audit.log")
            weir.head += f"audit: {{path: {path}}}\n"
            weir.write(POLICIES)
            with weir:
                eventually(lambda: self.rows(path), what="the start's line")
                os.rename(path, path + ".1")
                eventually(lambda: os.path.exists(path), what="the new file")
                ctl(weir, "drain", "--begin")
                eventually(lambda: [row["action"] for row in self.rows(path)] == ["drain.begin"], what="the line")
                self.assertEqual([row["action"] for row in self.rows(path + ".1")], ["start"])

    def test_a_file_that_cannot_be_opened_leaves_the_lines_in_the_log_until_it_can(self):
        with Origin() as app:
            weir = Weir(POLICIES, app.port)
            directory = os.path.join(weir.directory, "later")
            path = os.path.join(directory, "audit.log")
            weir.head += f"audit: {{path: {path}}}\n"
            weir.write(POLICIES)
            with weir:
                eventually(lambda: weir.logged("audit"), what="the start's line")
                os.mkdir(directory)
                eventually(lambda: os.path.exists(path), what="the file")
                ctl(weir, "drain", "--begin")
                eventually(lambda: [row["action"] for row in self.rows(path)] == ["drain.begin"], what="the line")
                self.assertEqual([line["action"] for line in weir.logged("audit")], ["start"])
                self.assertEqual(weir.metric("weir_audit_entries_total", 'result="lost"'), 0)

    def test_an_override_has_a_line_when_it_is_set_and_when_it_ends(self):
        with Origin() as app, Weir(POLICIES, app.port) as weir:
            self.assertEqual(ctl(weir, "policy", "per-ip", "shadow", "--for", "1s", "--reason", "ticket 9")[0], 0)
            told = eventually(lambda: [row for row in weir.logged("audit") if row["action"] == "override.end"], what="the end")
            self.assertEqual((told[0]["target"], told[0]["who"], told[0]["reason"], told[0]["before"]),
                             ("per-ip", "weir", "its time is over", '"shadow"'))
            given = next(row for row in weir.logged("audit") if row["action"] == "override.set")
            self.assertEqual((given["who"], given["reason"]), ("127.0.0.1", "ticket 9"))
            self.assertIn("shadow", given["after"])

    @staticmethod
    def rows(path):
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as f:
            return [json.loads(line) for line in f if line.endswith("\n")]


if __name__ == "__main__":
    unittest.main()
