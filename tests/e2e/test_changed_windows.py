"""A window that is changed and changed back, in a running weir: what `check --against` says beforehand is what happens."""

import os
import subprocess
import tempfile
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

    def restart(self, weir, policies):
        """With these policies in the file."""
        self.assertEqual(weir.stop(), 0)
        weir.write(policies)
        weir.start()

    def ctl(self, weir, *words):
        done = subprocess.run([weir.binary, "ctl", *words, "--admin", f"http://127.0.0.1:{weir.admin_port}"],
                              capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_is_not_in_force_at_a_restart_comes_back(self):
        for window in ("24h", "{last: 24h, exact: true}", "{calendar: month}", "{rate: 1/h, burst: 50}"):
            mine, other = policy(window), policy("20m")
            off, none = mine.replace("{name: p,", "{name: p, mode: disabled,"), "policies: []\n"
            with self.subTest(window=window), tempfile.TemporaryDirectory() as state, Origin() as app:
                with Weir(mine, app.port, extra=f"state: {{dir: {state}}}\n") as weir:
                    self.send(weir, 14)
                    # By an override, which ends with the process: the policy is back with the start.
                    self.ctl(weir, "policy", "p", "disabled", "--for", "1h", "--reason", "test")
                    self.send(weir, 3)
                    self.restart(weir, mine)
                    self.assertEqual(self.read(weir), 14)
                    # Disabled in the file, taken out of it, and with another window: over two restarts each.
                    for meanwhile in (off, none, other):
                        self.load(weir, meanwhile)
                        self.restart(weir, meanwhile)
                        self.restart(weir, meanwhile)
                        self.load(weir, mine)
                        self.assertEqual(self.read(weir), 14, meanwhile)
                    self.restart(weir, none)  # leaves with the restart
                    self.restart(weir, mine)  # and comes back with one
                    self.assertEqual(self.read(weir), 14)

    def test_a_window_that_is_changed_and_changed_back_by_restarts(self):
        for window, other, said, reads in WINDOWS:
            with self.subTest(window=window, other=other), tempfile.TemporaryDirectory() as state, Origin() as app:
                with Weir(policy(window), app.port, extra=f"state: {{dir: {state}}}\n") as weir:
                    self.send(weir, 7)
                    self.restart(weir, policy(other))
                    self.send(weir, 7)
                    self.assertIn(said, self.foretold(weir, policy(window)))
                    self.restart(weir, policy(window))
                    # Less than one has drained since the first request: a part of one cannot be poured.
                    more = 1 if "rate" in window else 0
                    self.assertIn(self.read(weir), range(reads, reads + more + 1))

    def test_a_changed_rate_goes_on(self):
        with Origin() as app, Weir(policy("{rate: 1/h, burst: 50}"), app.port) as weir:
            self.send(weir, 7)
            self.assertIn("begins with the history that is there", self.foretold(weir, policy("{rate: 2/h, burst: 80}")))
            self.load(weir, policy("{rate: 2/h, burst: 80}"))
            self.assertEqual(self.read(weir), 7)


if __name__ == "__main__":
    unittest.main()
