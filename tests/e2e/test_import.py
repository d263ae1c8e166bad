"""What `weir import` prints loads, and what it leaves out is told with its line."""

import os
import subprocess
import tempfile
import unittest

LIMITS = """
- {namespace: n, max_value: 2, seconds: 60, name: fine, conditions: ["!(descriptors[0].a == 'x') && limit.name == 'fine'"],
   variables: ["descriptors[0].u"]}
- {namespace: n, max_value: 2, seconds: 60, conditions: ["size(descriptors[0].a) == '5'"], variables: []}
- {namespace: n, max_value: 2, seconds: 60, conditions: ["descriptors[0].a.matches(descriptors[0].b)"], variables: []}
- {namespace: n, max_value: 2, seconds: 60, conditions: ["descriptors.exists(d, d.a == 'x')"], variables: []}
- {namespace: n, max_value: 2, seconds: 60, conditions: ["descriptors[0].a ==="], variables: []}
"""


class Import(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="weir-import-")
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name

    def weir(self, *words):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        return subprocess.run([os.environ["WEIR_BINARY"], *words], cwd=self.directory, capture_output=True, text=True, timeout=60,
                              env=environment, check=False)

    def write(self, name, text):
        with open(os.path.join(self.directory, name), "w", encoding="utf-8") as f:
            f.write(text)

    def test_limits_that_cannot_be_policies_are_left_out_with_their_lines(self):
        self.write("limits.yaml", LIMITS)
        done = self.weir("import", "limitador", "limits.yaml")
        self.assertEqual(done.returncode, 0)
        self.assertEqual([line.removeprefix("weir: ") for line in done.stderr.splitlines()], [
            "limits.yaml:4: the limit: cannot compare int with string",
            "limits.yaml:5: the limit: the pattern of matches() must be a string literal, since it is read when the file is loaded",
            "limits.yaml:6: descriptors.exists(d, d.a == 'x'): it asks for all descriptors at once: each is an event of its own here",
            "limits.yaml:7: the limit: \"=\" is not an operator",
            "4 things were not carried over: see the comments at the top"])
        self.write("weir.yaml", done.stdout)
        checked = self.weir("check", "--strict", "weir.yaml")
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.assertEqual(done.stdout.count("- name:"), 1)

    def test_a_file_of_which_nothing_is_left_is_no_success(self):
        self.write("haproxy.cfg", "frontend f\n  bind :80\n  stick-table type ip size 1m expire 1m store http_req_rate(1m)\n"
                   "  http-request track-sc0 src\n  use_backend slow if { sc_http_req_rate(0) gt 2 }\n  default_backend slow\n"
                   "backend slow\n  server s 127.0.0.1:3000\n")
        self.write("nginx.conf", "http { limit_req_zone $unknown zone=a:1m rate=1r/s; server { limit_req zone=a; } }\n")
        self.write("limits.yaml", "- {namespace: n, max_value: 2, seconds: 60, conditions: [\"descriptors[0].n == 5\"]}\n")
        for peer, file, line in (("haproxy", "haproxy.cfg", 5), ("nginx", "nginx.conf", 1), ("limitador", "limits.yaml", 1)):
            done = self.weir("import", peer, file)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(f"weir: {file}:{line}: ", done.stderr)

    def test_the_environment_of_envoyproxy_ratelimit(self):
        os.makedirs(os.path.join(self.directory, "config"))
        self.write("config/shop.yaml", "domain: shop\ndescriptors: [{key: a, rate_limit: {unit: hour, requests_per_unit: 2}}]\n")
        self.write("rl.env", f"RUNTIME_ROOT={self.directory}\nREDIS_SOCKET_TYPE=tcp\nREDIS_URL=127.0.0.1:6379\nREDIS_PERSECOND=true\n")
        done = self.weir("import", "envoy-ratelimit", "--env", "rl.env")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rl.env:4: REDIS_PERSECOND: weir has one Redis", done.stderr)
        self.write("weir.yaml", done.stdout)
        checked = self.weir("check", "weir.yaml")
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        for words in ((), ("config", "--env", "rl.env")):
            self.assertEqual(self.weir("import", "envoy-ratelimit", *words).returncode, 2, words)
        self.assertIn("no line of it sets", self.weir("import", "envoy-ratelimit", "--env", "config/shop.yaml").stderr)

    def test_what_is_no_such_file_is_an_error(self):
        self.write("limits.yaml", "a: b\n")
        done = self.weir("import", "limitador", "limits.yaml")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("limits.yaml: it is not a list of limits", done.stderr)


if __name__ == "__main__":
    unittest.main()
