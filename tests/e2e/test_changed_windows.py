"""A window that is changed and changed back, in a running weir: what `check --against` says beforehand is what happens."""

import os
import subprocess
import unittest

from http_client import once
from origin import Origin
from weir_process import Weir, eventually


def policy(window, more=""):
    return f"policies: [{{name: p, watch: request, key: ip, window: {window}{more}, then: [{{over: 40, do: deny}}]}}]\n"


BACK = "comes back with what it held, and with what came since then"
LACKS = "comes back with what it held; what came since then is missing"
# The window, the one that it is changed to, what is said of the way back, and what is read then of 7 and 7 requests.
WINDOWS = [
    ("{every: 366d}", "{every: 183d}", BACK, 14),
    ("{calendar: month}", "10m", BACK, 14),
    ("{rate: 1/h, burst: 50}", "{rate: 1/h, burst: 90}", BACK, 14),
    ("{last: 10m, exact: true}", "20m", BACK, 14),
    ("{events: 50}", "{last: 10m, exact: true}", BACK, 14),
    ("10m", "{every: 366d}", LACKS, 7),
]


class ChangedWindows(unittest.TestCase):
    def send(self, weir, times):
        for _ in range(times):
            self.assertEqual(once(weir.port, "GET", "/", {"X-Forwarded-For": "203.0.113.9"}).status, 200)

    def load(self, weir, policies):
        weir.write(policies)
        status, report = weir.reload()
        self.assertTrue(status == 200 and report["ok"], report)

    def foretold(self, weir, policies):
        path = os.path.join(weir.directory, "next.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(weir.head + policies)
        done = subprocess.run([weir.binary, "check", path, "--against", f"http://127.0.0.1:{weir.admin_port}"],
                              capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def read(self, weir):
        status, body = weir.admin("GET", "/v1/counters/p?key=203.0.113.9")
        self.assertEqual(status, 200, body)
        return round(body["counters"][0]["value"])

    def test_to_and_fro(self):
        for window, other, said, reads in WINDOWS:
            with self.subTest(window=window, other=other), Origin() as app, Weir(policy(window), app.port) as weir:
                self.send(weir, 7)
                self.load(weir, policy(other))
                self.send(weir, 7)
                self.assertIn(said, self.foretold(weir, policy(window)))
                self.load(weir, policy(window))
                self.assertEqual(self.read(weir), reads)
                lines = eventually(lambda: weir.logged("a counter comes back"))
                self.assertEqual(["without" in line["message"] for line in lines], [said == LACKS])

    def test_a_changed_rate_goes_on(self):
        with Origin() as app, Weir(policy("{rate: 1/h, burst: 50}"), app.port) as weir:
            self.send(weir, 7)
            self.assertIn("begins with the history that is there", self.foretold(weir, policy("{rate: 2/h, burst: 80}")))
            self.load(weir, policy("{rate: 2/h, burst: 80}"))
            self.assertEqual(self.read(weir), 7)


if __name__ == "__main__":
    unittest.main()
