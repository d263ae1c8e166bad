"""A name server that never answers delays neither requests nor the drain, and start and end by a bounded time only."""

import os
import signal
import subprocess
import tempfile
import time
import unittest

from http_client import once
from origin import Origin
from weir_process import SANITIZED, Weir, free_port

SLACK = 30 if SANITIZED else 8  # seconds of a machine that others use, too
POLICY = "policies: [{name: p, watch: request, key: ip, window: 1m, %sthen: [{over: 5, do: flag}]}]\n"


@unittest.skipUnless(os.environ.get("WEIR_SLOW_NAMES"), "WEIR_SLOW_NAMES: the library that is preloaded")
class SlowNames(unittest.TestCase):
    def setUp(self):
        # Without its file the preload is ignored, and the names are looked up as usual.
        self.assertTrue(os.path.exists(os.environ["WEIR_SLOW_NAMES"]))
        os.environ["LD_PRELOAD"] = os.environ["WEIR_SLOW_NAMES"]
        self.addCleanup(os.environ.pop, "LD_PRELOAD")

    def test_redis_and_a_collector_whose_names_nobody_answers(self):
        extra = "redis: {url: 'redis://redis.slow.test:6379', secret: 0123456789abcdef0123456789abcdef}\n" \
                "tracing: {endpoint: 'http://traces.slow.test:4318', sample: 100%}\n" \
                "drain: {delay: 0s, timeout: 1s}\n"
        began = time.monotonic()
        with Origin() as origin, Weir(POLICY % "share: redis, ", origin.port, extra=extra) as weir:
            self.assertLess(time.monotonic() - began, SLACK)
            self.assertEqual(once(weir.port, "GET", "/").status, 200)
            self.assertEqual(weir.admin("GET", "/v1/status")[0], 200)  # the control thread answers
            self.assertEqual(weir.reload()[0], 200)
            weir.signal(signal.SIGTERM)
            stopped = time.monotonic()
            self.assertEqual(weir.process.wait(60), 0)
            self.assertLess(time.monotonic() - stopped, 7 + SLACK)
            self.assertTrue(weir.logged("weir ends"))
            self.assertTrue(weir.logged("a step of the shutdown takes too long; weir ends without it"))

    def test_a_list_whose_name_nobody_answers_holds_up_neither_start_nor_last_lines(self):
        with Origin() as origin:
            weir = Weir("", origin.port, extra="drain: {delay: 0s, timeout: 1s}\n")
            log, record = os.path.join(weir.directory, "access.log"), os.path.join(weir.directory, "record")
            weir.head += f"access_log: {{path: {log}, fields: [path]}}\n" \
                         "lists: {x: {of: ip, kind: deny, url: {url: 'http://l.slow.test/'}}}\n"
            weir.write(POLICY % "")
            weir.arguments = [f"--record={record}"]
            with weir:
                self.assertEqual(once(weir.port, "GET", "/last").status, 200)
                weir.signal(signal.SIGTERM)
                self.assertEqual(weir.process.wait(60), 0)
                self.assertTrue(weir.logged("weir ends"))
                with open(log, encoding="utf-8") as lines:
                    self.assertIn("/last", lines.read())
                with open(record, encoding="utf-8") as rows:
                    self.assertEqual(len(rows.read().splitlines()), 1)

    def test_an_address_to_listen_on(self):
        began = time.monotonic()
        done = subprocess.run([os.environ["WEIR_BINARY"], "serve", "--upstream", "http://127.0.0.1:9", "--listen", f"doors.slow.test:{free_port()}"],
                              env={**os.environ, "WEIR_ADMIN_LISTEN": f"127.0.0.1:{free_port()}", "WEIR_HEALTH_LISTEN": f"127.0.0.1:{free_port()}",
                                   "WEIR_GRPC_LISTEN": "none", "WEIR_API_LISTEN": "none"},
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("doors.slow.test", done.stderr)
        self.assertLess(time.monotonic() - began, 5 + SLACK)

    def test_a_key_of_redis_whose_name_nobody_answers(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "weir.yaml")
            with open(path, "w", encoding="utf-8") as out:
                out.write("weir: 1\nredis: {url: 'redis://redis.slow.test:6379', secret: 0123456789abcdef0123456789abcdef}\n"
                          "include: [{redis: rules}]\n")
            began = time.monotonic()
            done = subprocess.run([os.environ["WEIR_BINARY"], "serve", "-c", path], capture_output=True, text=True, timeout=60, check=False)
            self.assertLess(time.monotonic() - began, 10 + SLACK)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("its name was not resolved in time", done.stdout + done.stderr)

    def test_the_store_of_a_replay_whose_name_nobody_answers(self):
        with tempfile.TemporaryDirectory() as directory:
            path, rows = os.path.join(directory, "weir.yaml"), os.path.join(directory, "access.log")
            with open(path, "w", encoding="utf-8") as out:
                out.write("weir: 1\n" + POLICY % "")
            with open(rows, "w", encoding="utf-8") as out:
                out.write('192.0.2.1 - - [05/Jan/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"\n')
            began = time.monotonic()
            done = subprocess.run([os.environ["WEIR_BINARY"], "replay", "-c", path, "--store", "redis://redis.slow.test:6379", "--event",
                                   f"request={rows}"], capture_output=True, text=True, timeout=60, check=False)
            self.assertLess(time.monotonic() - began, 3 + SLACK)
            self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
