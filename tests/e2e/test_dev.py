"""`weir dev` beside another weir, and before an app that is not there yet."""

import contextlib
import os
import re
import select
import socket
import subprocess
import time
import unittest

from weir_process import free_port


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
        doors = dict(re.findall(r"(lists, counters|metrics) +http://127\.0\.0\.1:(\d+)/", said))
        self.assertEqual(set(doors), {"lists, counters", "metrics"}, said)
        self.assertNotIn(doors["lists, counters"], ("8481", "0"), said)
        self.assertNotIn(doors["metrics"], ("8482", "0"), said)

    def test_it_says_when_the_app_is_away(self):
        app = socket.socket()
        self.addCleanup(app.close)
        app.bind(("127.0.0.1", 0))
        port = app.getsockname()[1]
        said = self.banner_of(port)
        self.assertIn(f"Nobody answers at http://127.0.0.1:{port} yet", said)
        app.listen()
        self.assertNotIn("Nobody answers", self.banner_of(port))


if __name__ == "__main__":
    unittest.main()
