"""Completion in real shells: commands, flags, files, and the names of a running weir's policies and lists."""

import os
import shutil
import subprocess
import tempfile
import unittest

from weir_process import Weir

WEIR = os.environ["WEIR_BINARY"]
POLICIES = """
lists: {office: {of: ip, kind: allow}}
policies:
  - {name: login-per-ip, watch: request, key: ip, window: 1m, then: [{over: 5, do: flag}]}
  - {name: pages, watch: request, key: ip, window: 1m, then: [{over: 5, do: deny, for: 1h}]}
"""


class Completion(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name
        # The scripts run what the user typed: weir, from the path.
        os.symlink(WEIR, os.path.join(self.directory, "weir"))
        self.environment = {**{name: value for name, value in os.environ.items() if not name.startswith("WEIR_")},
                            "PATH": self.directory + ":" + os.environ["PATH"], "HOME": self.directory, "LC_ALL": "C.UTF-8"}
        for shell in ("bash", "zsh", "fish"):
            text = subprocess.run([WEIR, "completion", shell], capture_output=True, text=True, check=True).stdout
            with open(os.path.join(self.directory, f"completion.{shell}"), "w", encoding="utf-8") as f:
                f.write(text)

    def shell(self, *arguments):
        done = subprocess.run(arguments, cwd=self.directory, env=self.environment, capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.stderr, "", arguments)
        return done.stdout.split()

    def bash(self, *words, line=""):
        """`words` as bash parts them: at `=` and `:`, too. `line`: what was typed."""
        quoted = " ".join(f"'{word}'" for word in words)
        return self.shell("bash", "--norc", "-c", f"source ./completion.bash; COMP_LINE='{line}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
                          "_weir; printf '%s\\n' \"${COMPREPLY[@]}\"")

    def test_bash(self):
        self.assertEqual(self.bash("weir", "rep"), ["replay"])
        self.assertIn("--config", self.bash("weir", "serve", "--"))
        with open(os.path.join(self.directory, "shop.yaml"), "w", encoding="utf-8"):
            pass
        self.assertEqual(self.bash("weir", "check", "sh"), ["shop.yaml"])
        self.assertEqual(self.bash("weir", "serve", "--config", "=", "sh"), ["shop.yaml"])

    def test_names_of_a_running_weir(self):
        with Weir(POLICIES, 9) as weir:
            self.environment["WEIR_ADMIN_LISTEN"] = f"127.0.0.1:{weir.admin_port}"
            self.assertEqual(self.bash("weir", "ctl", "policy", "lo"), ["login-per-ip"])
            self.assertEqual(self.bash("weir", "ctl", "list", "off"), ["office"])
            self.assertEqual(self.bash("weir", "ctl", "list", "pa", line="weir ctl list pa"), ["pages:deny"])
            # Readline puts what comes in the place of the part behind the colon.
            self.assertEqual(self.bash("weir", "ctl", "list", "pages", ":", "de", line="weir ctl list pages:de"), ["deny"])
            self.assertEqual(self.bash("weir", "ctl", "list", "pages", ":", line="weir ctl list pages:"), ["deny"])
            self.assertEqual(self.bash("weir", "ctl", "list", "pages", ":", "xy", line="weir ctl list pages:xy"), [])
            self.environment["WEIR_ADMIN_LISTEN"] = "127.0.0.1:1"
            self.assertEqual(self.bash("weir", "ctl", "policy", "lo"), [])
            flag = f"127.0.0.1:{weir.admin_port}"
            self.assertEqual(self.bash("weir", "ctl", "--admin", flag, "policy", "pa"), ["pages"])
            parted = ["weir", "ctl", "--admin", "127.0.0.1", ":", str(weir.admin_port), "policy", "pa"]
            self.assertEqual(self.bash(*parted, line=f"weir ctl --admin {flag} policy pa"), ["pages"])
            if shutil.which("fish"):
                self.environment["WEIR_ADMIN_LISTEN"] = flag
                self.assertEqual(self.fish("weir ctl policy lo"), ["login-per-ip"])

    def fish(self, line):
        return self.shell("fish", "--no-config", "-c", f"source ./completion.fish; complete -C '{line}'")

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        self.assertEqual(self.fish("weir repl")[0], "replay")
        self.assertEqual(self.fish("weir serve --log-level de"), ["debug"])

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self):
        # Its own machinery needs a terminal: what the function hands to it is looked at.
        script = ("autoload -U compinit; compinit -u -d ./dump; source ./completion.zsh; "
                  "_describe() { print -l -- ${(P)4}; }; words=(weir ctl re); CURRENT=3; _weir")
        self.assertEqual(self.shell("zsh", "-f", "-c", script)[0].split(":")[0], "replicas")


if __name__ == "__main__":
    unittest.main()
