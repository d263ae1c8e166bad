"""Whether a weir that was built with the changes of changes.py knows the new words everywhere. cost.py --build runs this."""

import json
import os
import pathlib
import socket
import subprocess
import tempfile
import unittest

from http_client import once
from origin import Origin
from redis_process import Redis
from weir_process import Weir, eventually, free_port

WEIR = os.environ["WEIR_BINARY"]

POLICIES = """
policies:
  - {name: tagged, watch: request, key: ip, window: 1m, then: [{over: 2, do: tag}]}
  - {name: slow, watch: request, key: ip, window: 1m, slack: 3, then: [{over: 4, do: deny, status: 418}]}
"""
# The same two counters here and in Redis, read by rules that tell which value they have.
SPREADS = """
fields: {amount: int(header.x_amount)}
policies:
  - {name: here, watch: request, key: ip, metric: spread(amount), window: 1m, then: [{over: 40, do: flag}]}
  - {name: there, watch: request, key: ip, metric: spread(amount), window: {events: 3}, share: redis,
     then: [{over: 40, do: deny, status: 418}]}
"""


def run(*words, status=0, text=None, environment=()):
    with tempfile.TemporaryDirectory() as directory:
        if text is not None:
            pathlib.Path(directory, "weir.yaml").write_text(text, encoding="utf-8")
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        done = subprocess.run([WEIR, *words], cwd=directory, env={**clean, **dict(environment)}, capture_output=True, text=True, check=False)
    if done.returncode != status:
        raise AssertionError(f"{words} gave {done.returncode}, not {status}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def config(policies, server=""):
    return f"weir: 1\nproxy: {{upstream: 'http://127.0.0.1:1'}}\n{server}{policies}"


class Action(unittest.TestCase):
    def test_the_schema_and_the_reference_list_it(self):
        schema = json.loads(run("schema"))["$defs"]
        self.assertIn("tag", schema["rung"]["properties"]["do"]["enum"])
        self.assertIn("tag", schema["list"]["properties"]["effect"]["enum"])
        reference = run("schema", "--reference")
        self.assertIn("`flag`, `tag`, `graylist` (or `gray`), `delay`, `challenge` or `deny`", reference)

    def test_an_error_suggests_it(self):
        said = run("check", "weir.yaml", status=1, text=config(POLICIES.replace("do: tag", "do: tug")))
        self.assertIn('"tag"', said)

    def test_requests_metrics_and_the_admin_api_have_it(self):
        with Origin() as origin, Weir(POLICIES, origin.port) as weir:
            for _ in range(3):
                once(weir.port, "GET", "/")
            self.assertEqual(origin.requests[-1].header("X-Weir-Verdict"), "tag")
            self.assertIsNone(origin.requests[-2].header("X-Weir-Verdict"))
            self.assertIn('weir_verdict_total{policy="tagged",action="tag"} 1', weir.health("/metrics").body.decode())
            page = once(weir.admin_port, "GET", "/v1/policies/tagged", host=f"127.0.0.1:{weir.admin_port}")
            self.assertEqual(json.loads(page.body)["totals"]["verdicts"]["tag"], 1)
            listed = run("ctl", "--admin", f"http://127.0.0.1:{weir.admin_port}", "policy")
            self.assertIn("tagged", listed)

    def test_a_test_of_the_configuration_can_expect_it(self):
        with tempfile.TemporaryDirectory() as directory:
            pathlib.Path(directory, "weir.yaml").write_text(config(POLICIES), encoding="utf-8")
            case = pathlib.Path(directory, "a_test.yaml")
            case.write_text("weir: 1\nconfig: weir.yaml\ncases:\n  - name: the third is tagged\n    steps:\n"
                            "      - {request: GET /, repeat: 2, expect: pass}\n"
                            "      - {request: GET /, expect: {verdict: tag, by: tagged}}\n", encoding="utf-8")
            run("test", str(case))


class Metric(unittest.TestCase):
    def test_the_schema_and_the_reference_list_it(self):
        policy = json.loads(run("schema"))["$defs"]["policy"]["properties"]
        self.assertRegex("spread(amount)", policy["metric"]["pattern"])
        self.assertIn("`spread(f)` (the greatest less the least)", run("schema", "--reference"))

    def test_an_error_lists_it(self):
        said = run("check", "weir.yaml", status=1, text=config(SPREADS.replace("spread(amount), window: 1m", "spred(amount), window: 1m"),
                                                               "redis: {url: 'redis://127.0.0.1:1', secret: s}\n"))
        self.assertIn("spread", said)

    def test_it_is_counted_here_and_in_redis(self):
        settings = "budget: 5s, timeout: 8s, secret: of these tests"
        with Redis() as redis, Origin() as origin, \
                Weir(SPREADS, origin.port, extra=f"redis: {{{redis.where}, {settings}}}\nthreads: 1\ndrain: {{delay: 0s, timeout: 5s}}\n") as weir:
            eventually(lambda: redis.used_by(1), what="weir at the store")

            def send(amount):
                return once(weir.port, "GET", "/", [("X-Amount", str(amount))]).status

            self.assertEqual([send(amount) for amount in (100, 70, 60)], [200, 200, 200])
            self.assertEqual(send(141), 418)  # 141 - 60, of the last three
            self.assertEqual(send(100), 200)  # refused ones are not counted
            self.assertEqual(origin.requests[-1].header("X-Weir-Verdict"), None)

    def test_a_replay_counts_it(self):
        text = ("weir: 1\nevents:\n  paid: {source: {csv: [at, user, amount], time: {field: at, as: seconds}}}\n"
                "policies:\n  - {name: jumps, watch: paid, key: user, metric: spread(int(amount)), window: {events: 2},\n"
                "     then: [{over: 5, do: flag}]}\n")
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as rows:
            rows.write("1,a,10\n2,a,12\n3,a,30\n4,a,31\n")
            rows.flush()
            for bound, status in (("flag>=1", 1), ("flag>=2", 0)):
                run("replay", "-c", "weir.yaml", "--event", f"paid={rows.name}", "--fail-if", bound, text=text, status=status)


class PolicyKey(unittest.TestCase):
    def test_the_schema_and_the_reference_have_it(self):
        self.assertEqual(json.loads(run("schema"))["$defs"]["policy"]["properties"]["slack"]["maximum"], 1000)
        self.assertIn("| `slack` | 0 to 1000 | 0 |", run("schema", "--reference"))

    def test_its_bounds_are_in_the_error(self):
        self.assertIn("1000", run("check", "weir.yaml", status=1, text=config(POLICIES.replace("slack: 3", "slack: 1001"))))

    def test_it_moves_the_limit(self):
        with Origin() as origin, Weir(POLICIES, origin.port) as weir:
            self.assertEqual([once(weir.port, "GET", "/").status for _ in range(8)], [200] * 7 + [418])


class ServerKey(unittest.TestCase):
    def test_the_schema_the_reference_and_the_environment_have_it(self):
        schema = json.loads(run("schema"))["$defs"]["limits"]["properties"]["idle_upstreams"]
        self.assertEqual((schema["minimum"], schema["maximum"]), (1, 4096))
        reference = run("schema", "--reference")
        self.assertIn("| `idle_upstreams` | 1 to 4096 | 1024 |", reference)
        self.assertIn("- `WEIR_LIMITS_IDLE_UPSTREAMS`", reference)

    def test_its_bounds_are_in_the_error_wherever_it_stands(self):
        self.assertIn("4096", run("check", "weir.yaml", status=1, text=config(POLICIES, "limits: {idle_upstreams: 5000}\n")))
        said = run("check", "weir.yaml", status=1, text=config(POLICIES), environment={"WEIR_LIMITS_IDLE_UPSTREAMS": "0"}.items())
        self.assertIn("WEIR_LIMITS_IDLE_UPSTREAMS", said)

    def test_a_reload_says_that_it_waits_for_a_restart(self):
        with Origin() as origin, Weir(POLICIES, origin.port) as weir:
            weir.write(POLICIES + "limits: {idle_upstreams: 7}\n")
            lines = eventually(lambda: weir.logged("these settings take effect at the next start"), what="the line of the reload")
            self.assertEqual(lines[-1]["settings"], "limits.idle_upstreams")


class AdminRoute(unittest.TestCase):
    def test_it_answers_and_other_methods_are_told_which_it_has(self):
        with Origin() as origin, Weir(POLICIES, origin.port) as weir:
            host = f"127.0.0.1:{weir.admin_port}"
            self.assertEqual(json.loads(once(weir.admin_port, "GET", "/v1/ping", host=host).body), {"pong": True})
            refused = once(weir.admin_port, "DELETE", "/v1/ping", host=host)
            self.assertEqual((refused.status, refused.header("Allow")), (405, "GET, HEAD"))


class Door(unittest.TestCase):
    POLICY = "policies:\n  - {name: twice, watch: request, key: ip, window: 1m, then: [{over: 2, do: deny, status: 418}]}\n"

    def test_it_judges_as_the_proxy_does_and_drains(self):
        port = free_port()
        with Origin() as origin, Weir(self.POLICY, origin.port, extra=f"api: {{lines: '127.0.0.1:{port}'}}\n") as weir:
            with socket.create_connection(("127.0.0.1", port), timeout=10) as line, line.makefile("rw") as text:
                def ask(question):
                    text.write(question + "\n")
                    text.flush()
                    return text.readline().strip()

                self.assertEqual([ask("GET / 192.0.2.1") for _ in range(3)], ["pass", "pass", "418"])
                through_the_proxy = once(weir.port, "GET", "/", [("X-Forwarded-For", "192.0.2.1")])
                self.assertEqual(through_the_proxy.status, 418, "both doors count together")
                weir.write(self.POLICY.replace("over: 2", "over: 9"))
                eventually(lambda: ask("GET / 192.0.2.1") == "pass", what="the new policies")
                self.assertEqual(ask("nonsense"), "")
            self.assertEqual(weir.logged("weir is ready")[-1]["lines"], f"127.0.0.1:{port}")
            with socket.create_connection(("127.0.0.1", port), timeout=10):
                self.assertEqual(weir.stop(), 0, "a client that is idle does not hold up the end")

    def test_a_taken_address_is_an_error(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            said = run("serve", "--config=weir.yaml", status=4, text=config(
                "", f"admin: {{listen: '127.0.0.1:{free_port()}'}}\nhealth: {{listen: '127.0.0.1:{free_port()}'}}\n"
                    f"api: {{listen: none, lines: '127.0.0.1:{taken.getsockname()[1]}'}}\ngrpc: {{listen: none}}\n"))
        self.assertIn("lines: can't listen on 127.0.0.1", said)
