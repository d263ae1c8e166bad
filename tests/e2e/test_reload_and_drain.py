"""Reloads and the end of the process under load: no failed request, no lost count, exit 0."""

import json
import os
import signal
import threading
import unittest

from http_client import Client, Cut, once
from origin import Origin, after, answer
from weir_process import SANITIZED, Load, Weir, eventually, free_port

REQUESTS_UNDER_LOAD = 2_000 if SANITIZED else 10_000


def policies(other_limit):
    """What counts for the test stays; another policy changes."""
    return f"""
policies:
  - {{name: kept, watch: request, key: ip, window: 1h, then: [{{over: 5, do: flag}}]}}
  - {{name: changing, watch: request, key: ip/24, window: 10m, then: [{{over: {other_limit}, do: flag}}]}}
"""


def verdict(origin, weir, ip):
    once(weir.port, "GET", "/", {"X-Forwarded-For": ip})
    return origin.requests[-1].header("x-weir-verdict")


class Reload(unittest.TestCase):
    def test_a_hundred_reloads_under_load_fail_no_request(self):
        app = free_port()
        # Counts every request, where the operators see it at once.
        every = "  - {name: every, watch: request, key: ip, window: 1h, then: [{over: 0, do: flag}]}\n"
        with Weir(policies(10**9) + every, app) as weir:
            with Load("--target", f"127.0.0.1:{weir.port}", "--backend", f"127.0.0.1:{app}", "--conns", 32,
                      "--seconds", 200, "--addresses", 500) as load:
                def done():
                    shown = weir.admin("GET", "/v1/policies")[1]["policies"]
                    return next(p for p in shown if p["name"] == "every")["totals"]["verdicts"]["flag"]
                eventually(lambda: done() > 100, what="load")
                for number in range(100):
                    before = done()
                    weir.write(policies(10**9 + number) + every)
                    status, report = weir.reload()
                    self.assertEqual(status, 200, report)
                    eventually(lambda b=before: done() > b, what="requests between two reloads")
                eventually(lambda: done() > REQUESTS_UNDER_LOAD, 60, "enough requests")
                result = load.stop()
            self.assertEqual(result["errors"], 0, result)
            self.assertEqual(result["reconnects"], 0, result)
            self.assertGreaterEqual(weir.metric("weir_reloads_total", 'result="ok"'), 100)

    def test_a_reload_keeps_the_counts(self):
        with Origin() as origin, Weir(policies(1000), origin.port) as weir:
            verdicts = [verdict(origin, weir, "192.0.2.1") for _ in range(3)]
            for number in range(20):
                weir.write(policies(2000 + number))
                self.assertEqual(weir.reload()[0], 200)
            verdicts += [verdict(origin, weir, "192.0.2.1") for _ in range(3)]
            self.assertEqual(verdicts, [None] * 5 + ["flag"])

    def test_a_broken_file_changes_nothing_and_the_watch_lives_on(self):
        with Origin() as origin, Weir(policies(1000), origin.port) as weir:
            for _ in range(5):
                verdict(origin, weir, "192.0.2.1")
            for broken in ("policies: [", "windw: 10m\n", policies(5).replace("watch", "wacth")):
                weir.write(broken)
                status, report = weir.reload()
                self.assertGreaterEqual(status, 400, report)
                self.assertLess(status, 500, report)
                self.assertEqual(verdict(origin, weir, "192.0.2.1"), "flag")
            self.assertGreaterEqual(weir.metric("weir_reloads_total", 'result="failed"'), 3)
            self.assertEqual(weir.metric("weir_config_problems") > 0, True)
            # Repaired without a word to weir: the directory is still watched.
            weir.write(policies(1000).replace("over: 5", "over: 500"))
            eventually(lambda: verdict(origin, weir, "192.0.2.1") is None, what="the repaired file in force")

    def test_a_configmap_swap_and_sighup_reload(self):
        with Origin() as origin, Weir(policies(1000), origin.port) as weir:
            ok = lambda: weir.metric("weir_reloads_total", 'result="ok"')  # noqa: E731
            before = ok()
            weir.signal(signal.SIGHUP)
            eventually(lambda: ok() > before, what="a reload by SIGHUP")

        with Origin() as origin:
            weir = Weir(policies(1000), origin.port)
            # As the kubelet lays it out: weir.yaml -> ..data/weir.yaml, ..data -> a dated directory.
            text = open(weir.config, encoding="utf-8").read()
            for name, content in (("..v1", text), ("..v2", text.replace("over: 5,", "over: 0,"))):
                os.mkdir(os.path.join(weir.directory, name))
                weir.replace(os.path.join(weir.directory, name, "weir.yaml"), content)
            os.symlink("..v1", os.path.join(weir.directory, "..data"))
            os.remove(weir.config)
            os.symlink("..data/weir.yaml", weir.config)
            with weir:
                self.assertIsNone(verdict(origin, weir, "192.0.2.1"))
                os.symlink("..v2", os.path.join(weir.directory, "..data_tmp"))
                os.rename(os.path.join(weir.directory, "..data_tmp"), os.path.join(weir.directory, "..data"))
                eventually(lambda: verdict(origin, weir, "192.0.2.1") == "flag", what="the swapped file in force")


