"""`weir test` says of calls of the rate limit service what `weir serve` answers, over the files of envoyproxy/ratelimit and of limitador,
as they are and imported."""

import json
import os
import random
import subprocess
import unittest

from http_client import once
from weir_process import Weir, free_port

FILE = """domain: shop
descriptors:
  - key: user
    rate_limit: {unit: day, requests_per_unit: 5, name: per-user}
    descriptors:
      - {key: path, value: /login, rate_limit: {unit: day, requests_per_unit: 2, replaces: [{name: per-user}]}}
      - {key: path, value: "/a/*", share_threshold: true, rate_limit: {unit: week, requests_per_unit: 4}}
      - {key: path}
  - {key: path, value: /free, rate_limit: {unlimited: true}}
  - {key: path, value: "/a/*", rate_limit: {unit: day, requests_per_unit: 3}}
  - {key: path, quota_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}
  - {key: tier, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}
  - {key: tier, value: none, rate_limit: {unit: day, requests_per_unit: 0}}
"""
LIMITADOR = """
- {namespace: lim, max_value: 4, seconds: 86400, name: posts, conditions: ["descriptors[0]['req.method'] == 'POST'"],
   variables: ["descriptors[0].user"]}
- {namespace: lim, max_value: 9, seconds: 604800, conditions: ["!(descriptors[0].user == 'eve') && limit.name != 'x'"], variables: []}
- {namespace: lim, max_value: 0, seconds: 60, conditions: ["descriptors[0].path.startsWith('/admin')"], variables: ["descriptors[0].path"]}
"""
USERS, PATHS = ("ann", "bob", "a_b", ""), ("/login", "/a/1", "/a/2", "/free", "/other", "/admin/x")


def calls(seed):
    """Random calls: (domain, descriptors, hits)."""
    dice = random.Random(seed)
    for _ in range(150):
        if dice.random() < 0.5:
            kinds = (lambda: {"user": dice.choice(USERS)}, lambda: {"user": dice.choice(USERS), "path": dice.choice(PATHS)},
                     lambda: {"path": dice.choice(PATHS)}, lambda: {"tier": dice.choice(("gold", "none"))}, lambda: {"unknown": "x"})
            yield "shop", [dice.choice(kinds)() for _ in range(dice.randint(1, 3))], dice.choice((1, 1, 1, 2, 3))
        else:
            kinds = (lambda: {"user": dice.choice(USERS), "req.method": dice.choice(("GET", "POST"))}, lambda: {"user": "eve"},
                     lambda: {"path": dice.choice(PATHS)}, lambda: {"req.method": "POST"})
            yield "lim", [dice.choice(kinds)()], dice.choice((1, 1, 2))


class Cases(unittest.TestCase):
    def weir(self, directory, *words):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        return subprocess.run([os.environ["WEIR_BINARY"], *words], cwd=directory, capture_output=True, text=True, timeout=60,
                              env=environment, check=False)

    def answered(self, port, domain, descriptors, hits):
        call = {"domain": domain, "hitsAddend": hits,
                "descriptors": [{"entries": [{"key": k, "value": v} for k, v in d.items()]} for d in descriptors]}
        return once(port, "POST", "/json", [], json.dumps(call).encode(), host=f"127.0.0.1:{port}").status

    def check(self, ratelimit, files, policies="policies: []\n", domains=("shop", "lim")):
        seed = random.randrange(1 << 30)
        api = free_port()
        with Weir(policies, 1, extra=f"api: {{listen: 127.0.0.1:{api}}}\ngrpc: {{listen: none}}\nratelimit: {ratelimit}\n", files=files) as site:
            steps = []
            for domain, descriptors, hits in calls(seed):
                if domain not in domains:
                    continue
                over = self.answered(api, domain, descriptors, hits) == 429
                step = {"domain": domain, "descriptors": descriptors if len(descriptors) > 1 else descriptors[0], "hits_addend": hits,
                        "expect": {"verdict": "deny" if over else "pass"}}
                steps.append("      - " + json.dumps(step))
            self.assertIn('"deny"', "".join(steps))
            with open(os.path.join(site.directory, "calls_test.yaml"), "w", encoding="utf-8") as f:
                f.write("weir: 1\nconfig: weir.yaml\ncases:\n  - name: as serve answers\n    steps:\n" + "\n".join(steps) + "\n")
            done = self.weir(site.directory, "test", "calls_test.yaml")
            self.assertEqual(done.returncode, 0, f"seed {seed}\n{done.stdout[-4000:]}{done.stderr[-2000:]}")

    def test_over_the_files_as_they_are(self):
        self.check("{files: [limits.yaml], limitador: lim.yaml}", {"limits.yaml": FILE, "lim.yaml": LIMITADOR})
        self.check("{files: [limits.yaml], quota: true}", {"limits.yaml": FILE}, domains=("shop",))

    def test_over_the_files_imported(self):
        for kind, file, text, domains in (("envoy-ratelimit", "limits.yaml", FILE, ("shop",)), ("limitador", "lim.yaml", LIMITADOR, ("lim",))):
            with self.subTest(kind):
                site = Weir("policies: []\n", 1, files={file: text})
                done = self.weir(site.directory, "import", kind, file)
                self.assertEqual(done.returncode, 0, done.stderr)
                imported = done.stdout.replace("weir: 1\n", "", 1)
                self.check("{json: true}", {}, policies=imported, domains=domains)


if __name__ == "__main__":
    unittest.main()
