"""docs/getting_started.md and README.md as a reader follows them: each command runs, in the page's order, and shows what the page says.
The ports are the test's own; what installs and builds is looked up, and not run."""

import json
import os
import re
import select
import subprocess
import tempfile
import time
import unittest

from test_readme import blocks, page
from weir_process import ROOT, eventually, free_port


def commands(text):
    """The lines of the page's shell blocks, without comments; a loop is one command."""
    for block in blocks(text, "sh"):
        if block.startswith("for "):
            yield block.strip()
        else:
            yield from (re.sub(r"\s+#.*", "", line.strip()) for line in block.splitlines() if line.strip())


class Walk(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="weir-walk-")
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name
        os.makedirs(f"{self.directory}/build/release")
        os.symlink(os.environ["WEIR_BINARY"], f"{self.directory}/build/release/weir")
        for name in ("demo", "scripts", "config"):
            os.symlink(os.path.join(ROOT, name), f"{self.directory}/{name}")
        self.ports = {"8480": free_port(), "3000": free_port()}
        self.health = free_port()
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        self.environment |= {"WEIR_ADMIN_LISTEN": f"127.0.0.1:{free_port()}", "WEIR_HEALTH_LISTEN": f"127.0.0.1:{self.health}",
                             "WEIR_GRPC_LISTEN": "none", "WEIR_API_LISTEN": "none"}

    def placed(self, text):
        return re.sub(r"\b(8480|3000)\b", lambda m: str(self.ports[m[0]]), text)

    def run_line(self, line, wanted=0):
        done = subprocess.run(["bash", "-c", self.placed(line)], cwd=self.directory, env=self.environment, capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, wanted, f"{line}\n{done.stdout}{done.stderr}")
        return done.stdout

    def begin_line(self, line):
        process = subprocess.Popen(["bash", "-c", "exec " + self.placed(line)], cwd=self.directory, env=self.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

        def end():
            process.terminate()
            process.communicate(timeout=30)
        self.addCleanup(end)
        return process

    def answers(self, port):
        return subprocess.run(["curl", "-s", "-o", "/dev/null", "-m", "5", f"http://127.0.0.1:{port}/"], check=False).returncode == 0

    def save(self, text):
        with open(f"{self.directory}/weir.yaml", "w", encoding="utf-8") as f:
            f.write(self.placed(text))

    def logins(self, count, password="no"):
        return self.codes(self.run_line(
            f"for i in $(seq {count}); do curl -s -w '%{{http_code}}\\n' --json '{{\"username\":\"ann\",\"password\":\"{password}\"}}' "
            "http://127.0.0.1:8480/api/login; done"))

    @staticmethod
    def codes(said):
        return [int(code) for code in re.findall(r"(\d{3})\n", said)]

    def status(self):
        return json.loads(self.run_line("build/release/weir ctl status -o json"))

    # The commands of the pages, and their output.

    def installs(self, name):
        self.assertTrue(os.access(os.path.join(ROOT, "scripts", name), os.X_OK), name)

    def builds(self, preset, target):
        with open(os.path.join(ROOT, "CMakePresets.json"), encoding="utf-8") as f:
            presets = json.load(f)
        for kind in ("configurePresets", "buildPresets"):
            self.assertIn(preset, [one["name"] for one in presets[kind]])
        self.assertEqual(target, "weir")

    def shop(self):
        self.begin_line("python3 demo/shop.py --port 3000")
        eventually(lambda: self.answers(self.ports["3000"]), 20, "the shop")

    def check(self):
        said = self.run_line("build/release/weir check weir.yaml")
        for promised in re.findall(r"`(weir\.yaml: ok: [^`]*)`", self.page):
            self.assertIn(promised, said)

    def explain(self, line):
        self.assertIn("login", self.run_line(line))

    def serve(self, line):
        self.begin_line(line)
        eventually(lambda: self.answers(self.health), 20, "weir")

    def loop(self, line):
        said = self.run_line(line)
        self.assertEqual(self.codes(said), [401] * 10 + [429, 403])
        told = [json.loads(one).get("weir", {}) for one in re.findall(r"(\{.*\})\s*401\n", said)]
        self.assertEqual([one.get("x-weir-verdict") for one in told], [None] * 5 + ["flag"] * 5)
        [sixth] = re.findall(r"`X-Weir-Policy: ([^`]*)`", self.page)
        self.assertEqual(told[5]["x-weir-policy"], sixth)

    def why(self, line):
        said = self.run_line(line)
        self.assertIn("login-per-ip", said)
        self.assertEqual(self.logins(1), [403], "to ask changes nothing")

    def forgive(self, line):
        self.run_line(line)
        self.assertEqual(self.logins(1), [401])

    def tail(self, line):
        process = self.begin_line(line)
        seen, deadline = b"", time.monotonic() + 30
        pairs = 4  # one login has failed already: eight more are flagged, and none is refused
        while b"login-per-ip" not in seen and time.monotonic() < deadline:
            if pairs != 0:
                self.logins(2)
                pairs -= 1
            while select.select([process.stdout], [], [], 0.2)[0]:
                piece = os.read(process.stdout.fileno(), 65536)
                self.assertTrue(piece, seen)
                seen += piece
        self.assertIn(b"login-per-ip", seen)

    def replay(self, line):
        with open(f"{self.directory}/access.log", "w", encoding="utf-8") as f:
            f.writelines(f'203.0.113.7 - - [05/Jan/2026:10:00:{s:02} +0000] "POST /api/login HTTP/1.1" 401 12 "-" "curl"\n' for s in range(9))
        self.run_line("gzip -f access.log")
        self.run_line(line)
        with open(f"{self.directory}/hits.html", encoding="utf-8") as f:
            self.assertIn("login-per-ip", f.read())

    KNOWN = (
        (r"scripts/(deps) build", "installs"),
        (r"scripts/(run|test)", "installs"),
        (r"cmake --preset (\w+) && cmake --build --preset \1 --target (\w+)", "builds"),
        (r"python3 demo/shop\.py --port 3000", "shop"),
        (r"build/release/weir check weir\.yaml", "check"),
        (r"(build/release/weir explain .*)", "explain"),
        (r"(build/release/weir serve .*)", "serve"),
        (r"(?s)(for i in .*)", "loop"),
        (r"(build/release/weir ctl why .*)", "why"),
        (r"(build/release/weir ctl list .* --forgive)", "forgive"),
        (r"(build/release/weir ctl tail)", "tail"),
        (r"(build/release/weir replay .*)", "replay"),
    )

    def follow(self, name):
        self.page = page(name)
        [first] = [block for block in blocks(self.page, "yaml") if block.startswith("weir: 1")]
        self.save(first)
        done = []
        for line in commands(self.page):
            for pattern, step in self.KNOWN:
                if found := re.fullmatch(pattern, line):
                    getattr(self, step)(*found.groups())
                    done.append(step)
                    break
            else:
                self.fail(f"{name} has a command that this test does not know: {line}")
        return first, done

    def change_it_while_it_runs(self, first):
        before = self.status()["config"]["hash"]
        self.save(first.replace("{over: 5,", "{over: 1,"))
        eventually(lambda: self.status()["config"]["hash"] != before, 10, "the new policy")
        self.save(first.replace("{over: 5,", "{ower: 1,"))
        said = eventually(lambda: re.search("ower", self.run_line("build/release/weir ctl status")), 10, "the mistake")
        self.assertTrue(said)
        self.assertEqual(self.logins(1), [401])

    def start_here(self, name):
        first, done = self.follow(name)
        self.assertEqual(done, ["installs", "builds", "shop", "check", "explain", "serve", "loop", "why", "forgive", "tail"])
        self.change_it_while_it_runs(first)

    def test_getting_started(self):
        self.start_here("docs/getting_started.md")

    def test_getting_started_in_chinese(self):
        self.start_here("docs/zh-CN/getting_started.md")

    def from_nothing_to_a_denied_attacker(self, name):
        self.shop()
        _, done = self.follow(name)
        self.assertEqual(done, ["installs", "installs", "check", "explain", "serve", "replay"])
        self.assertEqual(self.logins(52), [401] * 50 + [429, 403])
        self.assertEqual(self.logins(1, "secret"), [403])

    def test_the_readme(self):
        self.from_nothing_to_a_denied_attacker("README.md")

    def test_the_readme_in_chinese(self):
        self.from_nothing_to_a_denied_attacker("README.zh-CN.md")


if __name__ == "__main__":
    unittest.main()
