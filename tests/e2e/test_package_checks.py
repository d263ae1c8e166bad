"""`scripts/test package` where its tools are missing."""

import os
import shutil
import subprocess
import tempfile
import unittest

from weir_process import ROOT


class Offline(unittest.TestCase):
    def offline(self, **variables):
        """`scripts/test package` on a machine that has none of its tools."""
        with tempfile.TemporaryDirectory(prefix="weir-offline-") as directory:
            for tool in ("bash", "sh", "sed", "sort", "mktemp", "rm", "dirname", "basename", "ls", "env"):
                os.symlink(shutil.which(tool), os.path.join(directory, tool))
            environment = {"PATH": directory, "HOME": directory, "WEIR_BINARY": "/nowhere/weir", "WEIR_PACKAGE_TOOLS": "/nowhere", **variables}
            return subprocess.run([os.path.join(ROOT, "tests/kube/offline")], env=environment, capture_output=True, text=True, check=False)

    def test_a_run_that_skips_everything_says_so(self):
        done = self.offline()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        said = done.stdout.splitlines()
        self.assertRegex(said[-1], r"^0 passed, 0 failed, \d+ skipped$")
        self.assertEqual(said[-2], "NOTHING was tested: every check was skipped")
        for tool in ("kubectl", "helm", "ajv", "promtool", "systemd-analyze", "/nowhere/weir"):
            self.assertIn(f"skipped because there is no {tool}", said)

    def test_strictly_a_skip_is_a_failure(self):
        self.assertEqual(self.offline(WEIR_STRICT="1").returncode, 1)


if __name__ == "__main__":
    unittest.main()
