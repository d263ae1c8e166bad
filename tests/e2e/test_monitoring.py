"""Metrics, alerts and dashboard as Prometheus and Grafana will take them."""

import json
import os
import re
import subprocess
import unittest

import metrics_reference
from http_client import once
from origin import Origin
from weir_process import ROOT, Weir

MONITORING = os.path.join(ROOT, "k8s", "monitoring")
# A metric's name in an expression: functions are followed by `(`, labels by an operator or a comma.
NAME = re.compile(r"\b(?:weir|process)_[a-z0-9_]+\b")
OF_PROMETHEUS = {"job", "instance"}  # what it adds to every series
POLICIES = """
events:
  login: {match: POST /login}
  failed: {is: login, when: 'status == 401'}
lists: {gray_users: {of: header.x_user_id, kind: gray}}
policies:
  - {name: per-user, watch: login, key: header.x_user_id, window: 1m, then: [{over: 1, do: deny}]}
  - {name: shadowed, watch: failed, key: ip, window: 1m, mode: shadow, then: [{over: 1, do: deny}]}
views: [{name: pages, watch: request, by: path, window: {last: 10m, hop: 5s}, top: 5}]
"""


def promtool(*arguments, text=None):
    return subprocess.run(["promtool", *arguments], input=text, capture_output=True, text=True, check=False)


def series(page):
    """Names as expressions use them, with their labels and what these say."""
    labels = {}
    for line in page.splitlines():
        if not line.startswith("#"):
            name, _, rest = re.match(r"([a-z0-9_]+)(\{(.*)\})? ", line).groups()
            for label, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', rest or ""):
                labels.setdefault(name, {}).setdefault(label, set()).add(value)
            labels.setdefault(name, {})
    return labels


def wrong_labels(expression, known):
    """Labels of an expression that its metrics have not, and values that they never have."""
    wrong = []
    for name, matchers in re.findall(r"\b((?:weir|process)_[a-z0-9_]+)\{([^}]*)\}", expression):
        labels = known.get(name, {})
        for label, operator, value in re.findall(r'(\w+)(=~|!=|!~|=)"([^"]*)"', matchers):
            if label in OF_PROMETHEUS:
                continue
            if label not in labels:
                wrong.append(f"{name} has no label {label}")
            elif label not in metrics_reference.OPEN and operator in ("=", "=~"):
                wrong += [f"{name}: {label} is never {each}" for each in value.split("|") if each not in labels[label]]
    used = set().union(*(known.get(name, {}) for name in NAME.findall(expression)), OF_PROMETHEUS, {"le"})
    for grouping in re.findall(r"\b(?:by|on|without|ignoring) ?\(([^)]*)\)", expression):
        wrong += [f"nothing there has the label {label}" for label in re.findall(r"\w+", grouping) if label not in used]
    return wrong


