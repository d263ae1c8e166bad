"""The dashboard in a real browser: what its three users do, by clicks; and what a page costs.

Skipped where Chromium, node or playwright-core are missing: `scripts/deps browser` installs them.
"""

import json
import os
import shutil
import subprocess
import unittest

from dashboard_site import Site
from weir_process import ROOT

JOBS = os.path.join(ROOT, "tests", "browser", "jobs.mjs")
MODULES = os.environ.get("BROWSER_DIR", os.path.join(ROOT, "build", "browser"))
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def missing():
    there = {"chromium": CHROMIUM, "node": shutil.which("node"),
             "playwright-core and axe-core": all(os.path.isdir(os.path.join(MODULES, "node_modules", name)) for name in ("playwright-core", "axe-core"))}
    return [name for name, found in there.items() if not found]


@unittest.skipIf(missing(), f"no {', no '.join(missing())}: scripts/deps browser installs what a browser test needs")
class Clicks(unittest.TestCase):
    def job(self, name):
        with Site() as site:
            environment = {"PATH": os.environ["PATH"], "HOME": site.weir.directory, "WEIR_BINARY": os.path.abspath(site.weir.binary), "CHROMIUM": CHROMIUM,
                           "WEIR_PROXY_PORT": str(site.weir.port), "WEIR_ADMIN_PORT": str(site.weir.admin_port),
                           "WEIR_TOKEN_FILE": site.token_file, "BROWSER_MODULES": os.path.abspath(MODULES)}
            if "BROWSER_PICTURES" in os.environ:  # of what went wrong
                environment["BROWSER_PICTURES"] = os.environ["BROWSER_PICTURES"]
            done = subprocess.run(["node", JOBS, name], env=environment, capture_output=True, text=True, timeout=150, check=False)
            self.assertEqual(done.returncode, 0, f"{done.stdout}{done.stderr}")
            return site.weir.logged("changed by an operator")

    def test_platform_engineer(self):
        changes = self.job("platform")
        done = [(each["method"], each["by"]) for each in changes]
        self.assertEqual(done.count(("PUT", "session")), 1, done)
        self.assertGreaterEqual(done.count(("DELETE", "session")), 3, done)
        self.assertIn("ticket 4711", json.dumps(changes))

    def test_backend_developer(self):
        changes = self.job("backend")
        self.assertTrue(any(each["method"] == "PUT" and each["path"].endswith("/override") for each in changes), changes)

    def test_anti_fraud(self):
        self.job("fraud")

    def test_session(self):
        self.job("session")

    def test_access(self):
        self.job("access")


if __name__ == "__main__":
    unittest.main()
