"""`weir dev` beside another weir, and before an app that is not there yet."""

import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import time
import unittest

from http_client import once
from origin import Origin
from weir_process import eventually, free_port


class Dev(unittest.TestCase):
    def banner_of(self, app_port):
        """What `weir dev` says at its start; the process is ended."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        weir = subprocess.Popen([os.environ["WEIR_BINARY"], "dev", str(app_port), "--listen", f"127.0.0.1:{free_port()}"], env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said, deadline = b"", time.monotonic() + 30
        try:
            while time.monotonic() < deadline:
                # After the banner's last line a moment of silence ends it.
                if not select.select([weir.stdout], [], [], 1.0 if b"Ctrl-C" in said else 30)[0]:
                    break
                piece = os.read(weir.stdout.fileno(), 65536)
                if not piece:
                    break
                said += piece
            return said.decode()
        finally:
            weir.terminate()
            weir.wait(timeout=30)
            weir.stdout.close()

    def taken(self, port):
        """Somebody listens there: we, or another weir."""
        s = socket.socket()
        self.addCleanup(s.close)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            s.listen()

    def test_busy_doors_are_replaced_by_free_ones(self):
        self.taken(8481)
        self.taken(8482)
        said = self.banner_of(free_port())
        doors = dict(re.findall(r"(dashboard|lists, counters|metrics) +http://127\.0\.0\.1:(\d+)/", said))
        self.assertEqual(set(doors), {"dashboard", "lists, counters", "metrics"}, said)
        self.assertEqual(doors["dashboard"], doors["lists, counters"])
        self.assertNotIn(doors["lists, counters"], ("8481", "0"), said)
        self.assertNotIn(doors["metrics"], ("8482", "0"), said)
        self.assertRegex(said, r"  policies          requests-per-ip     over 120: flag \(the last 1m\)\n"
                               r" {20}turned-away-per-ip  over 5: flag \(the last 10m\)\n")

    def test_it_says_when_the_app_is_away(self):
        app = socket.socket()
        self.addCleanup(app.close)
        app.bind(("127.0.0.1", 0))
        port = app.getsockname()[1]
        said = self.banner_of(port)
        self.assertIn(f"Nobody answers at http://127.0.0.1:{port} yet", said)
        app.listen()
        self.assertNotIn("Nobody answers", self.banner_of(port))

    def test_it_says_at_ctrl_c_how_long_it_may_take(self):
        with Origin() as origin:
            port = free_port()
            environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
            weir = subprocess.Popen([os.environ["WEIR_BINARY"], "dev", str(origin.port), "--listen", f"127.0.0.1:{port}"], env=environment,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.addCleanup(weir.stdout.close)
            self.addCleanup(weir.kill)

            def answers():
                with contextlib.suppress(OSError):
                    return once(port, "GET", "/").status == 200

            eventually(answers, 30, "an answer")
            weir.send_signal(signal.SIGINT)
            said = weir.communicate(timeout=30)[0].decode()
            self.assertEqual(weir.returncode, 0, said)
            self.assertIn("weir ends in 0 s if no request is open, cuts open requests after 2 s, and ends after 15 s at the latest; "
                          "Ctrl-C again ends now\n", said)

    def test_it_says_what_goes_on_while_it_runs(self):
        origin, port = Origin(), free_port()
        self.addCleanup(origin.stop)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        command = [os.environ["WEIR_BINARY"], "dev", str(origin.port), "--recipe", "login", "--listen", f"127.0.0.1:{port}"]
        weir = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(weir.stdout.close)
        self.addCleanup(weir.wait, 30)
        self.addCleanup(weir.terminate)
        os.set_blocking(weir.stdout.fileno(), False)
        said = b""

        def says(text):
            nonlocal said
            said += weir.stdout.read() or b""
            return text.encode() in said

        eventually(lambda: says("Ctrl-C"), 30, "the banner")
        for _ in range(12):
            self.assertEqual(once(port, "GET", "/elsewhere").status, 200)
        eventually(lambda: says("Of 12 requests none was what login-per-ip watches: login_failed (POST /api/login, when status"), 30,
                   f"a word on the recipe's events in {said}")
        self.assertNotIn(b"requests-per-ip watches", said, "what has seen events is not named")
        again = origin.port
        origin.stop()
        self.assertEqual(once(port, "GET", "/elsewhere").status, 503)
        eventually(lambda: says(f"Nobody answers at http://127.0.0.1:{again}: requests get 503"), 10, "a word on the app that is away")
        with Origin(port=again):
            eventually(lambda: once(port, "GET", "/elsewhere").status == 200, 10, "an answer of the app")
            eventually(lambda: says(f"The app at http://127.0.0.1:{again} answers again"), 10, "a word on the app that is back")


if __name__ == "__main__":
    unittest.main()
