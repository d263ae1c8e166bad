"""The table of docs/metrics.md, written from what a weir with every kind of thing shows on /metrics."""

import json
import os
import re

from http_client import once
from origin import Origin
from weir_process import ROOT, Weir, free_port

PAGE = os.path.join(ROOT, "docs", "metrics.md")
MARK = "<!-- From here on: WEIR_UPDATE_GOLDEN=1 python3 -B tests/e2e/run_suite.py test_monitoring -->\n"
# Labels whose values come from the configuration, or are no words.
OPEN = {"policy", "list", "view", "route", "upstream", "field", "name", "version", "commit", "hash", "le", "domain", "key1", "key2", "limitador_namespace"}
EVERYTHING = """
fields: {user: header.x_user_id}
events:
  login: {match: POST /login}
lists:
  gray_users: {of: header.x_user_id, kind: gray}
  scanners: {of: ip, kind: deny, file: scanners.txt}
policies:
  - {name: per-user, watch: login, key: user, window: 1m, then: [{over: 1, do: deny}]}
  - {name: shared, watch: login, key: ip, share: redis, window: 1m, then: [{over: 100, do: deny}]}
views:
  - {name: pages, watch: request, by: path, window: {last: 10m, hop: 5s}, top: 5}
  - {name: together, watch: request, by: path, window: {every: 1m}, share: redis}
ratelimit: {files: [limits.yaml], limitador: limitador.yaml}
"""
FILES = {
    "scanners.txt": "203.0.113.99\n",
    "limits.yaml": "domain: shop\ndescriptors:\n  - {key: path, value: /login, rate_limit: {unit: minute, requests_per_unit: 5}}\n",
    "limitador.yaml": "- {namespace: shop, max_value: 5, seconds: 60, conditions: [], variables: []}\n",
}


class Family:
    """A metric of the page: its kind, its help, and its labels with their values."""

    def __init__(self, name, kind, text):
        self.name, self.kind, self.help, self.labels = name, kind, text, {}

    def row(self):
        labels = [label for label in self.labels if label != "le"]
        name = self.name + ("{" + ",".join(labels) + "}" if labels else "")
        if "kind" in labels and self.name.startswith("weir_source_"):
            self.labels["kind"] = ["list", "include"]
        words = [f"`{label}`: " + ", ".join(f"`{value}`" for value in self.labels[label]) + "." for label in labels if label not in OPEN]
        told = self.help if self.help.endswith((".", ")")) else self.help + "."
        return f"| `{name}` | {self.kind} | {' '.join([told, *words])} |"


def families(page):
    """By name; the series of a histogram are its own."""
    found = {}
    for line in page.splitlines():
        if line.startswith("# HELP "):
            _, _, name, text = line.split(" ", 3)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            found[name] = Family(name, kind, text)
        elif line:
            series, given = re.match(r"([a-z0-9_]+)(?:\{(.*)\})? ", line).groups()
            family = found.get(series) or found[re.sub(r"_(bucket|sum|count)$", "", series)]
            for label, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', given or ""):
                values = family.labels.setdefault(label, [])
                if value not in values:
                    values.append(value)
    return found


def everything():
    """The page of a weir that has one of each thing; its Redis is away."""
    api = free_port()
    extra = f"redis: {{url: 'redis://127.0.0.1:{free_port()}'}}\nlog: {{level: error}}\napi: {{listen: 127.0.0.1:{api}}}\n"
    with Origin() as app, Weir(EVERYTHING, app.port, extra=extra, files=FILES) as weir:
        once(weir.port, "POST", "/login", {"X-User-Id": "a"})
        once(weir.port, "POST", "/login")
        asked = {"/json": {"domain": "shop", "descriptors": [{"entries": [{"key": "path", "value": "/login"}]}]},
                 "/check_and_report": {"namespace": "shop", "values": {}, "delta": 1}}
        for path, call in asked.items():
            answer = once(api, "POST", path, {"Content-Type": "application/json"}, json.dumps(call).encode(), host=f"127.0.0.1:{api}")
            if answer.status != 200:
                raise AssertionError(f"{path}: {answer.status} {answer.body}")
        return weir.health("/metrics").body.decode()


def reference(page):
    """The table of docs/metrics.md: weir's own names, then those of others."""
    rows = [family.row() for name, family in sorted(families(page).items(), key=lambda item: (not item[0].startswith("weir_"), item[0]))]
    return "| metric | kind | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def names_in_sources():
    """What the sources write on the page, however seldom."""
    names = set()
    for path in ("telemetry/metrics_list.h", "telemetry/latency.cc", "telemetry/rule_stats.cc", "admin/metrics_page.cc", "admin/process_facts.cc",
                 "policies/judgement/stats.cc"):
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            names |= set(re.findall(r'"((?:weir|process|ratelimit_service)_[a-z0-9_]*[a-z0-9])[", ]', f.read()))
    return names
