"""README.md and docs/*.md say nothing that is not so: configurations load, commands run, flags and links exist."""

import glob
import gzip
import os
import re
import shlex
import subprocess
import tempfile
import unittest

from weir_process import ROOT

WEIR = os.environ["WEIR_BINARY"]
PAGES = [
    "README.md",
    "README.zh-CN.md",
    *sorted(os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True)),
]


def page(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as f:
        return f.read()


def blocks(text, language=None):
    return [body for found, body in re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S) if language in (None, found)]


def run(*arguments, cwd=None):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
    return subprocess.run([WEIR, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=False)


def commands(text):
    """The lines of a block that run weir, as words; comments are cut off, and continued lines joined."""
    for line in text.replace("\\\n", " ").splitlines():
        line = re.sub(r"\s#.*", "", line.strip().removeprefix("$ "))
        if re.match(r"(build/release/)?weir [a-z]", line):
            yield shlex.split(line)[1:]


class Pages(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name
        # The file of limitador that docs/migrating.md names.
        self.write("limits.yaml", "- {namespace: shop, max_value: 10, seconds: 60, conditions: [], variables: [user]}\n")

    def write(self, name, text):
        with open(os.path.join(self.directory, name), "w", encoding="utf-8") as f:
            f.write(text)

    def test_the_first_policy_loads_and_its_commands_run(self):
        for name in ("README.md", "README.zh-CN.md"):
            text = page(name)
            [first] = [block for block in blocks(text, "yaml") if block.startswith("weir: 1")]
            self.write("weir.yaml", first)
            log = "".join(f'203.0.113.7 - - [05/Jan/2026:10:00:{s:02} +0000] "POST /api/login HTTP/1.1" 401 12 "-" "curl"\n' for s in range(9))
            with gzip.open(os.path.join(self.directory, "access.log.gz"), "wt") as f:
                f.write(log)
            ran = []
            for words in [words for block in blocks(text, "sh") for words in commands(block)]:
                if words[0] in ("serve", "dev"):  # they do not end; what they read and take is checked below
                    continue
                done = run(*words, cwd=self.directory)
                self.assertEqual(done.returncode, 0, f"{name}: {words}\n{done.stdout}{done.stderr}")
                ran.append(words[0])
            self.assertLessEqual({"check", "explain"}, set(ran), name)
            self.assertEqual(run("check", "--strict", "weir.yaml", cwd=self.directory).returncode, 0, name)
            if name == "README.md":
                with open(os.path.join(self.directory, "hits.html"), encoding="utf-8") as f:
                    self.assertIn("login-per-ip", f.read())

    def test_whole_configurations_load(self):
        for name in PAGES:
            for block in blocks(page(name), "yaml"):
                if not block.startswith("weir: 1") or "\ncases:" in block:
                    continue
                self.write("weir.yaml", block)
                done = run("check", "weir.yaml", cwd=self.directory)
                self.assertEqual(done.returncode, 0, f"{name}:\n{block}\n{done.stdout}")

    def test_pages_about_the_configuration_show_one_that_loads(self):
        for name in ("getting_started", "policies_in_ten_minutes", "events", "patterns", "views", "redis", "migrating",
                     "integrations/README", "integrations/envoy", "integrations/nginx", "integrations/haproxy",
                     "integrations/caddy", "integrations/traefik", "integrations/istio"):
            whole = [block for block in blocks(page(f"docs/{name}.md"), "yaml") if block.startswith("weir: 1")]
            if name == "integrations/README":  # its block is the part that every door needs
                whole = ["weir: 1\npolicies: []\n" + block for block in blocks(page(f"docs/{name}.md"), "yaml")]
            self.assertTrue(whole, f"docs/{name}.md has no example that a reader can save and start")
            for block in whole:
                self.write("weir.yaml", block)
                done = run("check", "weir.yaml", cwd=self.directory)
                self.assertEqual(done.returncode, 0, f"{name}:\n{block}\n{done.stdout}")

    def test_commands_and_flags_exist(self):
        helps, seen = {}, 0
        for name in PAGES:
            for words in [words for block in blocks(page(name)) for words in commands(block)]:
                command = words[:2] if words[0] == "ctl" and len(words) > 1 and words[1].isalpha() else words[:1]
                if tuple(command) not in helps:
                    helps[tuple(command)] = run(*command, "--help")
                done = helps[tuple(command)]
                self.assertEqual(done.returncode, 0, f"{name}: {words}: {done.stderr}")
                for flag in [word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)]:
                    seen += 1
                    self.assertRegex(done.stdout, rf"(^|[\s,]){re.escape(flag)}\b", f"{name}: {' '.join(words)}")
        self.assertGreaterEqual(seen, 15)

    def test_links_lead_somewhere(self):
        for name in PAGES:
            text = re.sub(r"```.*?```", "", page(name), flags=re.S)
            for link in re.findall(r"\]\(([^)\s]+)\)", text):
                if link.startswith("http"):
                    continue
                path, _, anchor = link.partition("#")
                target = os.path.normpath(os.path.join(ROOT, os.path.dirname(name), path)) if path else os.path.join(ROOT, name)
                self.assertTrue(os.path.exists(target), f"{name}: {link}")
                if anchor and target.endswith(".md"):
                    with open(target, encoding="utf-8") as f:
                        headings = re.findall(r"^#+ (.*)$", f.read(), re.M)
                    slugs = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
                    self.assertIn(anchor, slugs, f"{name}: {link}")

    def test_the_tests_of_the_table_exist(self):
        seen = 0
        table = page("docs/testing.md").partition("## How weir itself is tested")[2]
        for room, test in re.findall(r"\b([a-z0-9]+)\.([a-z_]+)\b", table):
            if not os.path.isdir(os.path.join(ROOT, "tests", room)):
                continue
            seen += 1
            path = f"tests/e2e/test_{test}.py" if room == "e2e" else f"tests/{room}/{test}_test.cc"
            self.assertTrue(os.path.exists(os.path.join(ROOT, path)), f"{room}.{test}")
        self.assertGreater(seen, 40)


if __name__ == "__main__":
    unittest.main()
