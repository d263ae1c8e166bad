"""Numbers in JSON are in plain decimal form, never in E notation: shells, spreadsheets and people misread it."""

import json
import os
import re
import subprocess
import tempfile
import unittest

from http_client import once
from weir_process import Weir, free_port

CONFIG = """weir: 1
events:
  pay: {source: {csv: [user, amount, ts], time: {field: ts, as: seconds}}, fields: {n: double(amount)}}
policies:
  - {name: small, watch: pay, key: user, metric: sum(n), window: 1h, missing: skip, then: [{over: 0.00000025, do: flag}]}
  - {name: rate, watch: request, key: ip, window: 10m, then: [{over: 2.5, do: flag}]}
"""
SERVED = """events:
  pay: {source: {csv: [user, amount, ts], time: {field: ts, as: seconds}}, fields: {n: double(amount)}}
views: [{name: paid, watch: pay, by: user, metric: sum(n), window: {every: 1h}, top: 5}]
policies:
  - {name: large, watch: pay, key: user, metric: sum(n), window: 1h, missing: skip, then: [{over: 2.5e19, do: flag}]}
"""
E_NOTATION = re.compile(r"[0-9][eE][-+]?[0-9]")


class JsonNumbers(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name
        for name, text in (("weir.yaml", CONFIG), ("pays.csv", "u,0.0000001,1\nu,0.0000002,2\nu,1e300,3\n")):
            with open(os.path.join(self.directory, name), "w", encoding="utf-8") as f:
                f.write(text)

    def run_weir(self, *arguments):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        done = subprocess.run([os.environ["WEIR_BINARY"], *arguments], cwd=self.directory, env=environment, capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def expect_plain(self, text):
        without_texts = re.sub(r'"(\\.|[^"\\])*"', '""', text)
        self.assertNotRegex(without_texts, E_NOTATION)

    def test_readings_verdicts_and_reports(self):
        rows = self.run_weir("replay", "--event", "pay=pays.csv", "-o", "ndjson", "--readings", "small")
        self.expect_plain(rows)
        values = [json.loads(line)["value"] for line in rows.splitlines() if '"type":"reading"' in line]
        self.assertEqual(values[0], 1e-7)
        self.assertEqual(values[2], 1e-7 + 2e-7 + 1e300)
        self.assertIn('"limit":0.00000025', rows)
        self.expect_plain(self.run_weir("replay", "--event", "pay=pays.csv", "-o", "json"))

    def test_explanations(self):
        out = self.run_weir("explain", "-o", "json", "http://shop/")
        self.expect_plain(out)
        self.assertIn("2.5", out)

    def test_what_a_running_weir_answers(self):
        api = free_port()
        with Weir(SERVED, free_port(), extra=f"api: {{listen: 127.0.0.1:{api}}}\n") as weir:
            for amount in ("2e+21", "1e-7"):
                said = once(api, "POST", "/v1/events", {"Content-Type": "application/json"},
                            json.dumps({"event": "pay", "user": "u", "amount": amount, "ts": 1}).encode(), host=f"127.0.0.1:{api}")
                self.assertEqual(said.status, 200, said.body)
                self.assertIn(b"2000000000000000000000", said.body)
                self.expect_plain(said.body.decode())
            paths = ["/v1/views/paid", "/v1/views", "/v1/policies", "/v1/policies/large", "/v1/policies/large/readings", "/v1/counters/large",
                     "/v1/counters/large?key=u", "/v1/verdicts", "/v1/stats"]
            for path in paths:
                answer = once(weir.admin_port, "GET", path, {}, host=f"127.0.0.1:{weir.admin_port}")
                self.expect_plain(answer.body.decode())
                if path == "/v1/views/paid":
                    self.assertIn(b"2000000000000000000000", answer.body)


if __name__ == "__main__":
    unittest.main()