class Drain(unittest.TestCase):
    def test_sigterm_under_load_fails_no_request_and_exits_0(self):
        app = free_port()
        # Longer than the load lasts: as a load balancer, the load ends once /readyz says 503.
        with Weir(policies(10**9), app, extra="drain: {delay: 3s, timeout: 10s}\n") as weir:
            with Load("--target", f"127.0.0.1:{weir.port}", "--backend", f"127.0.0.1:{app}", "--conns", 32,
                      "--seconds", 100) as load:
                eventually(lambda: weir.metric("weir_responses_total", 'code="2xx"') > REQUESTS_UNDER_LOAD // 4, 60, "load")
                weir.signal(signal.SIGTERM)
                eventually(lambda: weir.health("/readyz").status == 503, 3, "readiness withdrawn")
                served = weir.metric("weir_responses_total", 'code="2xx"')
                # Enough for every connection to hear of it, from workers that hear of it a moment after /readyz.
                eventually(lambda: weir.metric("weir_responses_total", 'code="2xx"') > served + 500, 3,
                           "service in the delay")
                result = load.stop()
            self.assertEqual(result["errors"], 0, result)
            self.assertGreater(result["reconnects"], 0, "answers while draining say Connection: close")
            self.assertEqual(weir.process.wait(20), 0, weir.log())

    def test_what_is_in_flight_at_sigterm_is_answered(self):
        with Origin(after(1, answer(200, b"late"))) as origin, Weir("", origin.port) as weir:
            answers = []

            def ask():
                try:
                    answers.append(once(weir.port, "GET", "/"))
                except (Cut, OSError) as error:
                    answers.append(error)

            threads = [threading.Thread(target=ask) for _ in range(20)]
            for thread in threads:
                thread.start()
            eventually(lambda: origin.count() == 20, what="requests at the app")
            weir.signal(signal.SIGTERM)
            for thread in threads:
                thread.join()
            self.assertEqual([getattr(a, "body", a) for a in answers], [b"late"] * 20)
            self.assertEqual(weir.process.wait(20), 0, weir.log())

    def test_an_idle_weir_ends_at_once_and_says_close_to_nobody_new(self):
        with Origin() as origin, Weir("", origin.port) as weir:
            with Client(weir.port) as client:
                self.assertEqual(client.request("GET", "/").status, 200)
                weir.signal(signal.SIGTERM)
                self.assertEqual(weir.process.wait(10), 0, weir.log())
                self.assertEqual(client.socket.recv(10), b"")

    def test_a_second_sigterm_ends_it_at_once(self):
        with Origin(after(5, answer())) as origin:
            weir = Weir("", origin.port, extra="drain: {delay: 60s, timeout: 60s}\n").start()
            self.addCleanup(weir.scratch.cleanup)
            self.addCleanup(weir.kill)
            weir.signal(signal.SIGTERM)
            eventually(lambda: weir.health("/readyz").status == 503, 3, "draining")
            weir.signal(signal.SIGTERM)
            weir.process.wait(5)

    def test_status_is_json(self):
        with Weir("", 9) as weir:
            status, body = weir.admin("GET", "/v1/status")
            self.assertEqual(status, 200)
            json.dumps(body)


if __name__ == "__main__":
    unittest.main()