class Monitoring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with Origin() as app, Weir(POLICIES, app.port, extra="log: {level: error}\n") as weir:
            for _ in range(3):
                once(weir.port, "POST", "/login", {"X-User-Id": "a", "X-Forwarded-For": "203.0.113.7"})
            once(weir.port, "POST", "/login")  # cannot be keyed
            cls.page = weir.health("/metrics").body.decode()
        cls.families = series(cls.page)
        cls.everything = metrics_reference.everything()
        cls.known = series(cls.everything)

    def test_promtool_finds_nothing_to_say_of_the_metrics(self):
        checked = promtool("check", "metrics", text=self.page)
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))

    def test_the_alerts_are_good_and_each_has_been_tried(self):
        for arguments in (("check", "rules", "rules.yaml"), ("test", "rules", "rules_test.yaml")):
            run = promtool(*arguments[:2], os.path.join(MONITORING, arguments[2]))
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        with open(os.path.join(MONITORING, "rules.yaml"), encoding="utf-8") as f:
            rules = f.read()
        with open(os.path.join(MONITORING, "rules_test.yaml"), encoding="utf-8") as f:
            tried = f.read()
        alerts = re.findall(r"- alert: (\w+)", rules)
        self.assertGreater(len(alerts), 12)
        for alert in alerts:
            self.assertIn(f"alertname: {alert}\n", tried)
        self.expect_known("rules.yaml", rules)

    def test_the_prometheus_operator_gets_the_same_rules(self):
        path = os.path.join(ROOT, "k8s", "components", "monitoring", "prometheusrule.yaml")
        with open(os.path.join(MONITORING, "rules.yaml"), encoding="utf-8") as f:
            rules = f.read().split("groups:\n")[1]
        with open(path, encoding="utf-8") as f:
            head, _, indented = f.read().partition("  groups:\n")
        expected = "".join("  " + line if line.strip() else line for line in rules.splitlines(keepends=True))
        if os.environ.get("WEIR_UPDATE_GOLDEN") == "1" and indented != expected:
            with open(path, "w", encoding="utf-8") as f:
                f.write(head + "  groups:\n" + expected)
            indented = expected
        self.assertEqual(indented, expected, "WEIR_UPDATE_GOLDEN=1 writes it")
        chart = os.path.join(ROOT, "k8s", "chart", "weir", "files", "rules.yaml")
        self.assertEqual(os.path.realpath(chart), os.path.join(MONITORING, "rules.yaml"), "a link: the chart has no rules of its own")

    def test_every_row_of_the_operators_table_has_an_alert(self):
        with open(os.path.join(ROOT, "docs", "operations.md"), encoding="utf-8") as f:
            table = f.read().split("## Metrics worth an alert")[1].split("\n## ")[0]
        with open(os.path.join(MONITORING, "rules.yaml"), encoding="utf-8") as f:
            rules = f.read()
        rows = re.findall(r"^\| `(weir_\w+)", table, re.M)
        self.assertGreater(len(rows), 10)
        for name in rows:
            self.assertIn(name, rules, "docs/operations.md calls it worth an alert")

    def test_the_dashboard_shows_metrics_that_there_are(self):
        with open(os.path.join(MONITORING, "grafana.json"), encoding="utf-8") as f:
            dashboard = json.load(f)
        expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
        self.assertGreater(len(expressions), 20)
        self.expect_known("grafana.json", "\n".join(expressions))
        ids = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                    used = set().union(*(self.families.get(name, {}) for name in NAME.findall(target["expr"])))
                    self.assertIn(label, used | {"instance", "job", "le"}, target)
        # Prometheus reads each expression.
        rules = "groups: [{name: g, rules: [" + ", ".join(
            "{record: 'r%d', expr: %s}" % (i, json.dumps(e.replace("$__rate_interval", "5m").replace("$job", ".*")
                                                         .replace("$instance", ".*")))
            for i, e in enumerate(expressions)) + "]}]\n"
        path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"weir-dashboard-{os.getpid()}.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(rules)
        try:
            checked = promtool("check", "rules", path)
        finally:
            os.unlink(path)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_rules_and_dashboard_ask_for_labels_that_there_are(self):
        with open(os.path.join(MONITORING, "rules.yaml"), encoding="utf-8") as f:
            rules = re.split(r"(?m)^ +- alert: ", f.read())[1:]
        for rule in rules:
            name, body = rule.split("\n", 1)
            expression = re.search(r"expr: (.*?)\n +(?:for|labels):", body, re.S)[1]
            self.assertEqual(wrong_labels(expression, self.known), [], name)
            # The labels that a summary names are those that the expression keeps.
            kept = set(re.findall(r"\w+", " ".join(re.findall(r"\bby ?\(([^)]*)\)", expression)))) or \
                set().union(*(self.known.get(each, {}) for each in NAME.findall(expression)), OF_PROMETHEUS)
            for label in re.findall(r"\$labels\.(\w+)", body):
                self.assertIn(label, kept, f"{name}: the summary names a label that is not there")
        with open(os.path.join(MONITORING, "grafana.json"), encoding="utf-8") as f:
            for panel in json.load(f)["panels"]:
                for target in panel.get("targets", []):
                    self.assertEqual(wrong_labels(target["expr"], self.known), [], panel["title"])

    def test_wrong_labels_are_seen(self):
        known = {"weir_a_total": {"result": {"ok"}, "policy": {"p"}}}
        self.assertEqual(wrong_labels('sum by (job, policy) (rate(weir_a_total{result="ok",policy!=""}[5m]))', known), [])
        self.assertEqual(wrong_labels('sum by (reason) (weir_a_total{result=~"ok|lost",kind="x"})', known),
                         ["weir_a_total: result is never lost", "weir_a_total has no label kind", "nothing there has the label reason"])

    def test_the_page_of_metrics_has_all_of_them(self):
        found = metrics_reference.families(self.everything)
        self.assertEqual(metrics_reference.names_in_sources() - set(found), set(), "metrics_reference.EVERYTHING makes none of them")
        self.assertEqual(set(metrics_reference.families(self.page)) - set(found), set())
        with open(metrics_reference.PAGE, encoding="utf-8") as f:
            head, mark, table = f.read().partition(metrics_reference.MARK)
        self.assertTrue(mark)
        expected = metrics_reference.reference(self.everything)
        if os.environ.get("WEIR_UPDATE_GOLDEN") == "1" and table != expected:
            with open(metrics_reference.PAGE, "w", encoding="utf-8") as f:
                f.write(head + mark + expected)
            table = expected
        self.assertEqual(table, expected, "WEIR_UPDATE_GOLDEN=1 writes it")

    def expect_known(self, where, text):
        for name in sorted(set(NAME.findall(text))):
            self.assertTrue(name in self.families or name + "_bucket" in self.families, f"{where} names {name}, which is not there")


if __name__ == "__main__":
    unittest.main()
